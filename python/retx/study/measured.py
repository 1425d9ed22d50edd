"""Runs the experiments of a study, and returns their results."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

import retx
from retx.running.progress import Progress
from retx.scenarios.source import toml_value
from retx.study.data import StudyError, unknown
from retx.study.emulated import (
    EMULATIONS,
    LEFT_OUT,
    Emulator,
    Found,
    Outcome,
    Point,
    account,
)
from retx.study.estimates import (
    Estimate,
    Values,
    estimate,
    paired_difference,
    paired_ratio,
)
from retx.study.library import Experiment, Study
from retx.study.places import Place, place
from retx.study.requested import KnownPoints, RequestedRuns
from retx.study.runs import Draws, Runs, Whole
from retx.study.searches import SEARCHES

if TYPE_CHECKING:
    from retx.sweeps.result import Sweep
    from retx.tuning.result import Tuning

SHOWN = 32
"""Maximum number of single runs kept in memory with all their tables."""

Answer = TypeVar("Answer")
At = Mapping[str, Any] | None
"""Point of an experiment's grid: a value for each key."""


@dataclass(frozen=True)
class Plan:
    """Extent of a study's runs: form (`quick` or `full`), seed, number of runs."""

    form: str
    """`quick` or `full`."""
    seed: int = 1
    replications: int | None = None
    """Number of runs of each case in place of the study's; None for the study's."""
    threads: int | None = None
    emulations: int | None = None
    """Number of emulations of each case; 0 for none; None for the study's number."""

    def emulations_of(self, experiment: Experiment) -> int:
        """Number of emulations of each case."""
        own = experiment.emulations.get(self.form, 0)
        return own if self.emulations is None or not own else self.emulations

    def replications_of(self, experiment: Experiment, case: str) -> int:
        """Number of draws of a case."""
        what = experiment.cases[case]
        if not what.random:
            return 1
        return self.replications or (what.replications or experiment.replications)[self.form]


