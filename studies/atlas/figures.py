"""Named values, tables and figures of the atlas."""

from __future__ import annotations

from .drawings import figures
from .tables import tables
from .values import values

__all__ = ["figures", "tables", "values"]
