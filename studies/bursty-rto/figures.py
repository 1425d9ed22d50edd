"""The study's functions."""

from __future__ import annotations

from .drawings import figures
from .quantities import quantities
from .tables import tables
from .values import calibration, held_out, values

__all__ = ["calibration", "figures", "held_out", "quantities", "tables", "values"]
