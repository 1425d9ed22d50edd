"""Runs at several points: a curve over a parameter, or ordered cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from retx.study.estimates import Estimate, Interval
from retx.study.thresholds import RESAMPLES

Array = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]
SEED = 1


@dataclass(frozen=True)
class Points:
    """One number for each run at each point; the n-th runs of all points have the same draws."""

    runs: Mapping[str, Sequence[float | None]]
    """Numbers by point, in the order of the axis; None for a run without a number."""
    geometric: bool = False
    """True to use geometric means, as for ratios."""

    @property
    def x(self) -> Array:
        """Values of the points on the axis; their indices if they are words."""
        try:
            return np.array([float(point) for point in self.runs])
        except ValueError:
            return np.arange(len(self.runs), dtype=float)

    @property
    def n(self) -> int:
        """Smallest number of runs of a point, among points with random runs."""
        return min((len(it) for it in self.runs.values() if len(it) > 1), default=1)

    @cached_property
    def means(self) -> Array:
        """Mean of each point."""
        return self._back(np.array([np.nanmean(self._values(point)) for point in self.runs]))

    def only(self, points: Sequence[str]) -> Points:
        """Selection of these points, in this order."""
        return Points({point: self.runs[point] for point in points}, self.geometric)

    def resampled(self) -> Array:
        """Means of the points (columns) in seeded resamples of the replications (rows).

        All points of a resample use the same replications. Deviations from the mean are widened by
        √(n/(n−1)): plain resampling of a few runs understates the spread.
        """
        most = max(len(runs) for runs in self.runs.values())
        draws = np.random.default_rng(SEED).random((RESAMPLES, most))
        columns = []
        for point in self.runs:
            values = self._values(point)
            n = len(values)
            taken = values[(draws[:, :n] * n).astype(int)]
            kept = np.isfinite(taken)
            mean = np.nanmean(values)
            sums = np.where(kept, taken, 0.0).sum(axis=1)
            found = np.where(kept.any(axis=1), sums / np.maximum(kept.sum(axis=1), 1), mean)
            wider = np.sqrt(n / (n - 1)) if n > 1 else 0.0
            columns.append(mean + (found - mean) * wider)
        return self._back(np.stack(columns, axis=1))

    def _values(self, point: str) -> Array:
        given = self.runs[point]
        values = np.array([np.nan if value is None else value for value in given], dtype=float)
        return np.log(values) if self.geometric else values

    def _back(self, means: Array) -> Array:
        return np.exp(means) if self.geometric else means


def estimated(found: float, resamples: Array, n: int) -> Estimate:
    """A statistic of points with the interval of 95 % of its resamples."""
    low, high = np.quantile(resamples, [0.025, 0.975])
    return Estimate(float(found), n, Interval(float(low), float(high)) if n > 1 else None)
