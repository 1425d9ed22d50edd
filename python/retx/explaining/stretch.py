"""Short part of a scenario, over which changes are compared before they run over the whole.

*Why.* A change that fills a fast link takes a second to simulate. What people can have runs whole
while the budget allows it; of what no kernel has one matters, and short runs choose it.

*Bias.* Runs end early, and count from half of their time on: what a start leaves behind, such as
a queue filled by slow start, would weigh more in a short run than in a long one. So the part
decides who goes on, with a wide margin, and its gain is never shown as that of a whole run. It does
not judge a remedy for a limit that the part lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from retx._native import ScenarioError
from retx.explaining.measured import Measured, flow_in, measured
from retx.explaining.proposals import fitting
from retx.explaining.ranking import WORTH
from retx.explaining.remedy import Remedy
from retx.explaining.runs import Limit, Runs, packets_of
from retx.explaining.situation import Situation
from retx.explaining.trial import Trial
from retx.explaining.units import seconds_of
from retx.shares import shares

WITHOUT = 0.55
"""Share of the budget: while a run of each change takes at most this much, all are whole."""
WITHOUT_OTHERS = 0.95
"""Share that runs of what people can have may take, when short runs choose among the others."""
COST, COST_OF_ALL = 0.15, 0.4
"""Share of the budget that short runs may take at most: of what no kernel has, and of all."""
PARTS = (2, 4, 8, 16)
"""Short runs end at these fractions of the duration, given by their denominators."""
LEAST_TRIPS = 20
"""Round trips that a part takes at least."""
UNLIKE = 0.2
"""Share of the life that may belong to other limits in the part than in the whole."""
LEAST_PART = 0.5
"""A remedy's limits have to take at least this part of their whole share."""
FIRST, FIRST_OTHERS = 6, 1
"""Remedies that go on in any case; and at most so many that no kernel has."""
FIFTH = 5
"""The rank with which the others are compared, as the five best have to be told apart."""


@dataclass(frozen=True)
class Stretch:
    """Part of a scenario, and the result of the unchanged flow there.

    Args:
        start_s: Start; earlier events are simulated, but not counted.
        end_s: End.
        base: Draw 0 without a change.
        for_all: True where it also chooses among changes that people can have.
    """

    start_s: float
    end_s: float
    base: Measured
    for_all: bool

    @property
    def overrides(self) -> dict[str, Any]:
        """Bounds of a run."""
        return _between(self.start_s, self.end_s)

    @property
    def shares(self) -> Mapping[str, float]:
        """Shares of the flow's life."""
        return shares(self.base.seconds)

    def is_like(self, whole: Situation) -> bool:
        """True if the limits have about the same shares as in the whole scenario."""
        here = self.shares
        keys = {*here, *whole.shares}
        apart = sum(abs(here.get(key, 0.0) - whole.shares.get(key, 0.0)) for key in keys) / 2
        return apart <= UNLIKE

    def compare(
        self, runs: Runs, flow: Mapping[str, Any], trials: Sequence[Trial], limit: Limit
    ) -> None:
        """Runs changes over this part, and sets their `early_gain`."""
        fit, _ = fitting(runs, list(trials), self.overrides)
        for index, summary in runs.finished([(parsed, 0) for _, parsed in fit], limit):
            if not isinstance(summary, Exception):
                found = measured(summary, flow_in(summary, flow))
                fit[index][0].early_gain = found.speed / self.base.speed

    def judges(self, remedies: Sequence[Remedy], whole: Situation) -> bool:
        """True if the limits on which these remedies act have a large enough share in this part."""
        here = Situation(whole.scenario, whole.flow, self.shares, whole.summary)
        return all(
            here.share(*it.matters_for) >= LEAST_PART * whole.share(*it.matters_for)
            for it in remedies
        )


def stretch_for(
    runs: Runs, whole: Situation, counts: tuple[int, int], budget: float
) -> Stretch | None:
    """The longest part that the budget allows; None where all changes can run whole.

    Parts in which other limits hold than in the whole are left out.

    Args:
        runs: Runs the scenario.
        whole: The flow without a change.
        counts: Numbers of changes: those that people can have, and those that no kernel has.
        budget: Packets of all runs together.
    """
    usable, others = counts
    each = _packets(whole)
    late = seconds_of(whole.scenario.get("warmup", "0 s")) > 0
    if (usable + others) * each <= WITHOUT * budget or late:
        return None
    for_all = usable * each > WITHOUT_OTHERS * budget
    packets = (usable + others if for_all else others) * each
    most = (COST_OF_ALL if for_all else COST) * budget
    whole_s = seconds_of(whole.scenario["duration"])
    for part in PARTS:
        end = whole_s / part
        if packets / part > most or end / 2 < LEAST_TRIPS * whole.path.rtt_s:
            continue
        try:
            summary = runs.first(runs.parse(_between(end / 2, end)))
        except ScenarioError:
            continue
        found = Stretch(end / 2, end, measured(summary, whole.flow), for_all)
        if found.is_like(whole):
            return found
    return None


def _packets(whole: Situation) -> float:
    """Packets of a run with a change: the geometric mean of the unchanged one and a full link."""
    packets = packets_of(whole.summary)
    goodput = measured(whole.summary, whole.flow).goodput_bit_s
    if whole.flow["app"]["kind"] != "bulk" or not goodput:
        return packets
    return packets * sqrt(max(1.0, whole.link_limit_bit_s / goodput))


def _between(start_s: float, end_s: float) -> dict[str, Any]:
    return {"warmup": f"{start_s:.9g} s", "duration": f"{end_s:.9g} s"}


def front(trials: Sequence[Trial]) -> list[Trial]:
    """Changes that are run over the whole: the first ones, and those close behind.

    It is far behind where its gain, as a logarithm, is less than half of the fifth best one's.
    """
    ranked = sorted(trials, key=lambda trial: -(trial.early_gain or 0.0))
    usable = [it for it in ranked if it.in_linux]
    others = [it for it in ranked if not it.in_linux][:FIRST_OTHERS]
    if not usable:
        return others
    fifth = usable[min(FIFTH, len(usable)) - 1].early_gain or 0.0
    least = sqrt(max(fifth, WORTH))
    near = [it for it in usable[FIRST:] if (it.early_gain or 0.0) >= least]
    return [*usable[:FIRST], *near, *others]
