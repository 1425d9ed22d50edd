"""Cells of tables that tables.toml cannot say: claims that hold, and thresholds without harm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from operator import truediv

from retx.study import Cell, Estimate, Measured, of_means

RATES = ("1e-5", "1e-6", "1e-7")
"""Bit error rates of the paper."""
COUNTS = (1, 2, 3)
SIGNIFICANT, LEVEL = 1.1, 0.1
"""Bounds of the claims: gain at 53 ticks, and change from there to 60."""
HARMLESS = 0.95
"""Share of the throughput without the rule below which the rule does harm."""


@dataclass(frozen=True)
class Reached:
    """Numbers of the claims of figures 3, 5 and 7 that hold for one set-up, of 9, 9 and 6."""

    significant: int
    level: int
    order: int

    @property
    def all(self) -> int:
        """Number of claims reached, of 24."""
        return self.significant + self.level + self.order


def reached(measured: Measured, case: str) -> Reached:
    """Claims on one, two and three connections at three error rates, by means."""
    significant = flat = order = 0
    for count in COUNTS:
        gains = []
        for ber in RATES:
            place = f"joint/{case} @ count={count}, ber={ber}, threshold="
            none, near, far = (f"{place}{ticks}0 ms" for ticks in (51, 53, 60))
            significant += _mean(_gain(measured, near, none)) >= SIGNIFICANT
            flat += abs(_mean(_level(measured, far, near, none))) <= LEVEL
            gains.append(_mean(_gain(measured, f"{place}550 ms", none)))
        order += sum(high > low for high, low in pairwise(gains))
    return Reached(significant, flat, order)


def _mean(value: Estimate | None) -> float:
    """Mean of an estimate; NaN without one."""
    return value.mean if value else float("nan")


def _gain(measured: Measured, above: str, below: str) -> Estimate | None:
    """Ratio of two means, as shown by curves of means."""
    return of_means(truediv, *(measured.at(it).values("throughput") for it in (above, below)))


def _level(measured: Measured, far: str, near: str, none: str) -> Estimate | None:
    """Gain of the higher threshold over the lower, relative to the throughput without the rule."""
    series = (measured.at(it).values("throughput") for it in (far, near, none))
    return of_means(lambda last, first, base: (last - first) / base, *series)


def front(measured: Measured) -> Iterator[tuple[dict[str, Cell], str]]:
    """The set-ups, and what each reaches."""
    for case, what in measured.study.experiments["joint"].cases.items():
        it = reached(measured, case)
        numbers = {"significant": it.significant, "level": it.level, "order": it.order}
        row: dict[str, Cell] = {name: str(value) for name, value in numbers.items()}
        command = measured.at(f"joint/{case} @ count=1, ber=1e-5, threshold=530 ms").command()
        yield row | {"case": what.label, "all": str(it.all)}, command


def trend(measured: Measured, case: str, claim: str) -> str:
    """“yes” if one of the paper's trends holds in a case of `open`, for one connection."""
    gains = []
    most = 0.0
    for ber in RATES:
        # Thresholds above the base RTT: no rule, and the paper's 53 and 60 ticks.
        none, near, far = (f"open/{case} @ ber={ber}, threshold={it} ms" for it in (0, 20, 90))
        gains.append(_mean(_gain(measured, near, none)))
        beyond = _level(measured, far, near, none)
        assert beyond is not None
        most = max(most, beyond.bounds.low, -beyond.bounds.high)
    holds = {
        "significant": min(gains) >= SIGNIFICANT,
        "levels": most <= LEVEL,
        "order": gains == sorted(gains, reverse=True),
    }
    return "yes" if holds[claim] else "no"


def highest(measured: Measured, case: str, load: str, queue: str) -> str:
    """The highest threshold that does no harm, of those tried, in ticks."""
    place = f"harm/{case} @ ber=0, count={load}, packets={queue}, threshold="
    best, *others = (it.key for it in measured.study.declared.lists.items("harm_ticks"))
    none = f"{place}{best}0 ms"
    for number, ticks in enumerate(others):
        found = _gain(measured, f"{place}{ticks}0 ms", none)
        if found is None or found.mean < HARMLESS:
            return best if number else "none"
        best = ticks
    return f"≥ {best}"
