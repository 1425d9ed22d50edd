"""A short part of a scenario, in which changes are compared before they are run over all of it.

*Reason.* A change that fills a fast link takes a second to simulate. Changes that Linux offers are
run over the whole scenario if the budget allows it. Among changes that no kernel offers, only the
best one is shown, so short runs select it.

*Bias.* A short run ends early, and only its second half counts. Effects of the start, such as a
queue filled by slow start, thus have more weight than in a long run. Short runs therefore only
select, with a wide margin, the changes to be run over the whole scenario. Their gain is never shown
as that of a whole run. A remedy for a limit that does not occur in the part is not judged by short
runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from retx._native import ScenarioError
from retx.analysis.limits import shares
from retx.analysis.ranking import WORTH
from retx.explaining.measured import Measured, flow_in, measured
from retx.explaining.proposals import fitting
from retx.explaining.remedy import Remedy
from retx.explaining.runs import Limit, Runs, packets_of
from retx.explaining.situation import Situation
from retx.explaining.trial import Trial
from retx.scenarios.units import seconds_of

WITHOUT = 0.55
"""All changes are run over the whole scenario if one run of each takes at most this share of the
budget.
"""
WITHOUT_OTHERS = 0.95
"""Share of the budget for whole runs of changes in Linux, if short runs select among other
changes."""
COST, COST_OF_ALL = 0.15, 0.4
"""Maximum shares of the budget for short runs: of changes that no kernel offers; of all changes."""
PARTS = (2, 4, 8, 16)
"""Short runs end at these fractions of the duration; the numbers are the denominators."""
LEAST_TRIPS = 20
"""Minimum length of a part, in round trips."""
UNLIKE = 0.2
"""Maximum difference between a limit's share in the part and its share in the whole scenario, for
the part to be used.
"""
LEAST_PART = 0.5
"""Minimum share of the lifetime under a remedy's limits in the part, relative to the share in the
whole scenario. Below it, the part does not judge the remedy.
"""
FIRST, FIRST_OTHERS = 6, 1
"""Number of remedies that are run over the whole scenario in any case, and maximum number of those
among them that no kernel offers.
"""
FIFTH = 5
"""Rank whose gain is compared with those of other remedies, because the five best must be
distinguished.
"""


@dataclass(frozen=True)
class Stretch:
    """Part of a scenario, and the result of the unchanged flow in this part.

    Args:
        start_s: Start; earlier events are simulated, but not counted.
        end_s: End.
        base: Measurement of draw 0 without a change.
        for_all: True if short runs also select among changes that Linux offers.
    """

    start_s: float
    end_s: float
    base: Measured
    for_all: bool

    @property
    def overrides(self) -> dict[str, Any]:
        """Overrides that limit a run to this part."""
        return _between(self.start_s, self.end_s)

    @property
    def shares(self) -> Mapping[str, float]:
        """Share of the flow's lifetime for each limit, in this part."""
        return shares(self.base.seconds)

    def is_like(self, whole: Situation) -> bool:
        """True if the limits have about the same shares in the part as in the whole scenario."""
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
        """True if the limits on which each remedy acts last long enough in this part.

        Their share of the lifetime is compared with that in the whole scenario (`LEAST_PART`).
        """
        here = Situation(whole.scenario, whole.flow, self.shares, whole.summary)
        return all(
            here.share(*it.matters_for) >= LEAST_PART * whole.share(*it.matters_for)
            for it in remedies
        )


def stretch_for(
    runs: Runs, whole: Situation, counts: tuple[int, int], budget: float
) -> Stretch | None:
    """Longest part that the budget allows; None if all changes can be run over the whole scenario.

    Parts in which the limits differ from those of the whole scenario are not used.

    Args:
        runs: Runs the scenario.
        whole: The flow without a change.
        counts: Number of changes that Linux offers, and number of those that no kernel offers.
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
    """Expected number of packets of a changed run.

    Geometric mean of the numbers for the unchanged run and for a full link.
    """
    packets = packets_of(whole.summary)
    goodput = measured(whole.summary, whole.flow).goodput_bit_s
    if whole.flow["app"]["kind"] != "bulk" or not goodput:
        return packets
    return packets * sqrt(max(1.0, whole.link_limit_bit_s / goodput))


def _between(start_s: float, end_s: float) -> dict[str, Any]:
    return {"warmup": f"{start_s:.9g} s", "duration": f"{end_s:.9g} s"}


def front(trials: Sequence[Trial]) -> list[Trial]:
    """Changes to be run over the whole scenario, selected by their gain in short runs.

    Of the changes that Linux offers, the best `FIRST` are selected. A further change is selected if
    its gain is at least the square root of the fifth best gain. Of the changes that no kernel
    offers, only the best `FIRST_OTHERS` are selected.
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
