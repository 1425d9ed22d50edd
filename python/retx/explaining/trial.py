"""Runs with a change, compared draw by draw with runs without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, cmp_to_key
from math import exp, log, sqrt
from typing import Any

from retx.analysis.ranking import JOINED, WHERE
from retx.analysis.students_t import two_sided
from retx.explaining.measured import Measured
from retx.explaining.remedy import Change, Remedy

CONFIDENCE = 0.95
SAME = 1.01
"""A larger value of a remedy is preferred to a smaller one only if its gain is higher by this
factor.
"""


@dataclass(frozen=True)
class Gain:
    """Ratio of speeds with and without a change: the geometric mean over the draws.

    Args:
        mean: Mean gain; 1 if the change has no effect.
        low: Lower end of the 95 % interval (Student's t on logarithms); None with one draw.
        high: Upper end.
        draws: Number of draws; for each, a run with the change is compared with one without it.
    """

    mean: float
    low: float | None
    high: float | None
    draws: int


def gain_of(ratios: list[float]) -> Gain:
    """Mean and interval of ratios."""
    logs = [log(ratio) for ratio in ratios]
    n = len(logs)
    mean = sum(logs) / n
    if n < 2:
        return Gain(exp(mean), None, None, n)
    deviation = sqrt(sum((it - mean) ** 2 for it in logs) / (n - 1))
    half = two_sided(n - 1, CONFIDENCE) * deviation / sqrt(n)
    return Gain(exp(mean), exp(mean - half), exp(mean + half), n)


def geometric(values: Sequence[float]) -> float:
    """Geometric mean; 0 if one of the values is 0."""
    return exp(sum(map(log, values)) / len(values)) if all(value > 0 for value in values) else 0.0


@dataclass(eq=False)
class Trial:
    """Change of a scenario, with the measurements of its runs.

    Args:
        remedies: Remedies that propose the change; several for a combination.
        changes: One change for each remedy.
        weight: Share of the flow's lifetime under the limits on which the change may act.
    """

    remedies: tuple[Remedy, ...]
    changes: tuple[Change, ...]
    weight: float
    runs: dict[int, Measured] = field(default_factory=dict)
    summary: Mapping[str, Any] | None = None
    """Summary of draw 0."""
    scenario: Mapping[str, Any] | None = None
    early_gain: float | None = None
    """Gain in short runs (`stretch.py`); None if there were none."""

    @property
    def name(self) -> str:
        """Names of its remedies."""
        return " + ".join(remedy.name for remedy in self.remedies)

    @property
    def text(self) -> str:
        """Description of the changes."""
        return JOINED.join(change.text for change in self.changes)

    @property
    def apply(self) -> list[str]:
        """Instructions for making the changes."""
        return [line for change in self.changes for line in change.apply]

    @property
    def price_text(self) -> str:
        """Possible costs of the changes."""
        return " ".join(remedy.price for remedy in self.remedies)

    @property
    def in_linux(self) -> bool:
        """True if users can apply all parts of the change."""
        return all(remedy.in_linux for remedy in self.remedies)

    @property
    def where(self) -> str:
        """Place of the change that is hardest to make; one of `WHERE`."""
        return max((remedy.where for remedy in self.remedies), key=WHERE.index, default="end")

    @cached_property
    def overrides(self) -> dict[str, Any]:
        """Overrides of all changes together."""
        merged: dict[str, Any] = {}
        for change in self.changes:
            merged |= change.overrides
        return merged

    @property
    def ease(self) -> tuple[int, bool, bool, int]:
        """Sorting key, smaller for easier changes.

        The criteria are, in this order: the index of `where` in `WHERE`; true if the change is
        rarely made in practice; true if it does more than undo settings; the number of changed
        keys. A rare change of a host or program is sorted as if it were a change at the router:
        after the usual changes of a router's queue.
        """
        adds = not all(remedy.undoes for remedy in self.remedies)
        seldom = any(remedy.is_seldom for remedy in self.remedies)
        place = WHERE.index(self.where)
        if seldom:
            place = max(place, WHERE.index("router"))
        return place, seldom, adds, len(self.overrides)

    def ease_with(self, baseline: Mapping[int, Measured]) -> tuple[int, bool, bool, float, int]:
        """Like `ease`; changes of one place that leave more to the other flows come first.

        The ratio of the other flows' goodput is rounded to a tenth, so that noise does not decide.
        """
        where, seldom, adds, keys = self.ease
        others = self.price(baseline)["others"]
        return where, seldom, adds, 0.0 if others is None else -round(others, 1), keys

    @property
    def failures(self) -> int:
        """Number of draws in which TCP gave up a connection of the flow."""
        return sum(run.has_failed for run in self.runs.values())

    def takes_from_others(self, baseline: Mapping[int, Measured]) -> bool:
        """True if the other flows lose more than half of the goodput that this flow gains."""
        pairs = self._pairs(baseline)
        gained = sum(run.goodput_bit_s - base.goodput_bit_s for run, base in pairs)
        lost = sum(base.others_bit_s - run.others_bit_s for run, base in pairs)
        return lost > gained / 2

    def total(self, baseline: Mapping[int, Measured]) -> float:
        """Total goodput of all flows with the change, relative to that without it."""
        pairs = self._pairs(baseline)
        before = sum(base.goodput_bit_s + base.others_bit_s for _, base in pairs)
        after = sum(run.goodput_bit_s + run.others_bit_s for run, _ in pairs)
        return after / before if before else 1.0

    def gain(self, baseline: Mapping[int, Measured]) -> Gain:
        """Gain over runs without the change."""
        return gain_of([run.speed / base.speed for run, base in self._pairs(baseline)])

    def over(self, other: Trial) -> Gain | None:
        """Gain over another change in the draws of both; None if they have no draw in common."""
        draws = sorted(self.runs.keys() & other.runs.keys())
        if not draws:
            return None
        return gain_of([self.runs[draw].speed / other.runs[draw].speed for draw in draws])

    def _pairs(self, baseline: Mapping[int, Measured]) -> list[tuple[Measured, Measured]]:
        return [(self.runs[draw], baseline[draw]) for draw in sorted(self.runs.keys() & baseline)]

    def price(self, baseline: Mapping[int, Measured]) -> dict[str, Any]:
        """Measured costs, as means over the draws.

        `rtt_s`: change of the mean round-trip time; `needless`: change of the share of needless
        retransmissions; `others`: ratio of the other flows' goodput, None if there are none.
        """
        pairs = self._pairs(baseline)
        times = [a.rtt_s - b.rtt_s for a, b in pairs if a.rtt_s is not None and b.rtt_s is not None]
        others = sum(b.others_bit_s for _, b in pairs)
        return {
            "rtt_s": sum(times) / len(times) if times else None,
            "needless": sum(a.needless - b.needless for a, b in pairs) / len(pairs),
            "others": sum(a.others_bit_s for a, _ in pairs) / others if others else None,
            "note": self.price_text,
        }


def in_rank(trials: Sequence[Trial], gain: Callable[[Trial], float]) -> list[Trial]:
    """Trials, the best first; two of them are compared in the draws that both have.

    A single draw in which the unchanged flow happens to be slow thus ranks no trial above those
    that have more draws.
    """

    def order(one: Trial, other: Trial) -> int:
        ratio = one.over(other)
        better = gain(one) / gain(other) if ratio is None else ratio.mean
        return (better < 1) - (better > 1)

    return sorted(sorted(trials, key=gain, reverse=True), key=cmp_to_key(order))


def best_of_each(trials: Sequence[Trial], gain: Callable[[Trial], float]) -> list[Trial]:
    """One trial for each remedy: among several values, the one that gains most."""
    best: dict[str, Trial] = {}
    for trial in trials:
        other = best.get(trial.name)
        if not other or gain(trial) > SAME * gain(other):
            best[trial.name] = trial
    return list(best.values())
