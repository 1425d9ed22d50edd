"""Runs only the points of a study that a function requests, for the trials of a calibration.

The function is called twice: first with 1.0 in place of every number, to record its requests, then
with the results. Points that an earlier trial requested are not run again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from retx.study.data import StudyError
from retx.study.estimates import Values
from retx.study.library import Experiment, Study
from retx.study.measured import Measured
from retx.study.runs import Plan, Runs, Whole
from retx.sweeps.result import Sweep

Answer = TypeVar("Answer")
Point = tuple[str, int]
"""Key of a point, and the number of its runs."""


@dataclass
class KnownPoints:
    """Known quantities of points that have been run, and the requested cases."""

    values: dict[tuple[Point, str], Values | None] = field(default_factory=dict)
    cases: dict[str, set[str]] = field(default_factory=dict)

    def answer(self, study: Study, plan: Plan, compute: Callable[[Measured], Answer]) -> Answer:
        """Result of a function that needs only some points, for which only these points are run.

        Args:
            study: The study.
            plan: Extent of the runs.
            compute: Function, which is called until all its requests are known: unknown numbers are
                1 meanwhile, with which it may fail.
        """
        measured = Measured(replace(self.within(study), searches={}), plan)
        while True:
            asked = RequestedRuns(measured.whole, self)
            failure: StudyError | None = None
            try:
                answer = compute(measured.from_runs(asked))
            except StudyError as error:
                failure = error
            missing = self.missing(asked.asked)
            if missing:
                few = measured.whole.only({key for key, _ in missing})
                found = Runs.make(few, None, plan.threads, progress=False)
                for point, quantity in asked.asked:
                    if point in missing:
                        self.values[point, quantity] = found.values(*point, quantity)
            elif failure:
                raise failure
            else:
                return answer

    def within(self, study: Study) -> Study:
        """The study with only the requested cases; with all cases if none has been requested."""
        if not self.cases:
            return study
        return replace(
            study,
            experiments={
                name: replace(it, cases={case: it.cases[case] for case in it.cases if case in kept})
                for name, it in study.experiments.items()
                if (kept := self._with_forerunners(it, self.cases.get(name, set())))
            },
        )

    @staticmethod
    def _with_forerunners(experiment: Experiment, cases: set[str]) -> set[str]:
        found = set(cases)
        while (
            more := {before for it in found if (before := experiment.cases[it].builds_on)} - found
        ):
            found |= more
        return found

    def missing(self, asked: set[tuple[Point, str]]) -> set[Point]:
        """Points of which a requested quantity is unknown."""
        return {point for point, quantity in asked if (point, quantity) not in self.values}


class RequestedRuns(Runs):
    """Records the requested quantities; returns the known ones, and 1.0 for all others."""

    def __init__(self, whole: Whole, known: KnownPoints) -> None:
        super().__init__(whole, lambda name: None)
        self._known = known
        self.asked: set[tuple[Point, str]] = set()

    def sweep(self, experiment: str) -> Sweep:
        """Raises an error: no tables exist while requests are recorded.

        Raises:
            StudyError: Always.
        """
        raise StudyError(
            f"{experiment}: a value reads a whole table, but a trial runs single points"
        )

    def point(self, experiment: str, case: str, at: Mapping[str, Any] | None) -> tuple[str, int]:
        """Key of a point, and its number of runs."""
        self._known.cases.setdefault(experiment, set()).add(case)
        return super().point(experiment, case, at)

    def values(self, key: str, count: int, quantity: str) -> Values | None:
        """Values of a quantity in each run of a point."""
        wanted = ((key, count), quantity)
        self.asked.add(wanted)
        return self._known.values.get(wanted, [1.0] * count)
