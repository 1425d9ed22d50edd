"""Effect of chance on the many verdicts of a report.

Of k true claims that are each tested at the level 5 %, 0.05 k fail by chance. Bonferroni's
correction tests each at 5 % / k instead: then all true claims hold simultaneously with a
probability of at least 95 %, whatever their dependence.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from retx.study.estimates import CONFIDENCE, widened
from retx.study.verdicts import Judged, Verdict, across

LEVEL = 1 - CONFIDENCE


def chance_of(everything: Iterable[Judged]) -> dict[str, Any]:
    """Number of verdicts that depend on chance, and the effect of a correction for their number.

    Keys for published numbers that are compared with the range of single runs: `single_runs` (how
    many), `differ` (how many of them differ), `differ_by_chance` (how many would if all were true),
    and `differ_corrected` (ids of those outside the ranges that hold for all simultaneously).

    Keys for means that are compared with a bound: `bounds` (how many), `unsettled` (ids of those
    whose interval contains the bound), and `unsettled_corrected`.
    """
    runs, bounds = [], []
    for line in everything:
        found, published = line.measured, line.published
        if found is None or published is None or line.shown:
            continue
        if line.claim.rule == "number" and not line.finding.bounds and found.single:
            runs.append((line, published, found, found.single))
        if line.finding.bounds and found.interval:
            bounds.append((line, found, found.interval))
    differing = [it for it in runs if it[0].verdict is Verdict.DIFFERS]
    return {
        "single_runs": len(runs),
        "differ": [line.id for line, *_ in differing],
        "differ_by_chance": round(LEVEL * len(runs), 2),
        "differ_corrected": [
            line.id
            for line, published, found, single in differing
            if not widened(found, single, len(runs)).holds(published)
        ],
        "bounds": len(bounds),
        "unsettled": [line.id for line, *_ in bounds if line.verdict is Verdict.UNSETTLED],
        "unsettled_corrected": [
            line.id
            for line, found, interval in bounds
            if any(across(widened(found, interval, len(bounds)), it) for it in line.finding.bounds)
        ],
    }
