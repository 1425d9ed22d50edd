"""Choice of the flows of a figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from numbers import Real
from typing import Any

import polars as pl

from retx.errors import UsageError
from retx.errors.meant import choice

MOST_PANELS = 6
CHOOSE = "choose one by --flow NAME, in Python flow=…"


class PlotError(UsageError):
    """A figure cannot be drawn as requested; the message says what is possible."""


def chosen_flows(table: pl.DataFrame, flow: str | None) -> list[str]:
    """The named flow, or all flows, if there are few enough for a panel each.

    Raises:
        PlotError: The flow is unknown, there is no flow, or there are too many.
    """
    names = [str(name) for name in table["flow"].unique(maintain_order=True)]
    if not names:
        raise PlotError("there is nothing to plot: the table is empty")
    if flow is not None:
        if flow not in names:
            end = choice(flow, names, _listed(names))
            raise PlotError(f"no flow {flow!r} in the table{end}")
        return [flow]
    if len(names) > MOST_PANELS:
        raise PlotError(
            f"{len(names)} flows are too many for one figure: {CHOOSE}, one of {_listed(names)}"
        )
    return names


def one_flow(table: pl.DataFrame, flow: str | None) -> str:
    """The named flow, or the only one.

    Raises:
        PlotError: The flow is unknown, or there are several and none is named.
    """
    names = chosen_flows(table, flow)
    if len(names) > 1:
        raise PlotError(f"this figure shows one flow: {CHOOSE}: {_listed(names)}")
    return names[0]


def of_flow(table: pl.DataFrame, flow: str) -> pl.DataFrame:
    """Rows of one flow."""
    return table.filter(pl.col("flow") == flow)


def within(table: pl.DataFrame, column: str, span: tuple[float, float] | None) -> pl.DataFrame:
    """Rows whose time lies within the span; all rows without a span.

    Raises:
        PlotError: The span is not two times, the earlier one first.
    """
    check_times(span)
    return table if span is None else table.filter(pl.col(column).is_between(*span))


def check_times(span: Any) -> None:  # noqa: ANN401
    """Refuses a span that is not two times in seconds, the earlier one first.

    Raises:
        PlotError: The span is something else.
    """
    if span is None:
        return
    times = list(span) if isinstance(span, Iterable) else []
    are_numbers = all(isinstance(it, Real) and isfinite(it) for it in times)
    if len(times) != 2 or not are_numbers or not times[0] < times[1]:
        raise PlotError(
            f"span is {span!r}: write two times in seconds, the earlier one first, such as (0, 10)"
        )


def check_span(
    span: tuple[float, float] | None, tables: Sequence[pl.DataFrame], what: str = "sample"
) -> None:
    """Refuses a span in which no table has a row.

    Args:
        span: Start and end, in seconds of the run.
        tables: Rows of the tables within the span.
        what: Name of a row for the message.

    Raises:
        PlotError: All tables are empty.
    """
    if span is not None and all(table.is_empty() for table in tables):
        raise PlotError(
            f"there is no {what} from {span[0]:g} s to {span[1]:g} s: choose another time"
        )


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
