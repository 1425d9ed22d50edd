"""The study's functions."""

from __future__ import annotations

from .drawings import figures
from .tables import tables
from .values import held_out, values

__all__ = ["figures", "held_out", "tables", "values"]
