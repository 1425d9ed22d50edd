"""Thresholds of the verdict rules, in one place, each with its reason. They are conventions."""

NUMBER = 0.25
"""Maximum relative distance of our mean from a published number. One run of a paper says little
about its mean; beyond a quarter a reader would call two numbers different. It also caps the
tolerances that a study gives for itself.
"""
EFFECT = 0.25
"""Minimum of our effect, as a fraction of the published one: a smaller effect does not count as the
same, even if its sign is settled.
"""
LEAST_EFFECT = 0.05
"""Minimum relative effect if the paper states none: smaller effects are not visible in a figure."""
LEVEL = 0.10
"""Maximum relative change over the whole range of a level curve: in a printed figure such a line
looks flat.
"""
RANK = 0.8
"""Minimum rank correlation of two curves (Spearman). Of five points, one pair of neighbours may be
swapped, but hardly two.
"""
MONOTONE = 0.6
"""Minimum of Kendall's tau for a curve that rises or falls: four of five pairs of points are in
order."""
SLOPE = 2.0
"""Maximum ratio of two slopes, in either direction."""
DISTANCE = 0.25
"""Maximum distance of two curves: root mean square of ln(measured/published)."""
REVERSED = 0.02
"""Relative difference from which the reverse of a claimed order counts as settled."""
SETTLED = 0.95
"""Share of the resamples in which a test on a curve must have the same outcome for a verdict."""
RESAMPLES = 1000
FLAT = 0.10
"""Rank and slope are not tested if the range of the published curve is below this share of its
mean."""
LEAST_POINTS = 4
"""Minimum number of points of a curve: of the random orders of three points, half would agree."""
