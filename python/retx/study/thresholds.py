"""Thresholds of the verdict rules, in one place, each with its reason.

They are conventions. `Thresholds.scaled` makes one of them wider or narrower, to see which verdicts
depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class Thresholds:
    """Limits within which measured and published numbers agree."""

    number: float = 0.25
    """Relative distance of our mean from a published number. One run of a paper says little about
    its mean; beyond a quarter a reader would call two numbers different. It also caps the
    tolerances that a study gives for itself.
    """
    effect: float = 0.25
    """Part of a published effect that ours must reach: a smaller effect counts as another one, even
    if its sign is settled.
    """
    least_effect: float = 0.05
    """Least relative effect where the paper prints none: less cannot be read off a figure."""
    level: float = 0.10
    """Relative change over the whole range up to which a curve is level: in a printed figure such a
    line looks flat.
    """
    rank: float = 0.8
    """Least rank correlation of two curves (Spearman). With five points one pair of neighbours may
    be swapped, and hardly two.
    """
    monotone: float = 0.6
    """Least Kendall's tau of a curve that rises or falls: four of five pairs of points in order."""
    slope: float = 2.0
    """Largest factor between two slopes, up or down."""
    distance: float = 0.25
    """Largest distance of two curves: root mean square of ln(measured/published)."""
    reversed: float = 0.02
    """Relative difference from which the reverse of a claimed order counts as settled."""

    def scaled(self, name: str, factor: float) -> Thresholds:
        """Limits with one of them wider (factor above 1) or narrower.

        Rank correlation and tau are widened in their distance from 1, the slope in its logarithm.
        """
        value: float = getattr(self, name)
        if name in ("rank", "monotone"):
            return replace(self, **{name: max(0.0, 1 - factor * (1 - value))})
        if name in ("effect", "least_effect"):
            return replace(self, **{name: value / factor})
        return replace(self, **{name: value**factor if name == "slope" else value * factor})


THRESHOLDS = Thresholds()
NAMES = tuple(field.name for field in fields(Thresholds))
SETTLED = 0.95
"""Share of the resamples in which a test on a curve must hold, or fail, to be settled."""
RESAMPLES = 1000
FLAT = 0.10
"""Published curves whose range is less than this share of their mean have no order to compare."""
LEAST_POINTS = 4
"""Fewest points with which a curve has a shape: half of all random orders of three would agree."""
