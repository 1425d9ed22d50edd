#!/usr/bin/env python3
"""Simulates conditions for which figures of the kernel are stored, and judges each figure.

    .venv/bin/python tools/kernel_grid.py DIRECTORY [CONDITION]… [--all] [--emulate N]

DIRECTORY holds scenarios (`NAME.toml`) and `emulated.csv`: `scenario`, `preset` (of flow
`download`, or "as in the file"), `flow`, `metric`, mean `emulated` with its 95 % interval `low` to
`high`, and how many `emulations`. A CONDITION is the beginning of a scenario's name, such as `07`.

A figure agrees if the simulated mean lies in the kernel's interval (`inside`), or is within 3 % of
its mean (`3 %`), or if Welch's interval of the difference holds zero (`Welch`). Scenarios without
random draws are perturbed (retx.comparing.perturbed). `goodput`, `response`, `resent` and `rtt`
decide; `fast_retransmit` (`frr` in earlier tables), `rto`, `idle` and `exchange` are only reported.
With `--emulate`, a scenario with a differing figure among those that decide is emulated N times:
the figure agrees if runs with the same draws do, by the paired t-test (`pairs`). This has the
requirements of `retx emulate`. Exit code 0: all figures that decide agree. 1: one does not. 2:
nothing could be judged.
"""

from __future__ import annotations

import argparse
import csv
import sys
from math import sqrt
from pathlib import Path
from typing import Any

import polars as pl
from scipy.special import stdtrit

from retx.comparing.comparison import Comparison, compared
from retx.comparing.emulations import Plan
from retx.comparing.perturbed import simulated
from retx.comparing.statistics import Sample, difference
from retx.results import Result

METRICS: dict[str, tuple[str, float]] = {
    "goodput": ("goodput_bit_s", 1e-6),
    "response": ("response_time_s", 1.0),
    "resent": ("segments_retransmitted", 1.0),
    "rtt": ("rtt_mean_s", 1e3),
    "fast_retransmit": ("fast_retransmit_count", 1.0),
    "frr": ("fast_retransmit_count", 1.0),
    "rto": ("rto_count", 1.0),
    "idle": ("idle_total_s", 1.0),
    "exchange": ("exchanges", 1.0),
}
"""Column of the flow (of `exchanges`, the mean), and the factor to the unit of the table."""
DECIDING = ("goodput", "response", "resent", "rtt")
AS_IN_THE_FILE = "as in the file"
WITHIN = 0.03
CONFIDENCE = 0.95


def main() -> int:
    """Judges all conditions; the exit code."""
    arguments = parsed()
    conditions = asked(arguments.directory, arguments.conditions)
    if not conditions:
        print(f"tools/kernel_grid.py: no such condition in {arguments.directory}", file=sys.stderr)
        return 2
    agree, of, failed = 0, 0, []
    for (scenario, preset), rows in conditions.items():
        runs = simulations(arguments.directory / f"{scenario}.toml", preset, arguments.simulations)
        pairs = None
        for row in rows:
            verdict, text = judged(row, runs)
            decides = row["metric"] in DECIDING
            if verdict == "DIFFERS" and decides and arguments.emulate:
                path = arguments.directory / f"{scenario}.toml"
                pairs = pairs or paired(path, preset, arguments.emulate)
                verdict, said = judged_by_pairs(row, pairs, verdict)
                text = text.replace("DIFFERS ", f"{verdict:8}") + said
            if decides:
                of += 1
                agree += verdict != "DIFFERS"
                failed += [f"{scenario} {preset}"] if verdict == "DIFFERS" else []
            if arguments.all or verdict in ("DIFFERS", "pairs"):
                print(text + ("" if decides else "  (does not decide)"), flush=True)
    alike = len(conditions) - len(set(failed))
    print(
        f"{agree} of {of} figures agree (goodput, response, resent, rtt); "
        f"{alike} of {len(conditions)} conditions in all of them"
    )
    return 1 if failed else 0


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("directory", type=Path, metavar="DIRECTORY")
    parser.add_argument("conditions", nargs="*", metavar="CONDITION")
    parser.add_argument("--simulations", type=int, default=40, metavar="N")
    parser.add_argument("--emulate", type=int, default=0, metavar="N", help="Try pairs, too.")
    parser.add_argument("--all", action="store_true", help="Print figures that agree, too.")
    arguments = parser.parse_intermixed_args()
    if arguments.simulations < 2:
        parser.error(f"--simulations {arguments.simulations}: at least 2")
    if not (arguments.directory / "emulated.csv").exists():
        parser.error(f"{arguments.directory}: holds no emulated.csv")
    return arguments


