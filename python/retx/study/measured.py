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
from retx.study.emulated import EMULATIONS, LEFT_OUT, Emulator, Found, Outcome, account
from retx.study.library import Study
from retx.study.places import Place, place
from retx.study.runs import Plan, Runs, Whole
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

    def begin_emulations(self, emulator: Emulator, out: Path | None = None) -> None:
        """Begins the emulations, for which `run_all` waits.

        Args:
            emulator: Makes the emulations.
            out: As for `run_all`.
        """
        kept = None if out is None else out.parent / EMULATIONS
        self._emulating = emulator.begin(self, kept)

    def run_all(self, out: Path | None = None, progress: Progress = None) -> None:
        """Runs all cases of all experiments in one queue, beside the emulations; then the searches.

        Args:
            out: Directory in which results are stored; stored runs are not repeated.
            progress: As for `retx.sweep`.
        """
        with Emulator() as emulator:
            if self._emulating is None:
                self.begin_emulations(emulator, out)
            read = run_study(self.whole.prepared, out, self.plan.threads, progress)
            self._runs = Runs(self.whole, read)
            assert self._emulating is not None, "they have begun"
            self.emulated = self._emulating()
            self._emulating = None
        beside = None if out is None else out.parent / SEARCHES
        for name, search in self.study.searches.items():
            self._searches[name] = search.found(
                self.study.folder, self.plan.form, self.plan.seed, beside
            )

    @cached_property
    def whole(self) -> Whole:
        """Plans of all experiments; thousands of scenarios take seconds."""
        return Whole(self.study, self.plan)

    def from_runs(self, runs: Runs) -> Measured:
        """Copy of this object with results of other runs."""
        return replace(self, shown={}, _runs=runs)

    def search(self, name: str) -> Tuning | None:
        """Result of a search; None if Optuna is not installed."""
        look_up("search", name, self.study.searches)
        return self._searches[name]

    def search_command(self, name: str) -> str:
        """Command that repeats a search, in the report's directory."""
        return self.study.searches[name].command(self.plan.form, self.plan.seed)

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
        none = Found(refused=LEFT_OUT)
        return account({case: self.emulated.get((experiment, case), none) for case in cases})
