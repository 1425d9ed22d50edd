"""`compare`: simulations of one scenario compared with emulations of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from retx.comparing.emulations import Emulated, Plan, Report, emulated
from retx.comparing.first_difference import RecoveryDifference, first_difference
from retx.comparing.perturbed import simulated
from retx.comparing.statistics import Sample, difference, paired_ratio, ratio, same_distribution
from retx.errors import UsageError
from retx.errors.renamed import accept_attribute
from retx.results.replications import Replications
from retx.results.result import Result
from retx.running.emulation import no_code_in_the_kernel
from retx.scenarios.parsed import parsed_scenario
from retx.scenarios.source import Scenario
from retx.scenarios.trust import trusting, without_code

QUANTITIES = (
    "response_time_s",
    "exchange_mean_s",
    "goodput_bit_s",
    "segments_retransmitted",
    "rtt_mean_s",
    "fast_retransmit_count",
    "rto_count",
    "max_backoff",
    "idle_total_s",
    "idle_max_s",
)
"""Columns of `flows` that are compared, if both sides have them; `exchange_mean_s` is
`exchanges.mean_s`.
"""
SIMULATIONS = 100
CONFIDENCE = 0.95
WITHIN = 0.03
"""Means that differ by no more than this share agree, however narrow the intervals are."""
WIDE = 0.5
"""No conclusion is possible if the interval of the difference contains both zero and this share of
the emulated mean.
"""
COLUMNS = {
    "flow": pl.String,
    "quantity": pl.String,
    "simulated_n": pl.Int64,
    "simulated": pl.Float64,
    "simulated_low": pl.Float64,
    "simulated_high": pl.Float64,
    "emulated_n": pl.Int64,
    "emulated": pl.Float64,
    "emulated_low": pl.Float64,
    "emulated_high": pl.Float64,
    "ratio": pl.Float64,
    "ratio_low": pl.Float64,
    "ratio_high": pl.Float64,
    "difference_low": pl.Float64,
    "difference_high": pl.Float64,
    "agrees": pl.Boolean,
    "p_value": pl.Float64,
    "paired_n": pl.Int64,
    "paired": pl.Float64,
    "paired_ratio": pl.Float64,
    "paired_ratio_low": pl.Float64,
    "paired_ratio_high": pl.Float64,
    "paired_agrees": pl.Boolean,
    "agreement": pl.String,
}
"""Columns of a comparison's table."""


