"""Choice of the remedy to recommend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

WORTH = 1.03
"""Smallest gain for which a change is recommended."""
NEARLY = 0.9
"""Fraction of the best gain that an easier change must reach to be preferred."""
LEAST_PART = 0.5
"""Fraction of the best improvement, gain − 1, that an easier change must reach to be preferred
(an arbitrary choice)."""
JOINED = ", and "
"""Words between the changes of a combination."""
WHERE = ("end", "application", "router", "link", "path")
"""Places of a change, from the easiest to the hardest: a setting of a host, a program, the queue of
a router, repair by the link, a new device on the path.
"""

Item = TypeVar("Item")


def is_worth(gain: float, low: float | None) -> bool:
    """True if a gain is large enough for a recommendation, and its interval lies above 1.

    `low` is the lower end of the interval; None if there is no interval.
    """
    return gain >= WORTH and (low is None or low > 1)


def easiest(
    items: Sequence[Item], gain: Callable[[Item], float], ease: Callable[[Item], Any]
) -> Item | None:
    """Easiest of the remedies whose gain is close to the best; None for an empty list."""
    if not items:
        return None
    least = NEARLY * max(map(gain, items))
    near = [item for item in items if gain(item) >= least]
    return min(near, key=lambda item: (ease(item), -gain(item)))


def easiest_gain(
    items: Sequence[Item], gain: Callable[[Item], float], ease: Callable[[Item], Any]
) -> Item | None:
    """Like `easiest`, for gains, which are 1 without an effect.

    If all gains are small, one within a tenth of the best may improve nearly nothing. An easier
    remedy must therefore also reach a part of the best improvement.
    """
    best = max(map(gain, items), default=1.0)
    if best <= 1:
        return easiest(items, gain, ease)
    near = [item for item in items if gain(item) - 1 >= LEAST_PART * (best - 1)]
    return easiest(near, gain, ease)
