"""Differences between runs with the same random draws."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from retx.analysis.groups import means
from retx.analysis.pairs import pairs
from retx.plots.keys import label_of
from retx.plots.labels import Label, axis
from retx.plots.metric import HEIGHT_INCHES, Places, short_names
from retx.plots.style import BLUE, GREY, ORANGE, Ax, Figure, one_panel, shared_legend, styled

SPREAD = 0.16
"""Horizontal offset of dots, as a fraction of the distance of two values."""


def paired(
    table: pl.DataFrame,
    key: str,
    values: tuple[object, object],
    quantity: str,
    *,
    x: str | None = None,
    confidence: float = 0.95,
    labels: Mapping[str, Label] | None = None,
    ax: Ax = None,
) -> Figure:
    """Each replication's difference as a dot, and their mean with its interval.

    Args:
        table: One row per point and replication, as a sweep's tidy frame.
        key: The column whose values are compared, such as `flow.download.tcp`.
        values: The two values; the figure shows first − second.
        quantity: Column of the metric.
        x: Column of a parameter; its values are drawn at equal distances.
        confidence: Level of the intervals (Student's t).
        labels: Labels of keys for the axes; by default from the schema.
        ax: Axes to draw into, instead of a new figure.

    Raises:
        TableError: A column or a value is missing, or a replication has several rows at a point.
    """
    keys = [] if x is None else [x]
    each = pairs(table, key, values, quantity, keys)
    label = " and ".join(str(value) for value in values)
    shown = each.with_columns(pl.lit(label).alias(key)) if x is None else each
    column = x or key
    found = means(shown, [column], "difference", confidence)
    scale, name = axis(quantity, each["difference"])
    places = Places(_short(shown[column]), named=True)
    with styled():
        figure, axes = one_panel(HEIGHT_INCHES, ax)
        axes.axhline(0, color=GREY, lw=1.0)
        # Dots are in the order of the replications, so that a replication has the same offset at
        # each value.
        order = shown["replication"].to_numpy().astype(float)
        beside = SPREAD * (2 * (order - order.min()) / max(np.ptp(order), 1) - 1)
        axes.plot(
            places.of(_short(shown[column])) + beside,
            shown["difference"].to_numpy() / scale,
            ".",
            ms=4,
            color=BLUE,
            alpha=0.6,
            label="one pair",
        )
        half = (found["high"] - found["mean"]).fill_null(0.0).to_numpy() / scale
        axes.errorbar(
            places.of(_short(found[column])) + 2 * SPREAD,
            found["mean"].to_numpy() / scale,
            yerr=half,
            fmt="D",
            ms=5,
            capsize=3,
            color=ORANGE,
            label=f"mean, {100 * confidence:g} % interval",
        )
        places.frame(axes, label_of(column, labels))
        axes.set_ylabel(f"{name}:\n{values[0]} less {values[1]}")
        shared_legend(figure, [axes], ax)
    figure.data |= {"pairs": each, "means": found}
    return figure


def _short(values: pl.Series) -> pl.Series:
    """Names of values."""
    if not values.dtype.is_float():
        names: pl.Series = values.cast(pl.String)
        return names
    there = values.unique(maintain_order=True).to_list()
    known = dict(zip(there, short_names(there), strict=True))
    return pl.Series(values.name, [known[it] for it in values], dtype=pl.String)
