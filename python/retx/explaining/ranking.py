"""Which of several gains to recommend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

WORTH = 1.03
"""A gain below this is not worth a change."""
NEARLY = 0.9
"""Share of the best gain: an easier change that gains at least this much is preferred."""
WHERE = ("end", "application", "router", "link", "path")
"""Places where a change is made, from the easiest to the hardest: a setting at an end, a program,
the queue of a router, the link's own repair, something new on the path."""

Item = TypeVar("Item")


def is_worth(gain: float, low: float | None) -> bool:
    """True for a gain that is worth a change; not where the interval holds 1."""
    return gain >= WORTH and (low is None or low > 1)


def easiest(
    items: Sequence[Item], gain: Callable[[Item], float], ease: Callable[[Item], Any]
) -> Item | None:
    """About the best gain, and the easiest to have; None of nothing."""
    if not items:
        return None
    least = NEARLY * max(map(gain, items))
    near = [item for item in items if gain(item) >= least]
    return min(near, key=lambda item: (ease(item), -gain(item)))
