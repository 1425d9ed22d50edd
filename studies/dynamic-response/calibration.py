"""Values of calibrating and of held-out claims."""

from __future__ import annotations

from retx.study import Measured, Named

from .values import (
    COUNT,
    LOST,
    PRINTED,
    RIVALS,
    backoff,
    chain,
    dumbbell,
    gain,
    goodputs,
    limits,
    mixes,
    parameters,
    recoveries,
    sharing,
)


def calibration(measured: Measured) -> Named:
    """Values of the calibrating claims: Reno and the proposal, at the points of each figure."""
    cases = ("reno", "dynamic")
    found = recoveries(measured, "table_2", "", cases) | goodputs(measured, cases)
    found["dynamic_gain"] = gain(measured, "gain", "dynamic", PRINTED)
    found |= mixes(measured, ("dynamic",), ("1_9", "8_2"))
    return found | dumbbell(measured, others=False)


def held_out(measured: Measured) -> Named:
    """Values of claims on figures 1d, 3, 6, 8, 12 and 14 and on table 3."""
    judged = ("reno", "dynamic")
    return (
        {"idle_1": measured.estimate("loss", "reno", "idle_max", at={COUNT: LOST[1]})}
        | limits(measured, ("faults",))
        | parameters(measured, ("dynamic",))
        | backoff(measured, judged)
        | chain(measured, RIVALS, ())
        | sharing(measured, judged)
    )
