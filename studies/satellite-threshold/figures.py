"""The study's named values, tables and figures."""

from __future__ import annotations

from .calibration import calibration, held_out
from .drawings import figures
from .tables import tables
from .values import values

__all__ = ["calibration", "figures", "held_out", "tables", "values"]
