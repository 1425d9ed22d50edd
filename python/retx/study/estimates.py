"""A measured number with its uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, isclose, isfinite, log, sqrt
from statistics import NormalDist, fmean, stdev

from retx.analysis.intervals import half_width
from retx.study.data import StudyError

CONFIDENCE = 0.95
ROUNDING = 1e-9
"""Rounding error that a share may have."""

Values = list[float | None]
"""One number for each run; None for a run without a number."""


@dataclass(frozen=True)
class Interval:
    """Range from `low` to `high`."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """True if the value lies inside the interval or at one of its ends."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Estimate:
    """The mean of `n` independent runs, or an exact value."""

    mean: float
    n: int = 1
    interval: Interval | None = None
    """95 % confidence interval of the mean (Student's t); none for an exact value."""
    single: Interval | None = None
    """Range of 95 % of single runs: by Student's t, or by rank for any distribution."""
    missing: int = 0
    """Number of runs without a value, such as unfinished transfers."""
    ranked: bool = False
    """True if `single` is determined by rank."""

    @property
    def bounds(self) -> Interval:
        """The confidence interval; for an exact value, the value itself."""
        return self.interval or Interval(self.mean, self.mean)


def exact(value: float) -> Estimate:
    """A value that does not depend on chance."""
    return Estimate(float(value))


def estimate(
    values: Sequence[float | None], least: float | None = None, *, ranked: bool = False
) -> Estimate | None:
    """Estimate of the mean from independent runs; None when no run has a value.

    Args:
        values: One for each run; None if a run has none.
        least: Lower bound of the quantity, such as 0 for a count.
        ranked: Take the range of single runs from ranks, for quantities far from a normal
            distribution.
    """
    known = [float(value) for value in values if value is not None]
    missing = len(values) - len(known)
    if not known:
        return None
    mean = fmean(known)
    if len(known) < 2:
        return Estimate(mean, len(known), missing=missing)
    deviation = stdev(known)
    half = half_width(deviation, len(known), CONFIDENCE)
    # A further run varies around the true mean, which is known within `half`.
    wide = half * sqrt(len(known) + 1)
    single = Interval(mean - wide if least is None else max(least, mean - wide), mean + wide)
    return Estimate(
        mean,
        len(known),
        Interval(mean - half, mean + half),
        by_rank(known) if ranked else single,
        missing,
        ranked,
    )


def by_rank(values: Sequence[float]) -> Interval:
    """Range of 95 % of single runs, for any distribution: k-th smallest to k-th largest run.

    A further run is between these two with probability (n + 1 − 2k)/(n + 1), which is 95 % for k =
    (n + 1)/40. With fewer than 39 runs the range extends from the smallest to the largest run, and
    covers less than 95 %.
    """
    ordered = sorted(values)
    k = max(1, int((len(ordered) + 1) * (1 - CONFIDENCE) / 2 + 1e-9))
    return Interval(ordered[k - 1], ordered[-k])


def paired(*series: Sequence[float | None]) -> list[tuple[float, ...] | None]:
    """Numbers of the runs with the same draws; None for runs in which a series has no number.

    A deterministic series, of one run or of equal numbers, is combined with every run. If a series
    has more runs than another, the additional ones have no partner, and are left out.
    """
    most = max(map(len, series))
    full = [list(one[:1]) * most if len(set(one)) == 1 else one for one in series]
    return [
        None if None in row else tuple(float(it) for it in row if it is not None)
        for row in zip(*full, strict=False)
    ]


def paired_difference(
    values: Sequence[float | None], reference: Sequence[float | None]
) -> Estimate | None:
    """Mean difference between runs with the same draws."""
    pairs = paired(values, reference)
    return estimate([None if pair is None else pair[0] - pair[1] for pair in pairs])


def paired_ratio(
    values: Sequence[float | None], reference: Sequence[float | None]
) -> Estimate | None:
    """Geometric mean ratio of runs with the same draws."""
    return geometric_mean(quotients(values, reference))


def geometric_mean(*ratios: Sequence[float | None]) -> Estimate | None:
    """Geometric mean of one ratio or several of each run; the interval is that of the logarithms.

    A run without a positive ratio counts as missing.
    """
    series = [[log(it) if it and it > 0 else None for it in one] for one in ratios]
    logs = estimate([None if row is None else fmean(row) for row in paired(*series)])
    if logs is None:
        return None
    return replace(changed(logs, exp), single=logs.single and _changed(logs.single, exp))


def quotients(above: Sequence[float | None], below: Sequence[float | None]) -> Values:
    """Quotient of two quantities in the runs with the same draws."""
    return [pair[0] / pair[1] if pair and pair[1] else None for pair in paired(above, below)]


