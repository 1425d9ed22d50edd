"""The study's named values, tables, figures and quantities."""

from __future__ import annotations

from .calibration import calibration, held_out
from .drawings import figures
from .quantities import quantities
from .tables import tables
from .values import values

__all__ = ["calibration", "figures", "held_out", "quantities", "tables", "values"]
