"""Places in the results of a study: a case of an experiment, at a point of its grid."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import retx
from retx.scenarios.source import toml_value
from retx.study.data import StudyError, located, look_up, unknown
from retx.study.emulated import Emulations
from retx.study.estimates import Estimate, Values, estimate
from retx.study.items import matches

if TYPE_CHECKING:
    from retx.study.library import Experiment
    from retx.study.measured import Measured

SHOWN = 32
"""Maximum number of single runs kept in memory with all their tables."""


@dataclass(frozen=True)
class Place:
    """A case of an experiment, and values of its grid.

    Quantities are `flow.NAME.COLUMN`, `link.NAME.DIRECTION.COLUMN`, `wlan.NAME.COLUMN`,
    `station.WLAN.NAME.COLUMN`, `relay.NAME.COLUMN`, or those that the study derives. The default is
    the quantity of the experiment.
    """

    measured: Measured
    experiment: str
    case: str
    at: Mapping[str, Any] = field(default_factory=dict)
    """A value for each key of the grid."""

    @property
    def _what(self) -> Experiment:
        return self.measured.study.experiments[self.experiment]

    @property
    def _settings(self) -> dict[str, Any]:
        return self._what.overrides(self.case) | dict(self.at)

    def values(self, quantity: str = "") -> Values:
        """A quantity of each run, in the order of the replications.

        Raises:
            StudyError: There is no such quantity, or the place is not a single point.
        """
        runs, wanted = self.measured.runs, quantity or self._what.quantity
        point = runs.whole.point(self.experiment, self.case, self.at)
        found = runs.values(point, wanted)
        if found is None:
            said = unknown("quantity", wanted, runs.quantities(point), listed=False)
            raise StudyError(f"{self.experiment}/{self.case}: {said}")
        return found

    def estimate(self, quantity: str = "") -> Estimate | None:
        """Mean and intervals of a quantity; None if no run has a value."""
        # Times, rates, shares and counts are never negative.
        return estimate(self.values(quantity), least=0.0, ranked=self._what.ranked)

    def mean(self, quantity: str = "") -> float:
        """The mean of a quantity; NaN if no run has a value."""
        found = self.estimate(quantity)
        return float("nan") if found is None else found.mean

    def emulated(self, quantity: str = "") -> Estimate | None:
        """Mean and intervals of a quantity of a flow in the emulations; None if there is none."""
        found = self.measured.emulated.get((self.experiment, self.case), Emulations())
        values = found.values(quantity or self._what.quantity)
        return estimate(values, least=0.0, ranked=self._what.ranked)

    def typical(self) -> int:
        """Number of the replication whose quantity is nearest to the mean, for a figure."""
        mean = self.mean()
        known = {number: it for number, it in enumerate(self.values()) if it is not None}
        return min(known, key=lambda number: abs(known[number] - mean), default=0)

    def run(self, replication: int = 0) -> retx.Result:
        """Repeats one run and records all tables, for figures over time."""
        shown, key = self.measured.shown, (self.experiment, repr(self._settings), replication)
        if key not in shown:
            shown[key] = retx.run(
                self.measured.study.folder / self._what.scenario,
                seed=self.measured.plan.seed,
                overrides=self._settings,
                replication=replication,
                progress=False,
            )
        found = shown[key]
        # Figures request the same few runs repeatedly; values may request hundreds of runs once.
        while len(shown) > SHOWN:
            del shown[next(iter(shown))]
        return found

    def command(self) -> str:
        """Command that repeats the runs, in the report's directory."""
        plan = self.measured.plan
        words = ["retx", "run", f"scenarios/{self._what.scenario}", "--seed", str(plan.seed)]
        count = plan.replications_of(self._what, self.case)
        if count > 1:
            words += ["--replications", str(count)]
        for key, value in self._settings.items():
            words += ["--set", f"{key}={toml_value(value)}"]
        return shlex.join(words)


def place(measured: Measured, text: str) -> Place:
    """The place `EXPERIMENT/CASE @ AXIS=VALUE, …`; an axis is named by the end of its key.

    Raises:
        StudyError: It does not exist.
    """
    name, _, end = text.partition(" @ ")
    experiment, _, case = name.partition("/")
    with located(repr(text)):
        look_up("case", case, look_up("experiment", experiment, measured.study.experiments).cases)
    axes = measured.axes(experiment) if end else {}
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
