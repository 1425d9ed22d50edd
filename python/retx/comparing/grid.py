"""`compare_grid`: comparisons under many conditions, which can be interrupted and continued."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from retx import _native
from retx.comparing.comparison import (
    COLUMNS,
    CONFIDENCE,
    SIMULATIONS,
    Comparison,
    beside,
    check,
    compared,
)
from retx.comparing.conditions import ALL, Condition, chosen, condition
from retx.comparing.emulations import Plan, Report
from retx.comparing.perturbed import simulated
from retx.comparing.stored import attempts, kept
from retx.errors import UsageError
from retx.errors.checks import name_list
from retx.files.directory import new_file
from retx.files.locks import RENAMES_HELD, take
from retx.files.regular import read_regular

if TYPE_CHECKING:
    from retx.plots.style import Figure

SETTINGS = "grid.json"
"""File with the settings of a grid. They must be unchanged when the grid is continued."""
OFF_BY = 0.15
"""Deviation from 1 of the ratio of means, above which a condition counts as far off."""
NEAR = 0.02
"""Runs with the same draws count as close to each other if their ratio deviates from 1 by at most
this.
"""
SHOWN = (
    "goodput_bit_s",
    "response_time_s",
    "exchange_mean_s",
    "segments_retransmitted",
    "rtt_mean_s",
    "fast_retransmit_count",
    "rto_count",
    "idle_total_s",
)
"""Quantities by which families are judged."""
ABOUT = {
    "number": pl.Int64,
    "family": pl.String,
    "rate_mbit_s": pl.Float64,
    "rtt_ms": pl.Float64,
    "queue_packets": pl.Int64,
    "tcp": pl.String,
    "about": pl.String,
    "seed": pl.Int64,
    "perturbed": pl.Boolean,
    "emulations_invalid": pl.Int64,
    "emulations_repeated": pl.Int64,
    "lateness_p99_max_s": pl.Float64,
    "first_difference": pl.String,
}
"""Columns before those of a comparison."""


@dataclass(frozen=True)
class Grid:
    """Comparisons under conditions drawn from a seed."""

    results: Sequence[dict[str, Any]]
    """For each condition: `condition`, `summary` as `Comparison.summary`, `first_difference`,
    `values`, `emulations`."""

    def __repr__(self) -> str:
        return f"<retx.Grid: {len(self.results)} condition(s)>"

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per condition and quantity, with the columns of `Comparison.table`."""
        rows = []
        for result in self.results:
            summary = result["summary"]
            about = result["condition"] | {"first_difference": result["first_difference"]}
            about |= {name: summary[name] for name in ABOUT if name in summary and name != "seed"}
            compared = summary["flows"] or [{"flow": None, "quantity": None}]
            rows += [about | row for row in compared]
        return pl.DataFrame(rows, schema=ABOUT | COLUMNS)

    def of(self, quantity: str = "response_time_s") -> pl.DataFrame:
        """Rows of one quantity.

        Raises:
            UsageError: The quantity was not compared.
        """
        rows = self.table.filter(pl.col("quantity") == quantity)
        if rows.is_empty():
            known = ", ".join(self.table["quantity"].drop_nulls().unique(maintain_order=True))
            raise UsageError(f"no quantity {quantity!r} in the grid; it has {known or 'none'}")
        return rows

    def verdict(self, quantity: str = "response_time_s") -> dict[str, Any]:
        """Number of compared conditions, number of those that agree, and the largest deviation.

        A condition is compared if it has the quantity. It agrees if one of these conditions holds
        for each of its flows:

        - The interval of the difference contains zero (counted in `agree_by_interval`).
        - The means differ by at most 3 %.
        - Runs with the same draws agree (`paired_agrees` in `Comparison.table`).

        `off_by_max` and `off_by_more` (conditions off by more than 15 %) use the ratio of means.
        The keys with `paired` use the ratio of runs with the same draws, which varies less by
        chance; `paired_within` counts conditions in which it deviates by at most 2 %.
        """
        rows = self._judged(quantity)
        found: dict[str, Any] = {
            "quantity": quantity,
            "conditions": len(self.results),
            "compared": rows["number"].n_unique(),
            "agree": _all_of(rows, pl.col("agreement") != "none"),
            "agree_by_interval": _all_of(rows, pl.col("agrees")),
            "paired_within": _all_of(rows, (pl.col("paired_ratio") - 1).abs() <= NEAR),
        }
        for prefix in ("", "paired_"):
            off = (rows[f"{prefix}ratio"] - 1).abs()
            found[f"{prefix}off_by_max"] = off.max()
            found[f"{prefix}off_by_more"] = rows.filter(off > OFF_BY)["number"].n_unique()
        return found

    def by_family(self, quantities: str | Sequence[str] = SHOWN) -> pl.DataFrame:
        """One row per family: its conditions, and how many agree in each quantity (`3 of 4`).

        Only conditions with a value of the quantity are compared. For the meaning of agreement see
        `verdict`.
        """
        rows = []
        for (family,), about in self.table.group_by("family", maintain_order=True):
            row: dict[str, Any] = {"family": family, "conditions": about["number"].n_unique()}
            for quantity in name_list(quantities):
                judged = self._judged(quantity).filter(pl.col("family") == family)
                agree = _all_of(judged, pl.col("agreement") != "none")
                row[quantity] = f"{agree} of {judged['number'].n_unique()}"
            rows.append(row)
        return pl.DataFrame(rows)

    def _judged(self, quantity: str) -> pl.DataFrame:
        """Rows that were compared in this quantity."""
        return self.table.filter(
            (pl.col("quantity") == quantity) & pl.col("agreement").is_not_null()
        )

    def plot(self, quantity: str = "response_time_s") -> Figure:
        """Simulated against emulated means, with their intervals and the diagonal."""
        from retx.plots.agreement import agreement

        return agreement(self.of(quantity), quantity)

    def _repr_html_(self) -> str:
        return str(self.table._repr_html_())


