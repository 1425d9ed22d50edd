"""Rules that judge values at several points together, by seeded resamples of the replications.

- `curve`: rank correlation, slope and distance of the measured and the published curve. It agrees
  if all three are within their limits in 95 % of the resamples, and differs if one of them is
  outside in 95 %.
- `trend`: rises, falls, or is level; by the change from end to end (Theil and Sen) relative to the
  mean.
- `order`: claimed order of cases, tested pair by pair with Bonferroni's correction.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise, product
from math import inf, log

import numpy as np

from retx.study import thresholds as limits
from retx.study.data import StudyError, Target
from retx.study.estimates import (
    Estimate,
    Interval,
    changed,
    paired_difference,
    paired_ratio,
    widened,
)
from retx.study.points import Array, Points, Truths, estimated
from retx.study.verdicts import Finding, Verdict, by_interval


def judge_curve(measured: Points, published: Mapping[str, Target]) -> Finding:
    """Judges the measured curve against a published one.

    Raises:
        StudyError: Points are missing.
    """
    lacking = [point for point in published if point not in measured.runs]
    if lacking or len(published) < limits.LEAST_POINTS:
        raise StudyError(
            f"rule 'curve': not measured at {lacking[0]!r}"
            if lacking
            else f"rule 'curve': {len(published)} points; {limits.LEAST_POINTS} at least"
        )
    ours = measured.only(list(published))
    values = np.array([target.value for target in published.values()])
    roundings = np.array([target.rounding for target in published.values()])
    again = np.vstack([ours.means, ours.resampled()])
    x = ours.x
    tests: list[tuple[str, Array, Truths]] = []
    flat = np.ptp(values) < limits.FLAT * abs(values.mean())
    if not flat:
        rank = _rank_correlation(again, values)
        tests.append(("rank correlation", rank, rank >= limits.RANK - 1e-9))
    if not flat and abs(_tau(x, values)) >= limits.MONOTONE:
        ratio = _slopes(x, again) / _slopes(x, values[None, :])[0]
        tests.append(("slope, ours over theirs", ratio, _near(ratio, limits.SLOPE)))
    distance = _distance(again, values, roundings)
    tests.append(("distance", distance, distance <= limits.DISTANCE))
    return _all_of(tests, estimated(distance[0], distance[1:], ours.n))


def _all_of(tests: list[tuple[str, Array, Truths]], shown: Estimate) -> Finding:
    # Row 0 is that of all runs, the others are resamples.
    together = np.mean(np.all([holds[1:] for _, _, holds in tests], axis=0))
    failing = [name for name, _, holds in tests if np.mean(holds[1:]) <= 1 - limits.SETTLED]
    said = "; ".join(
        f"{name} {found[0]:.2f} ({100 * np.mean(holds[1:]):.0f} % of the resamples hold)"
        for name, found, holds in tests
    )
    miss = max(_miss(name, float(found[0])) for name, found, _ in tests)
    if together >= limits.SETTLED:
        verdict, miss = Verdict.AGREES, 0.0
    else:
        verdict = Verdict.DIFFERS if failing else Verdict.UNSETTLED
    return Finding(verdict, shown, miss, (), said, "log distance")


def _miss(name: str, found: float) -> float:
    if name == "distance":
        return max(0.0, found / limits.DISTANCE - 1)
    if name == "rank correlation":
        return max(0.0, limits.RANK - found) / limits.RANK
    return max(0.0, abs(log(found)) / log(limits.SLOPE) - 1) if found > 0 else 2.0


def _rank_correlation(curves: Array, published: Array) -> Array:
    """Spearman's correlation of each curve (row) with the published one; 0 for a level one."""
    ranks, theirs = _ranks(curves), _ranks(published)
    norms = np.sqrt((ranks**2).sum(axis=1) * (theirs**2).sum())
    found: Array = np.divide(ranks @ theirs, norms, out=np.zeros(len(curves)), where=norms > 0)
    return found


def _ranks(curves: Array) -> Array:
    """Ranks of the points of each curve, with their mean as 0; equal points share a rank."""
    # Importing scipy.stats would take a second.
    ranks: Array = np.sign(curves[..., :, None] - curves[..., None, :]).sum(axis=-1) / 2
    return ranks


def _tau(x: Array, y: Array) -> float:
    """Kendall's rank correlation (tau-b); 0 if all points are equal."""
    signs = [np.sign(one[:, None] - one[None, :]) for one in (x, y)]
    norm = np.sqrt((signs[0] ** 2).sum() * (signs[1] ** 2).sum())
    return float((signs[0] * signs[1]).sum() / norm) if norm else 0.0


def _slopes(x: Array, curves: Array) -> Array:
    """Theil and Sen's slope of each curve: the median over all pairs of points."""
    first, second = np.triu_indices(len(x), 1)
    return np.median((curves[:, second] - curves[:, first]) / (x[second] - x[first]), axis=1)


