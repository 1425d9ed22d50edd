"""Runs the experiments of a study and answers what they found."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import retx
from retx.source import toml_value
from retx.study.data import StudyError
from retx.study.estimates import Estimate, estimate, paired_difference, paired_ratio
from retx.study.library import Experiment, Study

Report = Callable[[float], None]
"""Called with the share of the work that is done."""

Values = list[float | None]

Derive = Callable[[retx.Result], Mapping[str, float | None]]
"""A study's `quantities`: more numbers of one run, from its tables."""


@dataclass(frozen=True)
class Plan:
    """How thoroughly to run."""

    form: str
    """`quick` or `full`."""
    seed: int = 1
    replications: int | None = None
    """Instead of what the study says for the form."""
    threads: int | None = None

    def replications_of(self, experiment: Experiment, case: str) -> int:
        """How many draws of a case."""
        if not experiment.cases[case].random:
            return 1
        return self.replications or experiment.replications[self.form]


@dataclass
class Measured:
    """What the runs of a study found. Cases of one experiment share their draws, run by run."""

    study: Study
    plan: Plan
    found: dict[tuple[str, str], list[dict[str, float | None]]] = field(default_factory=dict)
    """By experiment and case: tables of quantities, a value for each run."""
    runs: dict[tuple[str, str, int], retx.Result] = field(default_factory=dict)
    derive: Derive | None = None
    """Asked of each run."""

    def run_all(self, report: Report) -> None:
        """Runs every case of every experiment."""
        todo = [
            (experiment, case, self.plan.replications_of(experiment, case))
            for experiment in self.study.experiments.values()
            for case in experiment.cases
        ]
        total, done = sum(count for _, _, count in todo), 0
        for experiment, case, count in todo:

            def part(fraction: float, done: int = done, count: int = count) -> None:
                report((done + count * fraction) / total)

            replications = retx.replicate(
                self.study.folder / experiment.scenario,
                count,
                seed=self.plan.seed,
                overrides=experiment.overrides(case),
                segments=experiment.segments,
                threads=self.plan.threads,
                progress=part,
            )
            self.found[experiment.name, case] = [
                self._quantities(result) for result in replications
            ]
            done += count
        report(1.0)

    def _quantities(self, result: retx.Result) -> dict[str, float | None]:
        found = _quantities(result)
        return found if self.derive is None else found | dict(self.derive(result))

    def values(self, experiment: str, case: str, quantity: str) -> Values:
        """A quantity of each run, in the order of the replications.

        Args:
            experiment: Its name.
            case: One of its cases.
            quantity: `flow.NAME.COLUMN`, `link.NAME.DIRECTION.COLUMN`, `wlan.NAME.COLUMN`,
                `station.WLAN.NAME.COLUMN`, or one that the study's `quantities` derives.
        """
        found = self.found[experiment, case]
        if quantity not in found[0]:
            raise StudyError(f"{experiment}, {case}: no quantity {quantity!r}")
        return [run[quantity] for run in found]

    def estimate(self, experiment: str, case: str, quantity: str | None = None) -> Estimate | None:
        """Mean and intervals of a quantity; None when no run has a value."""
        what = self.study.experiments[experiment]
        values = self.values(experiment, case, quantity or what.quantity)
        # Times, rates, shares and counts: none is ever negative.
        return estimate(values, least=0.0, ranked=what.ranked)

    def quotient(self, experiment: str, case: str, above: str, below: str) -> Estimate | None:
        """Mean of one quantity over another, run by run."""
        pairs = zip(
            self.values(experiment, case, above),
            self.values(experiment, case, below),
            strict=True,
        )
        return estimate([None if a is None or not b else a / b for a, b in pairs])

    def mean(self, experiment: str, case: str, quantity: str | None = None) -> float:
        """The mean of a quantity; NaN when no run has a value."""
        found = self.estimate(experiment, case, quantity)
        return float("nan") if found is None else found.mean

    def difference(
        self, experiment: str, case: str, reference: str, quantity: str | None = None
    ) -> Estimate | None:
        """How much larger a quantity is than in the reference case, draw by draw."""
        return paired_difference(*self._both(experiment, case, reference, quantity))

    def ratio(
        self, experiment: str, case: str, reference: str, quantity: str | None = None
    ) -> Estimate | None:
        """How many times as large a quantity is as in the reference case, draw by draw."""
        return paired_ratio(*self._both(experiment, case, reference, quantity))

    def _both(
        self, experiment: str, case: str, reference: str, quantity: str | None
    ) -> tuple[Values, Values]:
        quantity = quantity or self.study.experiments[experiment].quantity
        return (
            self.values(experiment, case, quantity),
            self.values(experiment, reference, quantity),
        )

    def typical(self, experiment: str, case: str) -> int:
        """The replication that comes closest to the mean: the one to show in a figure."""
        quantity = self.study.experiments[experiment].quantity
        values = self.values(experiment, case, quantity)
        mean = self.mean(experiment, case)
        known = [number for number, value in enumerate(values) if value is not None]
        return min(known, key=lambda number: abs((values[number] or 0.0) - mean), default=0)

    def run(self, experiment: str, case: str, replication: int = 0) -> retx.Result:
        """One run of a case with the table of segments, for figures."""
        key = (experiment, case, replication)
        if key not in self.runs:
            what = self.study.experiments[experiment]
            self.runs[key] = retx.run(
                self.study.folder / what.scenario,
                seed=self.plan.seed,
                overrides=what.overrides(case),
                replication=replication,
                progress=False,
            )
        return self.runs[key]

    def command(self, experiment: str, case: str) -> str:
        """What a reader types, in the report's directory, to run a case again."""
        what = self.study.experiments[experiment]
        words = ["retx", "run", f"scenarios/{what.scenario}", "--seed", str(self.plan.seed)]
        count = self.plan.replications_of(what, case)
        if count > 1:
            words += ["--replications", str(count)]
        for key, value in what.overrides(case).items():
            words += ["--set", f"{key}={toml_value(value)}"]
        return shlex.join(words)


def _quantities(result: retx.Result) -> dict[str, float | None]:
    """The numbers of a run by their quantity's name."""
    found: dict[str, Any] = {}
    for row in result.flows.iter_rows(named=True):
        found |= _numbers(row, f"flow.{row['name']}")
    for row in result.links.iter_rows(named=True):
        found |= _numbers(row, f"link.{row['name']}.{row['direction']}")
    for row in result.wlans.iter_rows(named=True):
        found |= _numbers(row, f"wlan.{row['name']}")
    for row in result.stations.iter_rows(named=True):
        found |= _numbers(row, f"station.{row['wlan']}.{row['name']}")
    return found


def _numbers(row: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {
        f"{prefix}.{column}": value
        for column, value in row.items()
        if value is None or isinstance(value, int | float)
    }
