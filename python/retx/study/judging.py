"""Judges claims by the results of runs.

A paper's table may describe a single run by several numbers, of which some belong to the channel,
such as the longest burst of errors. Rows with `given` are compared only with runs whose numbers of
the channel agree with those of the paper.
"""

from __future__ import annotations

from collections.abc import Collection

from retx.study.claims import Claim, Row, Rows
from retx.study.data import Target
from retx.study.estimates import Estimate, estimate
from retx.study.measured import Measured
from retx.study.measures import Found
from retx.study.places import Place
from retx.study.rules import judge
from retx.study.thresholds import NUMBER
from retx.study.verdicts import Finding


def measured_value(measured: Measured, claim: Claim) -> Found:
    """Value that a claim is judged by: a named value, or that of the runs of a row's case."""
    if isinstance(claim, Row):
        return row_estimate(measured, claim.rows, claim.case)
    return measured.value(claim.measured) if claim.measured else None


def findings(
    measured: Measured, wanted: Collection[str], needed: Collection[str]
) -> dict[str, Finding]:
    """Verdicts on some claims, by their id.

    Args:
        measured: Results of the runs.
        wanted: Ids of the claims.
        needed: Ids of those that differ if they have no measured value; others are omitted then.
    """
    found: dict[str, Finding] = {}
    for it in measured.study.claims:
        if it.id in wanted:
            value = measured_value(measured, it)
            if isinstance(it, Row) or it.id in needed or value is not None:
                found[it.id] = judge(measured.study.criterion(it), value)
    return found


def row_estimate(measured: Measured, rows: Rows, case: str) -> Estimate | None:
    """Mean and intervals of a row: of all runs, or with `given` of those like the paper's run."""
    experiment = measured.study.experiments[rows.experiment]
    values = Place(measured, rows.experiment, case).values(rows.quantity)
    kept = [value for value, same in zip(values, alike(measured, rows, case), strict=True) if same]
    return estimate(kept, least=0.0, ranked=experiment.ranked)


def alike(measured: Measured, rows: Rows, case: str) -> list[bool]:
    """For each run of a case, whether all numbers of `given` are those of the paper's run.

    A number is the paper's if it is within the 25 % that also apply to means, after rounding.
    """
    study, place = measured.study, Place(measured, rows.experiment, case)
    conditions = [
        (place.values(other.quantity), target)
        for other in study.rows
        if other.id in rows.given
        and (target := study.published.series[other.published].targets.get(case))
    ]
    count = len(place.values(rows.quantity))
    return [
        all(_near(values[run], target) for values, target in conditions) for run in range(count)
    ]


def _near(value: float | None, target: Target) -> bool:
    if value is None:
        return False
    apart = abs(value - target.value) - target.rounding
    return apart <= NUMBER * abs(target.value)
