"""Effect of chance on the many verdicts of a report.

Of k true claims that are each tested at the level 5 %, 0.05 k fail by chance. Bonferroni's
correction tests each at 5 % / k instead: then all true claims hold simultaneously with a
probability of at least 95 %, whatever their dependence.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from retx.study.estimates import CONFIDENCE, widened
from retx.study.verdicts import Judged, Verdict

LEVEL = 1 - CONFIDENCE


def chance_of(everything: Iterable[Judged]) -> dict[str, Any]:
    """Number of verdicts that depend on chance, and the effect of a correction for their number.

    Keys for published numbers that are compared with the range of single runs: `single_runs` (how
    many), `differ` (how many of them differ), `differ_by_chance` (how many would if all were true),
    and `differ_corrected` (ids of those outside the ranges that hold for all simultaneously).

    Keys for means that are compared with a bound: `bounds` (how many), `unsettled` (ids of those
    whose interval contains the bound), and `unsettled_corrected`.
    """
    lines = [
        (line, line.measured)
        for line in everything
        if line.measured and line.published is not None and not line.shown
    ]
    runs = [
        line
        for line, found in lines
        if line.claim.rule == "number" and not line.finding.bounds and found.single
    ]
    bounds = [line for line, found in lines if line.finding.bounds and found.interval]
    return {
        "single_runs": len(runs),
        "differ": _ids(line for line in runs if line.verdict is Verdict.DIFFERS),
        "differ_by_chance": round(LEVEL * len(runs), 2),
        "differ_corrected": _ids(line for line in runs if _differs(line, len(runs))),
        "bounds": len(bounds),
        "unsettled": _ids(line for line in bounds if line.verdict is Verdict.UNSETTLED),
        "unsettled_corrected": _ids(line for line in bounds if _unsettled(line, len(bounds))),
    }


def _ids(lines: Iterable[Judged]) -> list[str]:
    return [line.id for line in lines]


def _differs(line: Judged, tests: int) -> bool:
    """True if the number is outside the range of single runs that holds for all tests."""
    found, published = line.measured, line.published
    assert found is not None
    assert published is not None
    assert found.single is not None
    if line.verdict is not Verdict.DIFFERS:
        return False
    return not widened(found, found.single, tests).holds(published)


def _unsettled(line: Judged, tests: int) -> bool:
    """True if the confidence interval that holds for all tests contains a bound."""
    assert line.measured is not None
    assert line.measured.interval is not None
    wide = widened(line.measured, line.measured.interval, tests)
    return any(wide.low < bound < wide.high for bound in line.finding.bounds)
