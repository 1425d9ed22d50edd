"""Quantiles of Student's t.

They are computed here, because importing `scipy.special` takes longer than many commands need
otherwise: a quarter of the time of `retx why`, or 0.3 s of CPU time for a table of replications.
For whole degrees of freedom the distribution is a finite sum (Abramowitz & Stegun 1964, 26.7.3 and
26.7.4).
"""

from __future__ import annotations

from functools import cache
from math import cos, pi, sin, sqrt, tan

STEPS = 60
"""Number of bisections, starting from a right angle, after which only rounding errors remain."""


FREEDOM_MAX = 2000
"""Degrees of freedom from which on the sum takes longer than importing `scipy.special`."""


@cache
def two_sided(freedom: int, level: float) -> float:
    """Value t for which a share `level` of the distribution lies between −t and t.

    Args:
        freedom: Degrees of freedom, at least 1.
        level: Between 0 and 1, such as 0.95.
    """
    if freedom > FREEDOM_MAX:
        from scipy.special import stdtrit

        return float(stdtrit(freedom, 0.5 + level / 2))
    low, high = 0.0, pi / 2
    for _ in range(STEPS):
        middle = (low + high) / 2
        if _within(freedom, middle) < level:
            low = middle
        else:
            high = middle
    return sqrt(freedom) * tan((low + high) / 2)


def _within(freedom: int, angle: float) -> float:
    """Share of the distribution between −t and t.

    The tangent of `angle` is t divided by the square root of the degrees of freedom.
    """
    is_odd = freedom % 2 == 1
    square = cos(angle) ** 2
    term = sin(angle) * (cos(angle) if is_odd else 1.0)
    total = 0.0
    # Each term is the previous one times 2/3, 4/5, … for odd degrees, and 1/2, 3/4, … for even
    # ones.
    for step in range(freedom // 2):
        total += term
        term *= square * (2 * step + (2 if is_odd else 1)) / (2 * step + (3 if is_odd else 2))
    return 2 / pi * (angle + total) if is_odd else total
