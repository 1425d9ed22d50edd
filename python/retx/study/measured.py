"""Runs the experiments of a study, and returns their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import retx
from retx.running.progress import Progress
from retx.study.data import look_up
from retx.study.emulated import LEFT_OUT, Emulations, Emulator, Outcome, account
from retx.study.library import Study
from retx.study.measures import Found, Measuring
from retx.study.places import Place, place
from retx.study.runs import RUNS, Plan, Runs, Whole
from retx.study.searches import SEARCHES
from retx.sweeps.running import run_study

if TYPE_CHECKING:
    from retx.sweeps.result import Sweep
    from retx.tuning.result import Tuning


@dataclass
class Measured:
    """Results of the runs of a study. Cases of one experiment share their draws, run by run.

    Those of one case are found by its place: see `at`.
    """

    study: Study
    plan: Plan
    home: Path | None = None
    """Directory of the report, in which results are stored; stored ones are not computed again."""
    shown: dict[tuple[str, str, int], retx.Result] = field(default_factory=dict)
    """Single runs, made again for figures."""
    _runs: Runs | None = None
    _searches: dict[str, Tuning | None] = field(default_factory=dict)
    _emulating: Callable[[], Outcome] | None = None
    """Waits for the emulations; None before they begin."""
    emulated: Outcome = field(default_factory=dict)
    """Results of the emulations."""

    def __post_init__(self) -> None:
        self.study = self.study.in_form(self.plan.form)

    def begin_emulations(self, emulator: Emulator) -> None:
        """Begins the emulations, for which `run_all` waits."""
        self._emulating = emulator.begin(self)

    def run_all(self, progress: Progress = None) -> None:
        """Runs all cases of all experiments in one queue, beside the emulations.

        Args:
            progress: As for `retx.sweep`.
        """
        with Emulator() as emulator:
            emulating = self._emulating or emulator.begin(self)
            read = run_study(self.whole.prepared, self.directory(RUNS), self.plan.threads, progress)
            self._runs = Runs(self.whole, read)
            self.emulated = emulating()

    def directory(self, name: str) -> Path | None:
        """A directory next to the report; None without a report."""
        return self.home and self.home / name

    @cached_property
    def whole(self) -> Whole:
        """Plans of all experiments; thousands of scenarios take seconds."""
        return Whole(self.study, self.plan)

    def from_runs(self, runs: Runs) -> Measured:
        """Copy of this object with results of other runs."""
        return replace(self, shown={}, _runs=runs)

    @cached_property
    def measuring(self) -> Measuring:
        """Computes the measures of the study."""
        return Measuring(self)

    def value(self, name: str) -> Found:
        """A named value of `values.toml`, computed when it is first asked for."""
        return self.measuring.named(name)

    @property
    def values(self) -> dict[str, Found]:
        """All named values."""
        return {name: self.value(name) for name in self.study.declared.values}

    def search(self, name: str) -> Tuning | None:
        """Result of a search; None if Optuna is not installed."""
        search = look_up("search", name, self.study.searches)
        if name not in self._searches:
            self._searches[name] = search.found(
                self.study.folder, self.plan, self.directory(SEARCHES)
            )
        return self._searches[name]

    def search_command(self, name: str) -> str:
        """Command that repeats a search, in the report's directory."""
        return self.study.searches[name].command(self.plan)

    @property
    def runs(self) -> Runs:
        """Results of all runs."""
        assert self._runs is not None, "`run_all` comes first"
        return self._runs

    def sweep(self, experiment: str) -> Sweep:
        """Sweep of an experiment, as returned by `retx.sweep`.

        Its keys are `case` and those of the grid.
        """
        look_up("experiment", experiment, self.study.experiments)
        return self.runs.sweep(experiment)

    def at(self, text: str) -> Place:
        """The case of an experiment, and the point of its grid, that a text names.

        Args:
            text: `EXPERIMENT/CASE @ AXIS=VALUE, …`; an axis is named by the end of its key.
        """
        return place(self, text)

    def axes(self, experiment: str) -> dict[str, list[Any]]:
        """Keys that vary within the cases of an experiment, and their values."""
        return self.runs.axes(experiment)

    def emulations(self, experiment: str) -> str:
        """Note for a table: how an experiment's emulations were made, or why there are none."""
        cases = look_up("experiment", experiment, self.study.experiments).cases
        none = Emulations(refused=LEFT_OUT)
        return account({case: self.emulated.get((experiment, case), none) for case in cases})
