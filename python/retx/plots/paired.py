"""Differences of runs that share their draws."""

from __future__ import annotations

import numpy as np
import polars as pl

from retx.analysis.groups import means
from retx.analysis.pairs import pairs
from retx.plots.labels import axis
from retx.plots.metric import HEIGHT_INCHES, Places
from retx.plots.style import BLUE, GREY, ORANGE, WIDTH_INCHES, Figure, shared_legend, styled

SPREAD = 0.16
"""How far dots lie beside their place, in places."""


def paired(
    table: pl.DataFrame,
    key: str,
    values: tuple[object, object],
    quantity: str,
    *,
    x: str | None = None,
    confidence: float = 0.95,
) -> Figure:
    """Each replication's difference as a dot, and their mean with its interval.

    Args:
        table: One row per point and replication, as a sweep's tidy frame.
        key: The column whose values are compared, such as `flow.download.tcp`.
        values: The two; what is shown is the first less the second.
        quantity: Column of the metric.
        x: Column of a parameter, whose values stand side by side.
        confidence: Level of the intervals (Student's t).

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
    places = Places(shown[column].cast(pl.String), named=True)
    with styled():
        figure = Figure(figsize=(WIDTH_INCHES, HEIGHT_INCHES), layout="constrained")
        axes = figure.subplots()
        axes.axhline(0, color=GREY, lw=1.0)
        # Side by side in the order of the replications, so that the same draw stands alike.
        order = shown["replication"].to_numpy().astype(float)
        beside = SPREAD * (2 * (order - order.min()) / max(np.ptp(order), 1) - 1)
        axes.plot(
            places.of(shown[column].cast(pl.String)) + beside,
            shown["difference"].to_numpy() / scale,
            ".",
            ms=4,
            color=BLUE,
            alpha=0.6,
            label="one pair",
        )
        half = (found["high"] - found["mean"]).fill_null(0.0).to_numpy() / scale
        axes.errorbar(
            places.of(found[column].cast(pl.String)) + 2 * SPREAD,
            found["mean"].to_numpy() / scale,
            yerr=half,
            fmt="D",
            ms=5,
            capsize=3,
            color=ORANGE,
            label=f"mean, {100 * confidence:g} % interval",
        )
        places.frame(axes, column)
        axes.set_ylabel(f"{name}:\n{values[0]} less {values[1]}")
        shared_legend(figure, [axes])
    figure.data = {"pairs": each, "means": found}
    return figure