def _near(ratio: Array, factor: float) -> Truths:
    near: Truths = (ratio >= 1 / factor) & (ratio <= factor)
    return near


def _distance(curves: Array, published: Array, roundings: Array) -> Array:
    """Root mean square of ln(measured/published); for signed numbers, of relative differences.

    Differences are relative to the range of the curve. The distance is 0 within the rounding of a
    printed number.
    """
    nearest = np.clip(curves, published - roundings, published + roundings)
    if (published - roundings <= 0).any():
        apart = (curves - nearest) / (np.ptp(published) or 1.0)
    else:
        apart = np.log(np.maximum(curves, 1e-300) / nearest)
    found: Array = np.sqrt((apart**2).mean(axis=1))
    return found


def judge_trend(
    measured: Points, claimed: str, published: Mapping[str, Target], change: Target | None
) -> Finding:
    """Judges whether the measured curve rises, falls or is level.

    Args:
        measured: The measured curve.
        claimed: `rises`, `falls` or `level`.
        published: The paper's curve; may be empty.
        change: The paper's relative change from end to end, where it has no curve.
    """
    x = measured.x
    again = np.vstack([measured.means, measured.resampled()])
    changes = _changes(x, again)
    shown = estimated(changes[0], changes[1:], measured.n)
    ends = shown.bounds
    if claimed == "level":
        bounds = (-limits.LEVEL, limits.LEVEL)
        miss = max(0.0, abs(shown.mean) / limits.LEVEL - 1)
        verdict = by_interval(ends, Interval(*bounds))
        return Finding(verdict, shown, miss, bounds, unit="relative change")
    sign = 1.0 if claimed == "rises" else -1.0
    needed = limits.LEAST_EFFECT
    if published:
        axis = Points({point: [target.value] for point, target in published.items()})
        needed = limits.EFFECT * max(0.0, sign * float(_changes(axis.x, axis.means[None, :])[0]))
    elif change is not None:
        needed = limits.EFFECT * max(0.0, sign * change.value - change.rounding)
    least, most = sorted((sign * ends.low, sign * ends.high))
    tau = sign * _tau(x, measured.means)
    said = f"Kendall's tau {sign * tau:.2f}"
    miss = max(0.0, needed - sign * shown.mean) / (needed or 1.0)
    bound = (sign * needed,)
    if least > 0 and least >= needed and tau >= limits.MONOTONE - 1e-9:
        return Finding(Verdict.AGREES, shown, 0, bound, said, "relative change")
    verdict = Verdict.DIFFERS if most < needed or most <= 0 else Verdict.UNSETTLED
    return Finding(verdict, shown, miss, bound, said, "relative change")


def _changes(x: Array, curves: Array) -> Array:
    sizes = np.abs(curves).mean(axis=1)
    return _slopes(x, curves) * np.ptp(x) / np.where(sizes > 0, sizes, 1.0)


def judge_order(measured: Points, claimed: str) -> Finding:
    """Judges an order of cases such as `a > b, c > d`: each group is above the next.

    Raises:
        StudyError: A case is missing.
    """
    groups = [[name.strip() for name in group.split(",")] for group in claimed.split(">")]
    pairs = [pair for upper, lower in pairwise(groups) for pair in product(upper, lower)]
    unknown = {name for group in groups for name in group} - set(measured.runs)
    if unknown or not pairs:
        known = ", ".join(measured.runs)
        raise StudyError(f"rule 'order': {claimed!r}: write `A > B, C` with cases of {known}")
    found = [(pair, _ratio(measured, *pair)) for pair in pairs]
    weakest, shown = min(found, key=lambda it: it[1].mean)
    ends = [widened(it, it.bounds, len(pairs)) for _, it in found]
    said = f"weakest pair: {weakest[0]} over {weakest[1]}"
    if all(it.low > 1 for it in ends):
        return Finding(Verdict.AGREES, shown, 0, (1.0,), said, "times")
    miss = max(0.0, 1 - shown.mean) / limits.NUMBER
    reversed_ = any(it.high < 1 - limits.REVERSED for it in ends)
    verdict = Verdict.DIFFERS if reversed_ else Verdict.UNSETTLED
    if not reversed_ and all(it.interval is None for _, it in found):
        verdict = Verdict.DIFFERS
    return Finding(verdict, shown, miss, (1.0,), said, "times")


def _ratio(measured: Points, upper: str, lower: str) -> Estimate:
    """Ratio of two cases, from runs with the same draws.

    If a value is not positive, 1 plus the relative difference is used instead of the ratio.
    """
    above, below = measured.runs[upper], measured.runs[lower]
    if all(value is None or value > 0 for value in (*above, *below)):
        found = paired_ratio(above, below)
    else:
        difference = paired_difference(above, below)
        known = [abs(value) for value in (*above, *below) if value is not None]
        size = sum(known) / len(known) or 1.0
        found = difference and changed(difference, lambda value: 1 + value / size)
    return found or Estimate(0.0, 0, Interval(-inf, inf))
