"""From a claim and what was measured to a verdict.

- `single_run`: the paper's number is one run. It agrees when it lies where 95 % of our single runs
  fall; without chance, when it is within the tolerance.
- `within`: the measured number, its confidence interval included, is within the tolerance of the
  published one. If the interval only overlaps, nothing is decided against the claim.
- `at_least`, `at_most`: the same with one bound.
- `arithmetic`: the paper's number is computed again from numbers of the same paper.
- `undecided`: the text does not say what would be needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from retx.study.estimates import Estimate, Interval
from retx.study.library import Claim, Rows


class Verdict(Enum):
    """What becomes of a claim."""

    AGREES = "agrees"
    DIFFERS = "differs"
    CONTRADICTS = "the paper contradicts itself"
    UNDECIDED = "cannot be decided from the text"


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
    remark: str = ""
    rule: str = "single_run"
    command: str = ""
    case: str = ""
    """For a row of a table: its label."""


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
    bounds = measured.bounds
    if claim.rule == "arithmetic":
        close = abs(measured.mean - target) <= claim.tolerance
        return Verdict.AGREES if close else Verdict.CONTRADICTS
    if claim.rule == "single_run":
        allowed = measured.single or Interval(
            measured.mean - claim.tolerance, measured.mean + claim.tolerance
        )
        return _agrees(allowed.holds(target))
    if claim.rule == "within":
        near = Interval(target - claim.tolerance, target + claim.tolerance)
        return _agrees(bounds.low <= near.high and near.low <= bounds.high)
    if claim.rule == "at_least":
        return _agrees(bounds.high >= target)
    return _agrees(bounds.low <= target)


def _agrees(holds: bool) -> Verdict:
    return Verdict.AGREES if holds else Verdict.DIFFERS
