"""Two samples of one quantity: means, difference and ratio, and tests of equality.

*Reference.* Welch 1947 for the difference of means; Fieller 1954 for the ratio of means; the
two-sample Kolmogorov–Smirnov test for whole distributions.

*Where we differ.* The two variances are not assumed to be equal, so the degrees of freedom of
Fieller's interval are those of Welch (at the observed ratio).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isinf, sqrt

import numpy as np
from scipy.special import stdtrit

from retx.analysis.intervals import half_width

Interval = tuple[float, float]


@dataclass(frozen=True)
class Sample:
    """Number, mean and standard deviation of a sample."""

    n: int
    mean: float
    deviation: float
    """Standard deviation (divisor n − 1); NaN for a single value."""

    @classmethod
    def of(cls, values: Sequence[float]) -> Sample:
        """Sample of the given values, at least one."""
        array = np.asarray(values, dtype=float)
        deviation = float(array.std(ddof=1)) if len(array) > 1 else float("nan")
        return cls(len(array), float(array.mean()), deviation)

    @property
    def error2(self) -> float:
        """Squared standard error of the mean."""
        return self.deviation**2 / self.n

    def interval(self, confidence: float) -> Interval | None:
        """Interval of Student's t; None for a single value."""
        if self.n < 2:
            return None
        half = half_width(self.deviation, self.n, confidence)
        return self.mean - half, self.mean + half


def quantile(parts: Sequence[tuple[float, int]], confidence: float) -> float:
    """Quantile of Student's t for a two-sided interval, with Welch's degrees of freedom.

    Each of the `parts` is a squared standard error, and the size of its sample. The parts sum to
    the squared standard error of the quantity.
    """
    total = sum(error2 for error2, _ in parts)
    spread = sum(error2**2 / (n - 1) for error2, n in parts)
    freedom = total**2 / spread if spread > 0 else inf
    # Without variance the quantile is multiplied by 0, so any value will do.
    return 0.0 if isinf(freedom) else float(stdtrit(freedom, 0.5 + confidence / 2))


def difference(first: Sample, second: Sample, confidence: float = 0.95) -> Interval | None:
    """Interval for the first mean minus the second (Welch); None if a sample has one value."""
    if min(first.n, second.n) < 2:
        return None
    parts = [(first.error2, first.n), (second.error2, second.n)]
    half = quantile(parts, confidence) * sqrt(first.error2 + second.error2)
    between = first.mean - second.mean
    return between - half, between + half


def ratio(first: Sample, second: Sample, confidence: float = 0.95) -> Interval | None:
    """Interval for the ratio of the means, first over second (Fieller).

    None if a sample has one value, or if the divisor may be zero.
    """
    if min(first.n, second.n) < 2 or second.mean == 0:
        return None
    found = first.mean / second.mean
    t = quantile([(first.error2, first.n), (found**2 * second.error2, second.n)], confidence)
    g = t**2 * second.error2 / second.mean**2
    if g >= 1:
        return None
    root = sqrt((1 - g) * first.error2 + found**2 * second.error2)
    half = t / abs(second.mean) * root / (1 - g)
    return found / (1 - g) - half, found / (1 - g) + half


def paired_ratio(
    first: Sequence[float], second: Sequence[float], confidence: float = 0.95
) -> Interval | None:
    """The interval for the ratio of the means of pairs, first over second (Fieller).

    The interval contains 1 if and only if the paired t-test finds no difference. None in the same
    cases as for `ratio`.
    """
    n = len(first)
    if n < 2 or not np.mean(second):
        return None
    # Variances of both means, and their covariance, which is not zero for pairs.
    var, within, _, var_second = (float(it) / n for it in np.cov(first, second).ravel())
    mean = float(np.mean(second))
    found = float(np.mean(first)) / mean
    t = float(stdtrit(n - 1, 0.5 + confidence / 2))
    g = t**2 * var_second / mean**2
    if g >= 1:
        return None
    middle = found - t**2 * within / mean**2
    left = var - within**2 / var_second if var_second else var
    # Rounding may make the term negative if the pairs are equal.
    root = sqrt(max(0.0, var - 2 * found * within + found**2 * var_second - g * left))
    half = t / abs(mean) * root
    return (middle - half) / (1 - g), (middle + half) / (1 - g)


def same_distribution(first: Sequence[float], second: Sequence[float]) -> float:
    """Probability that samples of one distribution differ at least as much as these two.

    This is the p-value of the two-sided Kolmogorov–Smirnov test. For values with ties, such as
    counts, it is an upper bound.
    """
    from scipy.stats import ks_2samp

    return float(ks_2samp(first, second).pvalue)
