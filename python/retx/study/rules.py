"""Rules that judge a claim.

- `number`: a published number. A single run of the paper (`published_is = "run"`) differs if it is
  outside the range of 95 % of our single runs. Inside the range it agrees if our mean is also
  within 25 % of the number; otherwise single runs vary too much for a verdict. For a mean, or
  without randomness, our interval must be within the tolerance.
- `at_least`, `at_most`: our interval is on the claimed side of a bound.
- `direction`: above or below a neutral value, by at least a quarter of the published effect.
- `order`, `trend`, `curve`: see `retx.study.curves`.
- `arithmetic`: the paper's number is recomputed from other numbers of the paper.
- `undecidable`: the paper does not state the necessary information.

Every rule takes the rounding of a printed number into account; a bound that is written in
claims.toml is set by the study, and is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal

from retx.study import thresholds as limits
from retx.study.curves import judge_curve, judge_order, judge_trend
from retx.study.data import StudyError, Target
from retx.study.estimates import Estimate, Interval
from retx.study.points import Points
from retx.study.verdicts import Finding, Verdict, by_interval

Rule = Literal[
    "number", "at_least", "at_most", "direction", "order", "trend", "curve", "arithmetic",
    "undecidable", "single_run", "within", "undecided",
]  # fmt: skip
"""The last three are former names."""
FORMER: Mapping[Rule, tuple[Rule, Literal["run", "mean"]]] = {
    "single_run": ("number", "run"),
    "within": ("number", "mean"),
    "undecided": ("undecidable", "run"),
}
"""Former names of rules, with the current names and the kind of the published number."""
OF_POINTS = ("order", "trend", "curve")
"""Rules for values at several points."""


@dataclass(frozen=True)
class Criterion:
    """Rule with its parameters."""

    rule: Rule
    target: Target | None = None
    curve: Mapping[str, Target] = field(default_factory=dict)
    """Published numbers by point."""
    published_is: str = "run"
    tolerance: float = 0.0
    scale: float = 0.0
    """Relative limits refer to the published number, or to this value if it is larger."""
    claimed: str = ""


def judge(criterion: Criterion, measured: Estimate | Points | None) -> Finding:
    """The verdict on one claim.

    Args:
        criterion: The rule, and the statement of the paper.
        measured: Measured value; None if no run has it.

    Raises:
        StudyError: The value is not of the kind that the rule needs.
    """
    rule = criterion.rule
    if rule == "undecidable":
        return Finding(Verdict.UNDECIDED, measured if isinstance(measured, Estimate) else None)
    if measured is None:
        return Finding(Verdict.DIFFERS, None, 1.0, said="no run has such a value")
    if rule in OF_POINTS:
        if not isinstance(measured, Points):
            raise StudyError(f"rule {rule!r} needs values at several points (retx.study.Points)")
        if rule == "curve":
            return judge_curve(measured, criterion.curve)
        if rule == "trend":
            return judge_trend(measured, criterion.claimed, criterion.curve, criterion.target)
        return judge_order(measured, criterion.claimed)
    if isinstance(measured, Points):
        raise StudyError(f"rule {rule!r} needs one value, not values at several points")
    if rule == "direction":
        return _direction(criterion, measured)
    if criterion.target is None:
        return Finding(Verdict.DIFFERS, measured, 1.0, said="nothing is published")
    if rule == "number":
        return _number(criterion, criterion.target, measured)
    if rule == "arithmetic":
        reach = criterion.tolerance + criterion.target.rounding
        close = abs(measured.mean - criterion.target.value) <= reach
        return Finding(Verdict.AGREES if close else Verdict.CONTRADICTS, measured)
    return _bound(criterion.target, measured, above=rule == "at_least")


def _number(criterion: Criterion, target: Target, measured: Estimate) -> Finding:
    slack = limits.NUMBER * max(abs(target.value), criterion.scale)
    short = max(0.0, abs(measured.mean - target.value) - target.rounding)
    if measured.single is None or criterion.published_is == "mean":
        # A tolerance set by the study cannot be wider than the general one.
        allowed = min(criterion.tolerance, slack) + target.rounding
        ends = (target.value - allowed, target.value + allowed)
        miss = max(0.0, abs(measured.mean - target.value) / allowed - 1) if allowed else short
        return Finding(by_interval(measured.bounds, Interval(*ends)), measured, miss, ends)
    miss = max(0.0, short / slack - 1) if slack else short
    printed = Interval(target.value - target.rounding, target.value + target.rounding)
    single = measured.single
    if single.high < printed.low or single.low > printed.high:
        return Finding(Verdict.DIFFERS, measured, max(miss, 0.1))
    if short <= slack:
        return Finding(Verdict.AGREES, measured)
    said = (
        f"one run in twenty may lie anywhere from {single.low:.4g} to {single.high:.4g}, so one "
        f"published run does not tell; our mean is more than {100 * limits.NUMBER:.0f} % away"
    )
    near = Interval(printed.low - slack, printed.high + slack)
    if by_interval(measured.bounds, near) is Verdict.DIFFERS:
        said += ", and more runs would not change that"
    return Finding(Verdict.UNSETTLED, measured, miss, said=said)


def _bound(target: Target, measured: Estimate, *, above: bool) -> Finding:
    bound = target.value - target.rounding if above else target.value + target.rounding
    miss = max(0.0, (bound - measured.mean) if above else (measured.mean - bound))
    miss /= limits.NUMBER * max(abs(bound), 1e-12) if bound else 1.0
    within = Interval(bound, inf) if above else Interval(-inf, bound)
    return Finding(by_interval(measured.bounds, within), measured, miss, (bound,))


def _direction(criterion: Criterion, measured: Estimate) -> Finding:
    word, _, number = criterion.claimed.partition(" ")
    neutral, sign = float(number), 1.0 if word == "above" else -1.0
    if criterion.target is None:
        needed = limits.LEAST_EFFECT * max(abs(neutral), criterion.scale)
    else:
        printed = sign * (criterion.target.value - neutral) - criterion.target.rounding
        needed = limits.EFFECT * max(0.0, printed)
    ends = measured.bounds
    least, most = sorted((sign * (ends.low - neutral), sign * (ends.high - neutral)))
    effect = sign * (measured.mean - neutral)
    bounds = (neutral, neutral + sign * needed)
    miss = max(0.0, needed - effect) / (needed or 1.0)
    if least > 0 and effect >= needed:
        return Finding(Verdict.AGREES, measured, bounds=bounds)
    if most < needed:
        said = "the effect is settled, and smaller than the least that counts" if least > 0 else ""
        return Finding(Verdict.DIFFERS, measured, miss, bounds, said)
    return Finding(Verdict.UNSETTLED, measured, miss, bounds)
