"""Verdicts on claims, from the measurements.

- `single_run`: the paper's number is one run. It agrees when it lies where 95 % of our single runs
  fall; without chance, when it is within the tolerance.
- `within`: the measured mean is within the tolerance of the published number.
- `at_least`, `at_most`: the mean is on the right side of the bound.
- `arithmetic`: the paper's number is computed again from numbers of the same paper.
- `undecided`: the text does not say what would be needed.

Where the confidence interval reaches across such a bound, more runs might turn the verdict: `doubt`
says so, and how many it would take.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import ceil

from retx.study.estimates import Estimate, Interval
from retx.study.library import Claim, Rows


class Verdict(Enum):
    """Verdict on a claim."""

    AGREES = "agrees"
    DIFFERS = "differs"
    CONTRADICTS = "the paper contradicts itself"
    UNDECIDED = "cannot be decided from the text"


@dataclass(frozen=True)
class Doubt:
    """The interval reaches across the bound: the verdict is that of the mean, and not settled."""

    bound: float
    runs: int | None
    """With about so many the interval would end at the bound, if the mean stays; None when it is
    the bound itself."""


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict."""

    id: str
    statement: str
    source: str
    how: str
    verdict: Verdict
    published: float | None
    measured: Estimate | None
    unit: str = ""
    why: str = ""
    because: str = ""
    switched: tuple[str, ...] = ()
    """Labels of the runs that `because` rests on."""
    remark: str = ""
    rule: str = "single_run"
    command: str = ""
    case: str = ""
    """Label of the row, for a row of a table."""
    bounds: tuple[float, ...] = ()
    """Bounds that the mean is compared with."""
    doubt: Doubt | None = None


def judge_row(rows: Rows, published: float, measured: Estimate | None) -> Verdict:
    """The verdict on one row of a table."""
    if measured is None:
        return Verdict.DIFFERS
    if measured.single is None:
        return _agrees(abs(published - measured.mean) <= rows.tolerance)
    return _agrees(measured.single.holds(published))


def judge(claim: Claim, target: float | None, measured: Estimate | None) -> Verdict:
    """The verdict on one claim.

    Args:
        claim: What is claimed, and the rule to judge it by.
        target: The paper's number, or the bound.
        measured: Ours; None when no run has it.
    """
    if claim.rule == "undecided":
        return Verdict.UNDECIDED
    if measured is None or target is None:
        return Verdict.DIFFERS
    if claim.rule == "arithmetic":
        close = abs(measured.mean - target) <= claim.tolerance
        return Verdict.AGREES if close else Verdict.CONTRADICTS
    if claim.rule == "single_run":
        allowed = measured.single or Interval(
            measured.mean - claim.tolerance, measured.mean + claim.tolerance
        )
        return _agrees(allowed.holds(target))
    mean = measured.mean
    if claim.rule == "within":
        return _agrees(abs(mean - target) <= claim.tolerance)
    return _agrees(mean >= target if claim.rule == "at_least" else mean <= target)


def bounds_of(claim: Claim, target: float | None) -> tuple[float, ...]:
    """Bounds that decide a claim about a mean: one, two, or none."""
    if target is None or claim.rule not in ("within", "at_least", "at_most"):
        return ()
    if claim.rule == "within":
        return (target - claim.tolerance, target + claim.tolerance)
    return (target,)


def doubt(bounds: tuple[float, ...], measured: Estimate | None) -> Doubt | None:
    """Whether the interval reaches across the bound that decides."""
    if measured is None or measured.interval is None:
        return None
    inside = [bound for bound in bounds if _across(measured.interval, bound)]
    if not inside:
        return None
    bound = min(inside, key=lambda bound: abs(bound - measured.mean))
    distance = abs(measured.mean - bound)
    ends = measured.interval
    side = measured.mean - ends.low if bound < measured.mean else ends.high - measured.mean
    # The interval shrinks with the root of the number of runs.
    return Doubt(bound, ceil(measured.n * (side / distance) ** 2) if distance > 0 else None)


def _across(interval: Interval, bound: float) -> bool:
    return interval.low < bound < interval.high


def _agrees(holds: bool) -> Verdict:
    return Verdict.AGREES if holds else Verdict.DIFFERS