def compare_grid(
    conditions: int = 30,
    *,
    seed: int = 1,
    families: str = ALL,
    simulations: int = SIMULATIONS,
    emulations: int = 10,
    retries: int = 2,
    jobs: int | None = None,
    backend: str = "tun",
    lateness_bound_s: float = 0.001,
    confidence: float = CONFIDENCE,
    out: str | os.PathLike[str],
    report: Report | None = None,
) -> Grid:
    """Compares under conditions drawn from a seed; see `retx.comparing.conditions`.

    Args:
        conditions: Number of conditions; a larger number includes those of a smaller one.
        seed: Seed of the conditions.
        families: `all`, which take turns, or the name of one family; `classic` has random and
            bursty loss.
        simulations: Number of simulations of each condition.
        emulations: Number of emulations of each condition.
        retries: Number of repetitions of an invalid emulation.
        jobs: Number of emulations at a time.
        backend: As for `emulate`.
        lateness_bound_s: As for `emulate`.
        confidence: Level of all intervals.
        out: Directory to which each condition's result is written when complete
            (`condition-0000.json`). A later call with the same settings continues from there.
        report: Function called with `"condition"` or `"emulation"`, the number done and the total.

    Raises:
        OSError: The directory cannot be written, or holds something else.
        EmulationRefusedError: The machine does not permit emulation, or lacks a program.
        RunError: A run could not be carried out.
        UsageError: A number is out of range, or the directory holds a grid with other settings.
    """
    if conditions < 1:
        raise UsageError(f"conditions is {conditions}: it must be at least 1")
    plan = Plan(emulations, retries, jobs, backend, lateness_bound_s)
    check(simulations, confidence, plan)
    chosen(families)
    settings = _settings((seed, families), simulations, confidence, plan)
    results = []
    with _kept(Path(out)) as directory:
        _check_settings(directory / SETTINGS, settings)
        for number in range(conditions):
            path = directory / f"condition-{number:04}.json"
            if not path.exists():
                drawn = condition(number, seed, families)
                scenario = drawn.scenario()
                found = compared(scenario, simulations, plan, confidence=confidence, report=report)
                _write(path, _result(drawn, found))
            results.append(_read_result(path))
            if report:
                report("condition", number + 1, conditions)
    return Grid(results)


