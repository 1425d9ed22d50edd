"""Places in the results of a study: a case of an experiment, at a point of its grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retx.study.data import StudyError, unknown
from retx.study.items import matches

if TYPE_CHECKING:
    import retx
    from retx.study.estimates import Estimate, Values
    from retx.study.measured import Measured


@dataclass(frozen=True)
class Place:
    """A case of an experiment, and values of its grid."""

    measured: Measured
    experiment: str
    case: str
    at: dict[str, Any]

    def values(self, quantity: str = "") -> Values:
        """A quantity of each run, by default that of the experiment."""
        wanted = quantity or self.measured.study.experiments[self.experiment].quantity
        return self.measured.values(self.experiment, self.case, wanted, at=self.at)

    def estimate(self, quantity: str = "") -> Estimate | None:
        """Mean and intervals of a quantity; None if no run has a value."""
        return self.measured.estimate(self.experiment, self.case, quantity or None, at=self.at)

    def mean(self, quantity: str = "") -> float:
        """The mean of a quantity; NaN if no run has a value."""
        return self.measured.mean(self.experiment, self.case, quantity or None, at=self.at)

    def run(self, replication: int = 0) -> retx.Result:
        """One run again, with all tables."""
        return self.measured.run(self.experiment, self.case, replication, at=self.at)

    def typical(self) -> int:
        """Number of the replication whose quantity is nearest to the mean."""
        return self.measured.typical(self.experiment, self.case, at=self.at)

    def command(self) -> str:
        """Command that repeats the runs, in the report's directory."""
        return self.measured.command(self.experiment, self.case, at=self.at)


def place(measured: Measured, text: str) -> Place:
    """The place `EXPERIMENT/CASE @ AXIS=VALUE, …`; an axis is named by the end of its key.

    Raises:
        StudyError: It does not exist.
    """
    name, _, end = text.partition(" @ ")
    experiment, _, case = name.partition("/")
    known = measured.study.experiments
    if experiment not in known:
        raise StudyError(f"{text!r}: {unknown('experiment', experiment, known)}")
    if case not in known[experiment].cases:
        raise StudyError(f"{text!r}: {unknown('case', case, known[experiment].cases)}")
    axes = measured.axes(experiment)
    at: dict[str, Any] = {}
    for part in filter(None, end.split(", ")):
        axis, _, value = part.partition("=")
        keys = [key for key in axes if key == axis or key.endswith(f".{axis}")]
        if len(keys) != 1:
            raise StudyError(f"{text!r}: {axis!r} must be the end of one of {', '.join(axes)}")
        matching = [it for it in axes[keys[0]] if matches(it, value)]
        if not matching:
            there = ", ".join(map(str, axes[keys[0]]))
            raise StudyError(f"{text!r}: {keys[0]} is never {value} (it is {there})")
        at[keys[0]] = matching[0]
    return Place(measured, experiment, case, at)