def mean_quotient(above: Sequence[float | None], below: Sequence[float | None]) -> Estimate | None:
    """Mean of the quotient of two quantities, run by run."""
    return estimate(quotients(above, below))


def of_means(function: Callable[..., float], *series: Sequence[float | None]) -> Estimate | None:
    """A function of the means of several series, paired run by run, with a jackknife interval.

    Args:
        function: Function of one number for each series; infinite where it divides by zero.
        series: Each of one value for each run; a run that lacks one is left out of all.

    The interval is unbounded if the function has no finite value without one of the runs.
    """
    rows = [row for row in paired(*series) if row is not None]
    if not rows:
        return None
    columns = list(zip(*rows, strict=True))

    def result(means: Iterable[float]) -> float:
        try:
            return function(*means)
        except ZeroDivisionError:
            return inf

    whole = result(map(fmean, columns))
    count = len(rows)
    if count < 3 or all(len(set(column)) == 1 for column in columns):
        return Estimate(whole, count)
    sums = [sum(column) for column in columns]
    pseudo = []
    for index in range(count):
        left = [
            (total - column[index]) / (count - 1)
            for total, column in zip(sums, columns, strict=True)
        ]
        pseudo.append(count * whole - (count - 1) * result(left))
    if not all(map(isfinite, pseudo)):
        return Estimate(whole, count, Interval(-inf, inf))
    half = half_width(stdev(pseudo), count, CONFIDENCE)
    return Estimate(whole, count, Interval(whole - half, whole + half))


def as_share(found: Estimate) -> Estimate:
    """An estimate whose interval lies within 0 … 1; runs without the share are not missing.

    If each run has either 0 or 1, the mean is a share of runs, with Wilson's interval. If all runs
    have the same number, which may also be a fraction without chance, there is no such interval.

    Raises:
        StudyError: The mean is not between 0 and 1.
    """
    if not -ROUNDING <= found.mean <= 1 + ROUNDING:
        raise StudyError(f"{found.mean:g} is not a share: it is not between 0 and 1")
    if _is_of_runs(found):
        return replace(found, interval=wilson(found.mean, found.n), missing=0)
    return replace(bounded(found, 1.0), missing=0)


def _is_of_runs(found: Estimate) -> bool:
    """True if each run has 0 or 1: among numbers from 0 to 1, only these have so large a spread."""
    if found.interval is None or not 0 < found.mean < 1:
        return False
    spread = sqrt(found.n * found.mean * (1 - found.mean) / (found.n - 1))
    half = half_width(spread, found.n, CONFIDENCE)
    return isclose(found.interval.high - found.mean, half, rel_tol=ROUNDING)


def wilson(share: float, of: int) -> Interval:
    """Wilson's 95 % interval of a share of `of` independent runs."""
    z2 = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) ** 2 / of
    middle = (share + z2 / 2) / (1 + z2)
    half = sqrt(z2 * (share * (1 - share) + z2 / 4)) / (1 + z2)
    return Interval(middle - half, middle + half)


def bounded(found: Estimate, most: float) -> Estimate:
    """Estimate of a quantity that lies within 0 … `most`, such as a share in per cent."""
    clipped = changed(found, lambda value: min(max(0.0, value), most))
    return replace(clipped, single=found.single)


def scaled(found: Estimate | None, factor: float) -> Estimate | None:
    """Estimate in another unit."""
    if found is None:
        return None
    single = found.single and _changed(found.single, lambda value: factor * value)
    return replace(changed(found, lambda value: factor * value), single=single)


def changed(found: Estimate, function: Callable[[float], float]) -> Estimate:
    """Estimate of a monotonic function of the mean; it has no range of single runs."""
    interval = found.interval and _changed(found.interval, function)
    return replace(found, mean=function(found.mean), interval=interval, single=None)


def _changed(interval: Interval, function: Callable[[float], float]) -> Interval:
    return Interval(*sorted((function(interval.low), function(interval.high))))


def widened(found: Estimate, interval: Interval, tests: int) -> Interval:
    """An interval with the level 1 − 5 % / `tests` instead of 95 %, by Student's t.

    An interval by rank is returned unchanged: see `Estimate.ranked`.
    """
    if tests < 2 or found.n < 2 or (found.ranked and interval is found.single):
        return interval
    factor = half_width(1, found.n, 1 - (1 - CONFIDENCE) / tests) / half_width(
        1, found.n, CONFIDENCE
    )
    below, above = found.mean - interval.low, interval.high - found.mean
    if interval.low > 0 and not isclose(below, above, rel_tol=1e-6):
        # For a ratio, the interval is computed from the logarithms.
        middle = log(found.mean)
        return Interval(
            exp(middle - factor * (middle - log(interval.low))),
            exp(middle + factor * (log(interval.high) - middle)),
        )
    return Interval(found.mean - factor * below, found.mean + factor * above)
