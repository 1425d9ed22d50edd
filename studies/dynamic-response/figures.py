"""The study's named values, tables and figures."""

from __future__ import annotations

from collections.abc import Iterator

from retx.plots import style
from retx.study import Figure, Measured, Table

from .curves import curves
from .mixed import mixed_values
from .network import network_values
from .pairs import Named
from .paper import paper_values
from .pictures import pictures
from .quantities import quantities as quantities
from .searched import landscapes, search_table, search_values
from .single import single_values
from .switches import switch_values
from .tables import all_tables


def values(measured: Measured) -> Named:
    """Everything that claims and texts name."""
    found: Named = {}
    for part in (
        single_values, mixed_values, network_values, switch_values, paper_values, search_values,
    ):  # fmt: skip
        own = part(measured)
        assert not found.keys() & own.keys(), found.keys() & own.keys()
        found |= own
    return found


def tables(measured: Measured) -> list[Table]:
    """Tables in no order: the text places them."""
    return [*all_tables(measured), search_table(measured, search_values(measured))]


def figures(measured: Measured) -> Iterator[Figure]:
    """Figures in no order: the text places them."""
    with style.styled():
        yield from pictures(measured)
        yield from curves(measured)
        yield from landscapes(measured)
