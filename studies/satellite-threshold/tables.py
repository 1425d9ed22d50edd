"""Cells of a table that tables.toml cannot say: thresholds without harm."""

from __future__ import annotations

from operator import truediv

from retx.study import Measured, of_means

HARMLESS = 0.95
"""Share of the throughput without the rule below which the rule does harm."""


def highest(measured: Measured, case: str, load: str, queue: str) -> str:
    """The highest threshold that does no harm, of those tried, in ticks."""
    place = f"harm/{case} @ ber=0, count={load}, packets={queue}, threshold="
    best, *others = (it.key for it in measured.study.declared.lists.items("harm_ticks"))
    none = f"{place}{best}0 ms"
    for number, ticks in enumerate(others):
        series = (measured.at(it).values("throughput") for it in (f"{place}{ticks}0 ms", none))
        found = of_means(truediv, *series)
        if found is None or found.mean < HARMLESS:
            return best if number else "none"
        best = ticks
    return f"≥ {best}"
