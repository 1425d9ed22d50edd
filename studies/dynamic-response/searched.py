"""Values of α, β and cwnd_max found by `retx.tune`, compared with the paper's choice."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

import retx
from retx.errors.extras import install_command
from retx.plots import style
from retx.study import Cell, Estimate, Measured, Noted, estimate

from .values import ALPHA, BETA

CWND_MAX = "tcp.dynamic.congestion_control.cwnd_max"
OWN = {ALPHA: 0.5, BETA: 10_000, CWND_MAX: 25_000}
"""The paper's choice."""
LABELS = {ALPHA: "α (%)", BETA: "β (bytes)", CWND_MAX: "cwnd_max (bytes)"}
RUNS = 6
OTHER_SEED = 1000
"""Offset of the seed, because the best values are fitted to the draws of the search."""


def _times(measured: Measured, name: str, best: dict[str, float]) -> Estimate | None:
    """Goodput with the best values over that with the paper's; no trial has used these draws."""
    search = measured.study.searches[name]
    goodputs = []
    for values in (best, OWN):
        runs = retx.replicate(
            measured.study.folder / search.scenario,
            RUNS,
            seed=measured.plan.seed + OTHER_SEED,
            overrides=search.set | {key: values[key] for key in OWN},
            tables=False,
            progress=False,
        )
        each = runs.flows.group_by("replication", maintain_order=True)
        goodputs.append(each.agg(pl.col("goodput_bit_s").sum())["goodput_bit_s"].to_list())
    return estimate([mine / theirs for mine, theirs in zip(*goodputs, strict=True)])


def rows(measured: Measured) -> Iterator[tuple[dict[str, Cell], str]]:
    """The paper's values and the best ones of each search, which needs Optuna."""
    yield {"case": "the paper", "alpha": 0.5, "beta": 10_000, "cwnd_max": 25_000}, ""
    for name, search in measured.study.searches.items():
        tuning = measured.search(name)
        if tuning is None:
            missing = f"not searched here: the search needs Optuna ({install_command('tune')})"
            yield {"case": Noted(search.title, missing)}, ""
            continue
        best = tuning.best.row(0, named=True)
        row: dict[str, Cell] = {
            "case": search.title,
            "trials": tuning.trials.height,
            "alpha": float(best[ALPHA]),
            "beta": float(best[BETA]),
            "cwnd_max": float(best[CWND_MAX]),
            "times": _times(measured, name, best),
        }
        yield row, measured.search_command(name)


def landscape(measured: Measured, name: str) -> style.Figure | None:
    """The trials of a search; None if Optuna is not installed."""
    tuning = measured.search(name)
    if tuning is None:
        return None
    drawn = tuning.landscape()
    drawn.set_size_inches(5.2, 4.4)
    for axes, key in zip(drawn.axes, measured.study.searches[name].vary, strict=False):
        axes.set_xlabel(LABELS[key])
        axes.axvline(OWN[key], color="#D55E00", lw=1, ls="--")
    return drawn
