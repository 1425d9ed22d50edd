"""Cumulative distributions."""

from __future__ import annotations

import polars as pl

from retx.analysis.groups import UNFINISHED, distribution
from retx.plots.flows import PlotError
from retx.plots.labels import axis
from retx.plots.metric import HEIGHT_INCHES, MOST_CURVES, curve_label
from retx.plots.style import (
    COLOURS,
    LINES,
    Ax,
    Figure,
    one_panel,
    shared_legend,
    styled,
)


def distribution_function(
    table: pl.DataFrame, quantity: str, *, by: str | None = None, ax: Ax = None
) -> Figure:
    """Cumulative distribution function: share of rows with at most each value.

    Args:
        table: Any table: flows of replications, a sweep's tidy frame, segments, samples.
        quantity: Column of numbers. Missing values are left out, except the times of flows that had
            not ended; with those, a curve stays below 1.
        by: Column that defines a family of curves.
        ax: Axes to draw into, instead of a new figure.

    Raises:
        PlotError: Too many curves, or no value.
        TableError: A column is missing.
    """
    found = distribution(table, quantity, [] if by is None else [by])
    if found.is_empty():
        raise PlotError(f"{quantity} has no value in any row")
    # The same order as in `metric`, so that a name has the same colour in both plots.
    named = table if quantity in UNFINISHED else found
    names = [None] if by is None else named[by].unique().sort(nulls_last=True).to_list()
    if len(names) > MOST_CURVES:
        raise PlotError(f"{len(names)} values of {by} are too many curves: filter the table first")
    scale, label = axis(quantity, found[quantity])
    first, last = (float(it) / scale for it in found[quantity].sort()[[0, -1]])
    with styled():
        figure, axes = one_panel(HEIGHT_INCHES, ax)
        for number, name in enumerate(names):
            curve = found if by is None else found.filter(pl.col(by).eq_missing(pl.lit(name)))
            values, shares = [*(curve[quantity] / scale)], [0.0, *curve["share"]]
            values = [values[0] if values else first, *values]
            if shares[-1] < 1:  # flows that had not ended
                values, shares = [*values, last], [*shares, shares[-1]]
            axes.step(
                values,
                shares,
                where="post",
                color=COLOURS[number % len(COLOURS)],
                ls=LINES[number % len(LINES)],
                label=None if by is None else curve_label(by, name),
            )
        axes.set_ylim(0, 1.01)
        axes.set_xlabel(label)
        axes.set_ylabel("share of runs at or below" if "replication" in table.columns else "share")
        if by is not None:
            shared_legend(figure, [axes], ax)
    figure.data |= {"distribution": found}
    return figure
