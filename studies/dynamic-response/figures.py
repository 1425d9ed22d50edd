"""The study's functions."""

from __future__ import annotations

from collections.abc import Iterator

from retx.plots import style
from retx.study import Figure, Measured, Table

from . import front, searched
from .drawings import drawings
from .quantities import quantities
from .values import held_out, values

__all__ = ["figures", "held_out", "quantities", "tables", "values"]


def figures(measured: Measured) -> Iterator[Figure]:
    """Figures in no order: the text places them."""
    with style.styled():
        yield from drawings(measured)
        yield from searched.landscapes(measured)
        yield front.figure(measured)


def tables(measured: Measured) -> Iterator[Table]:
    """Tables in no order: the text places them."""
    yield searched.table(measured)
    yield front.table(measured)
