"""The study's named values, tables, figures and quantities."""

from __future__ import annotations

from retx.study import Measured

from .drawings import figures
from .explained import reasons
from .quantities import quantities
from .tables import tables
from .values import Named, calibration, held_out
from .values import values as numbers

__all__ = ["calibration", "figures", "held_out", "quantities", "tables", "values"]


def values(measured: Measured) -> Named:
    """Everything that texts and claims name."""
    return numbers(measured) | reasons(measured)
