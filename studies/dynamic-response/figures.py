"""The study's named values, tables and figures."""

from __future__ import annotations

from collections.abc import Iterator

from retx.plots import style
from retx.study import Figure, Measured, Table

from .calibration import calibration as calibration
from .calibration import held_out as held_out
from .drawings import drawings
from .front import figure as front_figure
from .front import table as front_table
from .goodput_drawings import comparisons
from .quantities import quantities as quantities
from .searched import landscapes, search_table
from .tables import tables as own_tables
from .time_drawings import pictures
from .values import values as values


def tables(measured: Measured) -> list[Table]:
    """Tables in no order: the text places them."""
    return [*own_tables(measured), search_table(measured), front_table(measured)]


def figures(measured: Measured) -> Iterator[Figure]:
    """Figures in no order: the text places them."""
    with style.styled():
        yield from pictures(measured)
        yield from drawings(measured)
        yield from comparisons(measured)
        yield from landscapes(measured)
        yield front_figure(measured)
