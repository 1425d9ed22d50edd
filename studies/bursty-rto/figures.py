"""The study's named values, tables, figures and quantities."""

from __future__ import annotations

from retx.study import Estimates, Measured

from .calibration import calibration, held_out
from .drawings import figures
from .quantities import quantities
from .switches import switch_values
from .tables import tables
from .values import values as numbers

__all__ = ["calibration", "figures", "held_out", "quantities", "tables", "values"]


def values(measured: Measured) -> Estimates:
    """Everything that texts and claims name."""
    return numbers(measured) | switch_values(measured)