def simulate_again(directory: str | os.PathLike[str], report: Report | None = None) -> Grid:
    """Compares stored emulations of a grid with new simulations, as after a change of retx.

    Args:
        directory: Directory that `compare_grid` has written; its results are overwritten.
        report: Function called with `"condition"`, the number done and the total.

    Raises:
        UsageError: No grid is stored, or this version draws its conditions differently.
    """
    directory = Path(directory)
    paths = _results(directory)
    with _kept(directory):
        settings = json.loads(read_regular(directory / SETTINGS))
        for done, path in enumerate(paths, 1):
            before = json.loads(read_regular(path))
            number = before["condition"]["number"]
            drawn = condition(number, settings["seed"], settings["families"])
            if drawn.row() != before["condition"]:
                raise UsageError(f"{path}: this version of retx draws another condition {number}")
            theirs = attempts(before["emulations"])
            runs = simulated(drawn.scenario(), settings["simulations"] + len(theirs))
            _write(path, _result(drawn, beside(runs, theirs, settings["confidence"])))
            if report:
                report("condition", done, len(paths))
    return load_grid(directory)


def load_grid(directory: str | os.PathLike[str]) -> Grid:
    """Results that `compare_grid` has written so far.

    Raises:
        UsageError: The directory holds no results.
    """
    return Grid([_read_result(path) for path in _results(directory)])


def _results(directory: str | os.PathLike[str]) -> list[Path]:
    paths = sorted(Path(directory).glob("condition-*.json"))
    if not paths:
        raise UsageError(f"{directory}: holds no results of a grid")
    return paths


def _settings(
    drawn_from: tuple[int, str], simulations: int, confidence: float, plan: Plan
) -> dict[str, Any]:
    seed, families = drawn_from
    how = asdict(plan)
    # The settings omit the number of concurrent emulations, because it does not change valid
    # results.
    del how["jobs"], how["first"]
    return {
        "version": _native.__version__,
        "kernel": os.uname().release,
        "seed": seed,
        "families": families,
        "simulations": simulations,
        "confidence": confidence,
        "emulations": how,
    }


def _check_settings(path: Path, settings: dict[str, Any]) -> None:
    if not path.exists():
        _write(path, settings)
        return
    before = json.loads(read_regular(path))
    for key, value in settings.items():
        if before.get(key) != value:
            raise UsageError(
                f"{path.parent}: holds a grid with other settings ({key} is {before.get(key)}, "
                f"not {value}): name another directory, or the same settings"
            )


def _result(drawn: Condition, found: Comparison) -> dict[str, Any]:
    return {
        "condition": drawn.row(),
        "summary": found.summary,
        "first_difference": "; ".join(map(str, found.first_differences)) or None,
        "values": found.values,
        "emulations": kept(found.attempts),
    }


def _read_result(path: Path) -> dict[str, Any]:
    """Stored result of a condition. Earlier versions called `first_difference` `parting`."""
    found: dict[str, Any] = json.loads(read_regular(path))
    if "parting" in found:
        found["first_difference"] = found.pop("parting")
    return found


def _all_of(rows: pl.DataFrame, agrees: pl.Expr) -> int:
    """Number of conditions in which all rows satisfy this test."""
    whole = rows.group_by("number").agg(agrees.fill_null(value=False).all().alias("all"))
    return int(whole["all"].sum())


def _write(path: Path, content: dict[str, Any]) -> None:
    with new_file(path) as file:
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        file.write_text(text + "\n", encoding="utf-8")


@contextmanager
def _kept(directory: Path) -> Iterator[Path]:
    """Locks the directory during the `with` block, so that no other process uses it.

    Raises:
        FileExistsError: The directory holds something other than a grid.
        UsageError: Another process writes a grid there.
    """
    if directory.exists() and not directory.is_dir():
        raise FileExistsError(errno.EEXIST, "exists and is not a directory", str(directory))
    if not (directory / SETTINGS).exists() and directory.is_dir() and any(directory.iterdir()):
        reason = f"is not empty, and holds no {SETTINGS} of a grid: name another directory"
        raise FileExistsError(errno.EEXIST, reason, str(directory))
    directory.mkdir(parents=True, exist_ok=True)
    if not RENAMES_HELD:
        yield directory
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        if not take(handle):
            raise UsageError(f"{directory}: another grid is being written there")
        yield directory
    finally:
        os.close(handle)
