"""Jain's index of fairness.

*Equation.* J = (Σx)² / (n·Σx²): 1 if all flows have equal shares, 1/n if one flow has everything.

*Reference.* Jain, Chiu & Hawe 1984, DEC-TR-301.
"""

from __future__ import annotations

import numpy as np

from retx.models.arguments import Given, Numbers, not_negative


def jain(shares: Given, axis: int = -1) -> Numbers:
    """Jain's index of shares along an axis; NaN if all shares are 0.

    Args:
        shares: Shares, such as goodputs, in any unit.
        axis: Axis of the competitors.
    """
    shares = np.atleast_1d(not_negative("shares", shares))
    with np.errstate(invalid="ignore"):
        index: Numbers = shares.sum(axis) ** 2 / (shares.shape[axis] * (shares**2).sum(axis))
    return index