@dataclass
class Measured:
    """Results of the runs of a study. Cases of one experiment share their draws, run by run.

    If an experiment has a grid, `at` selects a point: a value for each key.
    """

    study: Study
    plan: Plan
    shown: dict[tuple[str, str, int], retx.Result] = field(default_factory=dict)
    """Single runs, made again for figures."""
    _runs: Runs | None = None
    _searches: dict[str, Tuning | None] = field(default_factory=dict)
    _emulating: Callable[[], Outcome] | None = None
    """Waits for the emulations; None before they begin."""
    _emulated: Outcome = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.study = self.study.in_form(self.plan.form)

    def begin_emulations(self, emulator: Emulator, out: Path | None = None) -> None:
        """Begins the emulations, for which `run_all` waits.

        Args:
            emulator: Makes the emulations.
            out: As for `run_all`.
        """
        kept = None if out is None else out.parent / EMULATIONS
        self._emulating = emulator.begin(self.study, self._to_emulate(), self.plan.seed, kept)

    def run_all(self, out: Path | None = None, progress: Progress = None) -> None:
        """Runs all cases of all experiments in one queue, beside the emulations; then the searches.

        Args:
            out: Directory in which results are stored; stored runs are not repeated.
            progress: As for `retx.sweep`.
        """
        with Emulator() as emulator:
            if self._emulating is None:
                self.begin_emulations(emulator, out)
            self._runs = Runs.make(self.whole, out, self.plan.threads, progress)
            assert self._emulating is not None, "they have begun"
            self._emulated = self._emulating()
            self._emulating = None
        beside = None if out is None else out.parent / SEARCHES
        for name, search in self.study.searches.items():
            self._searches[name] = search.found(
                self.study.folder, self.plan.form, self.plan.seed, beside
            )

    @cached_property
    def whole(self) -> Whole:
        """Joint plan of all experiments; thousands of scenarios take seconds."""
        return self._whole()

    def from_runs(self, runs: Runs) -> Measured:
        """Copy of this object with results of other runs."""
        return replace(self, shown={}, _runs=runs)

    def _whole(self, names: Iterable[str] | None = None) -> Whole:
        """Joint plan of all experiments, or of some."""
        known = self.study.experiments
        chosen = known if names is None else {name: known[name] for name in names}
        counts = {
            (name, case): self.plan.replications_of(experiment, case)
            for name, experiment in chosen.items()
            for case in experiment.cases
        }
        study = replace(self.study, experiments=chosen)
        return Whole.of(study, Draws(self.plan.seed, counts))

    def run_asked(self, compute: Callable[[Measured], Answer], known: KnownPoints) -> Answer:
        """Result of a function that needs only some points, for which only these points are run.

        Args:
            compute: Function, which is called until all its requests are known: unknown numbers are
                1 meanwhile, with which it may fail.
            known: Earlier results; new ones are added.
        """
        whole = self._whole()
        while True:
            self._runs = asked = RequestedRuns(whole, known)
            failure: StudyError | None = None
            try:
                answer = compute(self)
            except StudyError as error:
                failure = error
            missing = known.missing(asked.asked)
            if missing:
                found = Runs.make(
                    whole.only({key for key, _ in missing}), None, self.plan.threads, progress=False
                )
                for point, quantity in asked.asked:
                    if point in missing:
                        known.values[point, quantity] = found.values(*point, quantity)
            elif failure:
                raise failure
            else:
                return answer

    @property
    def has_numbers(self) -> bool:
        """False while only the names in the study's files are looked up."""
        return self._found.has_numbers

    def search(self, name: str) -> Tuning | None:
        """Result of a search; None if Optuna is not installed."""
        if name not in self.study.searches:
            raise StudyError(unknown("search", name, self.study.searches))
        return self._searches[name]

    def search_command(self, name: str) -> str:
        """Command that repeats a search, in the report's directory."""
        return self.study.searches[name].command(self.plan.form, self.plan.seed)

    @property
    def _found(self) -> Runs:
        assert self._runs is not None, "`run_all` comes first"
        return self._runs

    def sweep(self, experiment: str) -> Sweep:
        """Sweep of an experiment, as returned by `retx.sweep`.

        Its keys are `case` and those of the grid.
        """
        self._experiment(experiment)
        return self._found.sweep(experiment)

    def at(self, text: str) -> Place:
        """The case of an experiment, and the point of its grid, that a text names.

        Args:
            text: `EXPERIMENT/CASE @ AXIS=VALUE, …`; an axis is named by the end of its key.
        """
        return place(self, text)

    def axes(self, experiment: str) -> dict[str, list[Any]]:
        """Keys that vary within the cases of an experiment, and their values."""
        return self._found.axes(experiment)

    def table(
        self, experiment: str, name: str = "flows", case: str | None = None, *, at: At = None
    ) -> pl.DataFrame:
        """A table of all runs of an experiment, or of one of its cases or points.

        Columns: `case`, the keys of the grid, `replication`, then those of the table.

        Args:
            experiment: Name of the experiment.
            name: `flows`, `links`, `wlans`, `stations`, `relays`, `runs`, `derived` (the study's
                `quantities`), and the tables that the experiment records (`tables = ["episodes"]`).
            case: Only this case.
            at: Only these values of the grid.
        """
        found: pl.DataFrame = getattr(self.sweep(experiment), name)
        for key, value in ({} if case is None else {"case": case} | dict(at or {})).items():
            column = pl.col(key).cast(pl.String) if isinstance(value, str) else pl.col(key)
            found = found.filter(column == value)
        return found

    def values(self, experiment: str, case: str, quantity: str, *, at: At = None) -> Values:
        """A quantity of each run, in the order of the replications.

        Args:
            experiment: Name of the experiment.
            case: Name of a case.
            quantity: `flow.NAME.COLUMN`, `link.NAME.DIRECTION.COLUMN`, `wlan.NAME.COLUMN`,
                `station.WLAN.NAME.COLUMN`, `relay.NAME.COLUMN`, or one that the study's
                `quantities` derives.
            at: A point of the grid.
        """
        self._experiment(experiment, case)
        key, count = self._found.point(experiment, case, at)
        found = self._found.values(key, count, quantity)
        if found is None:
            said = unknown("quantity", quantity, self._found.quantities(key), listed=False)
            raise StudyError(f"{experiment}/{case}: {said}")
        return found

    def _experiment(self, name: str, case: str | None = None) -> Experiment:
        """An experiment, after a check that it and its case exist."""
        known = self.study.experiments
        if name not in known:
            raise StudyError(unknown("experiment", name, known))
        if case is not None and case not in known[name].cases:
            raise StudyError(f"{name}: {unknown('case', case, known[name].cases)}")
        return known[name]

    def estimate(
        self, experiment: str, case: str, quantity: str | None = None, *, at: At = None
    ) -> Estimate | None:
        """Mean and intervals of a quantity; None if no run has a value."""
        what = self._experiment(experiment)
        values = self.values(experiment, case, quantity or what.quantity, at=at)
        # Times, rates, shares and counts are never negative.
        return estimate(values, least=0.0, ranked=what.ranked)

    def _to_emulate(self) -> list[Point]:
        experiments = self.study.experiments
        counts = {name: self.plan.emulations_of(it) for name, it in experiments.items()}
        counts = {name: count for name, count in counts.items() if count}
        if not counts:
            return []
        whole = self._whole(counts)
        return [
            Point(name, case, count, whole.point(name, case, None)[0])
            for name, count in counts.items()
            for case in experiments[name].cases
        ]

    def emulated(self, experiment: str, case: str, quantity: str | None = None) -> Estimate | None:
        """Mean and intervals of a quantity of a flow in the emulations; None when there is none."""
        what = self._experiment(experiment)
        found = self._emulated.get((experiment, case), Found())
        return estimate(found.values(quantity or what.quantity), least=0.0, ranked=what.ranked)

    def emulations(self, experiment: str) -> str:
        """Note for a table: how an experiment's emulations were made, or why there are none."""
        cases = self._experiment(experiment).cases
        none = Found(refused=LEFT_OUT)
        return account({case: self._emulated.get((experiment, case), none) for case in cases})

    def mean(
        self, experiment: str, case: str, quantity: str | None = None, *, at: At = None
    ) -> float:
        """The mean of a quantity; NaN when no run has a value."""
        found = self.estimate(experiment, case, quantity, at=at)
        return float("nan") if found is None else found.mean

    def difference(
        self,
        experiment: str,
        case: str,
        reference: str,
        quantity: str | None = None,
        *,
        at: At = None,
    ) -> Estimate | None:
        """Difference of a quantity from the reference case, paired by draws."""
        quantity = quantity or self._experiment(experiment).quantity
        return paired_difference(
            self.values(experiment, case, quantity, at=at),
            self.values(experiment, reference, quantity, at=at),
        )

    def ratio(
        self,
        experiment: str,
        case: str,
        reference: str,
        quantity: str | None = None,
        *,
        at: At = None,
    ) -> Estimate | None:
        """Ratio of a quantity to the reference case, paired by draws."""
        quantity = quantity or self._experiment(experiment).quantity
        return paired_ratio(
            self.values(experiment, case, quantity, at=at),
            self.values(experiment, reference, quantity, at=at),
        )

    def typical(self, experiment: str, case: str, *, at: At = None) -> int:
        """Number of the replication whose quantity is nearest to the mean, for a figure."""
        quantity = self._experiment(experiment).quantity
        values = self.values(experiment, case, quantity, at=at)
        mean = self.mean(experiment, case, at=at)
        known = [number for number, value in enumerate(values) if value is not None]
        return min(known, key=lambda number: abs((values[number] or 0.0) - mean), default=0)

    def run(
        self, experiment: str, case: str, replication: int = 0, *, at: At = None
    ) -> retx.Result:
        """Repeats one run of a case and records all tables, for figures over time."""
        what = self._experiment(experiment, case)
        settings = what.overrides(case) | dict(at or {})
        key = (experiment, repr(settings), replication)
        if key not in self.shown:
            self.shown[key] = retx.run(
                self.study.folder / what.scenario,
                seed=self.plan.seed,
                overrides=settings,
                replication=replication,
                progress=False,
            )
        found = self.shown[key]
        # Figures request the same few runs repeatedly; values may request hundreds of runs once.
        while len(self.shown) > SHOWN:
            del self.shown[next(iter(self.shown))]
        return found

    def command(self, experiment: str, case: str, *, at: At = None) -> str:
        """Command that repeats a case, in the report's directory."""
        what = self._experiment(experiment, case)
        words = ["retx", "run", f"scenarios/{what.scenario}", "--seed", str(self.plan.seed)]
        count = self.plan.replications_of(what, case)
        if count > 1:
            words += ["--replications", str(count)]
        for key, value in (what.overrides(case) | dict(at or {})).items():
            words += ["--set", f"{key}={toml_value(value)}"]
        return shlex.join(words)
