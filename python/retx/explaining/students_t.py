"""Quantiles of Student's t.

They are computed here, because an import of `scipy` takes a quarter of the time of `retx why`. For
whole degrees of freedom the distribution is a finite sum (Abramowitz & Stegun 1964, 26.7.3 and
26.7.4).
"""

from __future__ import annotations

from functools import cache
from math import atan, cos, pi, sin, sqrt, tan

STEPS = 60
"""Number of times that a right angle is halved, after which only rounding is left."""


@cache
def two_sided(freedom: int, level: float) -> float:
    """The t within which a share `level` of the distribution lies.

    Args:
        freedom: Degrees of freedom, at least 1.
        level: Between 0 and 1, such as 0.95.
    """
    low, high = 0.0, pi / 2
    for _ in range(STEPS):
        middle = (low + high) / 2
        if _within(freedom, middle) < level:
            low = middle
        else:
            high = middle
    return sqrt(freedom) * tan((low + high) / 2)


def share_within(freedom: int, t: float) -> float:
    """Share of the distribution between −t and t."""
    return _within(freedom, atan(t / sqrt(freedom)))


def _within(freedom: int, angle: float) -> float:
    """The share, from the angle whose tangent is t over the root of the degrees of freedom."""
    is_odd = freedom % 2 == 1
    square = cos(angle) ** 2
    term = sin(angle) * (cos(angle) if is_odd else 1.0)
    total = 0.0
    # Terms of the sum: 2/3, 4/5, … of the one before for odd degrees, 1/2, 3/4, … for even ones.
    for step in range(freedom // 2):
        total += term
        term *= square * (2 * step + (2 if is_odd else 1)) / (2 * step + (3 if is_odd else 2))
    return 2 / pi * (angle + total) if is_odd else total