def asked(directory: Path, names: list[str]) -> dict[tuple[str, str], list[dict[str, str]]]:
    """Rows of `emulated.csv` by scenario and preset."""
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    with (directory / "emulated.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if not names or any(row["scenario"].startswith(name) for name in names):
                found.setdefault((row["scenario"], row["preset"]), []).append(row)
    return found


def simulations(path: Path, preset: str, runs: int) -> list[dict[str, Any]]:
    """Flows of all runs, each a dictionary by flow name."""
    results, _ = simulated(path, runs, overrides=changes(preset))
    return [flows(result) for result in results]


def changes(preset: str) -> dict[str, str]:
    """Keys of a scenario that a preset sets."""
    return {} if preset == AS_IN_THE_FILE else {"flow.download.tcp": preset}


def paired(path: Path, preset: str, emulations: int) -> Comparison:
    """Simulations and emulations with the same draws."""
    return compared(path, 2, Plan(emulations, retries=4), (None, changes(preset)))


def judged_by_pairs(row: dict[str, str], found: Comparison, before: str) -> tuple[str, str]:
    """Result of same-draw pairs for a figure, and its description."""
    column = METRICS[row["metric"]][0]
    of = (pl.col("flow") == row["flow"]) & (pl.col("quantity") == column)
    for pairs in found.table.filter(of).iter_rows(named=True):
        ratio, agrees = pairs["paired_ratio"], pairs["paired_agrees"] and not found.perturbed
        verdict = "pairs" if agrees else before
        return verdict, f"  same draws: {ratio or 0:.3f} of {pairs['paired_n']}"
    return before, "  no pairs"


def flows(result: Result) -> dict[str, Any]:
    """Figures of a run, by flow."""
    return {row["name"]: row for row in result.summary["flows"]}


def judged(row: dict[str, str], runs: list[dict[str, Any]]) -> tuple[str, str]:
    """Reason why a figure agrees, or DIFFERS, and the line that reports it."""
    column, unit = METRICS[row["metric"]]
    values = []
    for run in runs:
        value = run[row["flow"]][column]
        value = value["mean_s"] if isinstance(value, dict) else value
        values += [value * unit] if value is not None else []
    kernel, low, high = (float(row[name]) for name in ("emulated", "low", "high"))
    where = f"{row['scenario']:24} {row['preset']:14} {row['flow']:8} {row['metric']:8}"
    if not values:
        return "DIFFERS", f"{where} DIFFERS  no simulation has it; emulated {kernel:g}"
    ours = Sample.of(values)
    n = int(row["emulations"])
    half = (high - low) / 2
    theirs = Sample(n, kernel, half * sqrt(n) / float(stdtrit(n - 1, 0.5 + CONFIDENCE / 2)))
    between = difference(ours, theirs, CONFIDENCE)
    verdict = "DIFFERS"
    # Figures are stored with five digits.
    slack = 1e-4 * abs(kernel)
    if low - slack <= ours.mean <= high + slack:
        verdict = "inside"
    elif abs(ours.mean - kernel) <= WITHIN * abs(kernel):
        verdict = "3 %"
    elif between and between[0] <= 0 <= between[1]:
        verdict = "Welch"
    share = f"{100 * (ours.mean / kernel - 1):+.1f} %" if kernel else ""
    spread = ours.interval(CONFIDENCE)
    return verdict, (
        f"{where} {verdict:8} simulated {ours.mean:.5g}"
        + (f" ± {(spread[1] - spread[0]) / 2:.2g}" if spread else "")
        + f"  emulated {kernel:.5g} ± {half:.2g}  {share}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
