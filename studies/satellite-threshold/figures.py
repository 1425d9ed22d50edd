"""The study's functions."""

from __future__ import annotations

from .drawings import figures
from .tables import tables
from .values import values

__all__ = ["figures", "tables", "values"]