@dataclass(frozen=True)
class Comparison:
    """Simulations of a scenario compared with emulations of it."""

    simulations: Replications
    paired: Replications
    """Simulations with the same draws as the emulations, in the order of the emulations;
    `simulations` does not contain them.
    """
    attempts: Sequence[Emulated]
    confidence: float = CONFIDENCE
    perturbed: bool = False
    """True if the simulations were perturbed, because random draws have no effect in this scenario
    (`retx.comparing.perturbed`).
    """

    @cached_property
    def emulations(self) -> Replications:
        """Valid emulations; there may be none."""
        return Replications([it.result for it in self.attempts if it.result])

    @property
    def invalid(self) -> int:
        """Number of emulations that were invalid at every attempt; the means exclude them."""
        return sum(it.result is None for it in self.attempts)

    @property
    def repeated(self) -> int:
        """Number of emulations that were repeated because they were invalid."""
        return sum(len(it.faults) for it in self.attempts) - self.invalid

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per flow and quantity that both sides report.

        The columns are:

        - means with t-intervals, and the numbers of values (`simulated_n`, `emulated_n`): a flow
          that did not finish has no response time;
        - `ratio`: simulated over emulated mean, with Fieller's interval (null if the divisor may be
          zero);
        - Welch's interval of the difference; `agrees` is true if it contains zero;
        - `p_value` of the Kolmogorov–Smirnov test;
        - `paired…`: comparison of each emulation with a simulation that loses the same packets. The
          interval of `paired_ratio` is narrower than that of `ratio`; `paired_agrees` is true if it
          contains 1;
        - `agreement`: the first condition that holds, or `none`. The conditions are `interval`
          (`agrees` is true), `3 %` (the means differ by at most 3 %), and `pairs` (`paired_agrees`
          is true, and simulations were not perturbed). The value is `cannot tell` instead of
          `interval` if the interval of the difference is so wide that it contains half the emulated
          mean; more emulations are then needed.
        """
        rows = []
        for it in self.values:
            row = {key: it[key] for key in ("flow", "quantity")}
            row |= _row(it["simulated"], it["emulated"], self.confidence)
            row |= _pairs_row(it["pairs"], self.confidence)
            rows.append(row | {"agreement": self._agreement(row)})
        return pl.DataFrame(rows, schema=COLUMNS)

    def _agreement(self, row: dict[str, Any]) -> str | None:
        if row["agrees"] is None:
            return None
        if row["agrees"]:
            farthest = max(abs(row["difference_low"]), abs(row["difference_high"]))
            return "cannot tell" if farthest > WIDE * abs(row["emulated"]) else "interval"
        if abs(row["simulated"] - row["emulated"]) <= WITHIN * abs(row["emulated"]):
            return "3 %"
        return "pairs" if row["paired_agrees"] and not self.perturbed else "none"

    @cached_property
    def values(self) -> list[dict[str, Any]]:
        """Values of each run, by flow and quantity.

        `simulated` and `emulated` contain the values of the simulations and of the emulations.
        `pairs` contains, for each emulation, the values of the simulation with the same draws and
        of the emulation.
        """
        sides = {"simulated": self.simulations, "emulated": self.emulations}
        found = [
            {"flow": flow, "quantity": quantity}
            | {name: _values(side, flow, quantity) for name, side in sides.items()}
            | {"pairs": self._pairs(flow, quantity)}
            for flow in self._flows
            for quantity in QUANTITIES
        ]
        return [it for it in found if it["simulated"] and it["emulated"]]

    @cached_property
    def first_differences(self) -> list[RecoveryDifference]:
        """First recovery that differs, for each flow that has one."""
        sides = list(self.simulations), list(self.emulations)
        return [it for flow in self._flows if (it := first_difference(flow, *sides))]

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Content of the output of `retx compare --json`."""
        first = self.simulations[0].summary
        return {
            "scenario": first["scenario"],
            "version": first["version"],
            "seed": first["seed"],
            "confidence": self.confidence,
            "perturbed": self.perturbed,
            "simulations": len(self.simulations),
            "emulations": len(self.emulations),
            "emulations_invalid": self.invalid,
            "emulations_repeated": self.repeated,
            "faults": [fault for it in self.attempts for fault in it.faults],
            "kernel": self.emulations[0].summary["emulation"]["kernel"]
            if self.emulations
            else None,
            "lateness_p99_max_s": self._lateness(),
            "flows": self.table.to_dicts(),
            "first_differences": [it.row() for it in self.first_differences],
        }

    def to_latex(self) -> str:
        """Table for a paper (`booktabs`), with intervals."""
        from retx.results.latex import comparison_table

        level = f"{100 * self.confidence:g} % intervals"
        note = (
            f"{len(self.simulations)} simulations beside {len(self.emulations)} emulations, "
            f"with {level}; retx {self.summary['version']}"
        )
        return comparison_table(self.table, note)

    def _pairs(self, flow: str, quantity: str) -> list[tuple[float, float]]:
        both = (
            [value for it in (ours, theirs) for value in _values([it], flow, quantity)]
            for ours, theirs in zip(self.paired, (it.result for it in self.attempts), strict=True)
            if theirs
        )
        return [(values[0], values[1]) for values in both if len(values) == 2]

    def _lateness(self) -> float | None:
        """Largest lateness of the valid emulations."""
        late = [it.summary["emulation"]["lateness"]["p99_s"] for it in self.emulations]
        return max((it for it in late if it is not None), default=None)

    @property
    def _flows(self) -> list[str]:
        return [row["name"] for row in self.simulations[0].summary["flows"]]

    def _repr_html_(self) -> str:
        from retx.results.html import frame_html

        invalid = f", {self.invalid} more were not valid" if self.invalid else ""
        head = f"{len(self.simulations)} simulations, {len(self.emulations)} emulations{invalid}"
        return frame_html(head, self.table)


accept_attribute(Comparison, "partings", "first_differences")


