"""Values of calibrating and of held-out claims."""

from __future__ import annotations

from retx.study import Estimates, Measured

from .values import IDLE_MAX, KINDS, policies


def calibration(measured: Measured) -> Estimates:
    """The longest silence of test 2, a fact; the search uses only rows of table I."""
    silences = measured.values("table_1", "2", IDLE_MAX)
    return {"longest_silence_2": max(it for it in silences if it is not None)}


def held_out(measured: Measured) -> Estimates:
    """Values of claims on the proposal, with the channel of the base."""
    return policies(measured, {"waiting": KINDS["waiting"]})
