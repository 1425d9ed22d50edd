"""Values of α, β and cwnd_max found by `retx.tune`, compared with the paper's choice."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

import retx
from retx.errors.extras import install_command
from retx.study import Cell, Column, Estimate, Figure, Measured, Table, estimate

from .values import ALPHA, BETA

CWND_MAX = "tcp.dynamic.congestion_control.cwnd_max"
OWN = {ALPHA: 0.5, BETA: 10_000, CWND_MAX: 25_000}
"""The paper's choice."""
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


def table(measured: Measured) -> Table:
    """The best values of each search; empty if Optuna is not installed."""
    rows: list[dict[str, Cell]] = [
        {"case": "the paper", "alpha": 0.5, "beta": 10_000, "cwnd_max": 25_000, "trials": None}
    ]
    commands = [""]
    for name, search in measured.study.searches.items():
        tuning = measured.search(name)
        if tuning is None:
            continue
        best = tuning.best.row(0, named=True)
        rows.append(
            {
                "case": search.title,
                "trials": tuning.trials.height,
                "alpha": float(best[ALPHA]),
                "beta": float(best[BETA]),
                "cwnd_max": float(best[CWND_MAX]),
                "times": _times(measured, name, best),
            }
        )
        commands.append(measured.search_command(name))
    columns = [
        Column("case", "scenario"),
        Column("trials", "trials"),
        Column("alpha", "α", "%", digits=2),
        Column("beta", "β", "bytes", digits=0),
        Column("cwnd_max", "cwnd_max", "bytes", digits=0),
        Column("times", "goodput, times that of the paper's values"),
    ]
    note = "The last column is from six runs with draws that the search has not seen."
    if len(rows) == 1:
        note = f"Not searched here: the search needs Optuna ({install_command('tune')})."
    return Table("search", "The best parameters by search", columns, rows, note, commands)


def landscapes(measured: Measured) -> Iterator[Figure]:
    """The trials of each search."""
    for name, search in measured.study.searches.items():
        tuning = measured.search(name)
        if tuning is None:
            continue
        drawn = tuning.landscape()
        drawn.set_size_inches(5.2, 4.4)
        labels = {ALPHA: "α (%)", BETA: "β (bytes)", CWND_MAX: "cwnd_max (bytes)"}
        for axes, key in zip(drawn.axes, search.vary, strict=False):
            axes.set_xlabel(labels[key])
            axes.axvline(OWN[key], color="#D55E00", lw=1, ls="--")
        yield Figure(
            f"landscape_{name}",
            drawn,
            f"Trials of the search: {search.title}. Late trials are darker; dashed: the paper's "
            "choice.",
            "Goodput of trials against each of three parameters.",
        )