def compare(
    scenario: Scenario,
    *,
    simulations: int = SIMULATIONS,
    emulations: int = 10,
    retries: int = 2,
    jobs: int | None = None,
    backend: str = "tun",
    lateness_bound_s: float = 0.001,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    confidence: float = CONFIDENCE,
    files_anywhere: bool = False,
    report: Report | None = None,
) -> Comparison:
    """Compares simulations of a scenario with emulations by this machine's kernel.

    Every run has its own random draws. For each emulation there is an additional simulation with
    the same draws. Both lose the same packets as long as they send the same packets. Simulations
    run first, on all cores, since emulations need the machine for themselves.

    If random draws have no effect in the scenario, all simulations would be equal, whereas packets
    of emulations are late by varying times. The links of the simulations then delay each packet by
    a small random time (`Comparison.perturbed`).

    Args:
        scenario: As for `run`.
        simulations: Number of simulations.
        emulations: Number of emulations.
        retries: Number of times that an invalid emulation (packets left too late) is repeated with
            the same draws; after that it is left out and counted in `Comparison.invalid`.
        jobs: Number of emulations at a time; by default one for each two cores.
        backend: As for `emulate`.
        lateness_bound_s: As for `emulate`.
        seed: Seed that replaces the scenario's.
        overrides: Values by their key in the scenario.
        confidence: Level of all intervals.
        files_anywhere: As for `run`.
        report: Function called with `"emulation"`, the number done and the total.

    Raises:
        OSError: The file cannot be read.
        ScenarioError: The scenario is wrong.
        EmulationRefusedError: The kernel cannot run this scenario, or this machine does not allow
            it or lacks something; the message says what.
        RunError: A run could not be carried out.
        UsageError: A number is out of range.
    """
    plan = Plan(emulations, retries, jobs, backend, lateness_bound_s)
    with without_code(no_code_in_the_kernel), trusting(files_anywhere=files_anywhere):
        return compared(scenario, simulations, plan, (seed, overrides), confidence, report)


def check(simulations: int, confidence: float, plan: Plan) -> None:
    """Refuses numbers out of range.

    Raises:
        UsageError: A number is out of range; the message says which.
    """
    plan.check()
    if simulations < 2:
        raise UsageError(f"simulations is {simulations}: it must be at least 2")
    if not 0 < confidence < 1:
        raise UsageError(f"confidence is {confidence}: it must be between 0 and 1")


def compared(
    scenario: Scenario,
    simulations: int,
    plan: Plan,
    changes: tuple[int | None, Mapping[str, Any] | None] = (None, None),
    confidence: float = CONFIDENCE,
    report: Report | None = None,
) -> Comparison:
    """Compares as `compare` does, but takes the settings of the emulations from a `Plan`."""
    check(simulations, confidence, plan)
    seed, overrides = changes
    parsed, code = parsed_scenario(scenario, seed, overrides)
    runs = simulated(scenario, simulations + plan.count, seed, overrides)
    theirs = emulated(parsed, code, replace(plan, first=simulations), report)
    return beside(runs, theirs, confidence)


def beside(
    runs: tuple[Replications, bool], attempts: Sequence[Emulated], confidence: float
) -> Comparison:
    """Comparison of simulations with emulations.

    `runs` is the result of `simulated`; its last simulations have the same draws as the emulations.
    """
    ours, perturbed = runs
    alone = len(ours) - len(attempts)
    first, paired = (Replications(part) for part in (list(ours)[:alone], list(ours)[alone:]))
    return Comparison(first, paired, attempts, confidence, perturbed)


def _values(side: Sequence[Result] | Replications, flow: str, quantity: str) -> list[float]:
    values = []
    for result in side:
        row = next(row for row in result.summary["flows"] if row["name"] == flow)
        value = row["exchanges"]["mean_s"] if quantity == "exchange_mean_s" else row[quantity]
        if value is not None:
            values.append(float(value))
    return values


def _pairs_row(pairs: Sequence[Sequence[float]], confidence: float) -> dict[str, Any]:
    ours, theirs = ([pair[side] for pair in pairs] for side in (0, 1))
    low, high = paired_ratio(ours, theirs, confidence) or (None, None)
    # The paired t-test gives the same verdict as the interval of the ratio, and is defined even if
    # that interval is not.
    differences = [our - their for our, their in pairs]
    between = Sample.of(differences).interval(confidence) if pairs else None
    return {
        "paired_n": len(pairs),
        "paired": sum(ours) / len(ours) if ours else None,
        "paired_ratio": sum(ours) / sum(theirs) if sum(theirs) else None,
        "paired_ratio_low": low,
        "paired_ratio_high": high,
        "paired_agrees": between[0] <= 0 <= between[1] if between else None,
    }


def _row(ours: list[float], theirs: list[float], confidence: float) -> dict[str, Any]:
    first, second = Sample.of(ours), Sample.of(theirs)
    between = difference(first, second, confidence)
    shares = ratio(first, second, confidence)
    row: dict[str, Any] = {}
    for name, sample in (("simulated", first), ("emulated", second)):
        low, high = sample.interval(confidence) or (None, None)
        row |= {f"{name}_n": sample.n, name: sample.mean}
        row |= {f"{name}_low": low, f"{name}_high": high}
    low, high = shares or (None, None)
    row |= {
        "ratio": first.mean / second.mean if second.mean else None,
        "ratio_low": low,
        "ratio_high": high,
    }
    low, high = between or (None, None)
    return row | {
        "difference_low": low,
        "difference_high": high,
        "agrees": between[0] <= 0 <= between[1] if between else None,
        "p_value": same_distribution(ours, theirs),
    }
