"""Thresholds of the verdict rules, in one place, each with its reason.

They are conventions. `Thresholds.scaled` changes one of them, to show which verdicts depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class Thresholds:
    """Limits within which measured and published numbers agree."""

    number: float = 0.25
    """Maximum relative distance of our mean from a published number. One run of a paper says little
    about its mean; beyond a quarter a reader would call two numbers different. It also caps the
    tolerances that a study gives for itself.
    """
    effect: float = 0.25
    """Minimum of our effect, as a fraction of the published one: a smaller effect does not count as
    the same, even if its sign is settled.
    """
    least_effect: float = 0.05
    """Minimum relative effect if the paper states none: smaller effects are not visible in a
    figure."""
    level: float = 0.10
    """Maximum relative change over the whole range of a level curve: in a printed figure such a
    line looks flat.
    """
    rank: float = 0.8
    """Minimum rank correlation of two curves (Spearman). Of five points, one pair of neighbours may
    be swapped, but hardly two.
    """
    monotone: float = 0.6
    """Minimum of Kendall's tau for a curve that rises or falls: four of five pairs of points are in
    order."""
    slope: float = 2.0
    """Maximum ratio of two slopes, in either direction."""
    distance: float = 0.25
    """Maximum distance of two curves: root mean square of ln(measured/published)."""
    reversed: float = 0.02
    """Relative difference from which the reverse of a claimed order counts as settled."""

    def scaled(self, name: str, factor: float) -> Thresholds:
        """Limits with one of them wider (factor above 1) or narrower.

        For rank correlation and tau, the factor applies to the distance from 1; for the slope, to
        the logarithm.
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
"""Share of the resamples in which a test on a curve must have the same outcome for a verdict."""
RESAMPLES = 1000
FLAT = 0.10
"""Rank and slope are not tested if the range of the published curve is below this share of its
mean."""
LEAST_POINTS = 4
"""Minimum number of points of a curve: of the random orders of three points, half would agree."""
