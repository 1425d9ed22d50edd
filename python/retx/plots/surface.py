"""A metric over two parameters: as coloured cells, or as contour lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.path import Path
from matplotlib.patheffects import withStroke

from retx.analysis.groups import means, needed
from retx.plots.flows import PlotError
from retx.plots.keys import label_of
from retx.plots.labels import Label, axis
from retx.plots.metric import Places, short_names
from retx.plots.style import MAP, Ax, Figure, label_decades, one_panel, styled
from retx.plots.ticks import LINE_LABEL

MOST_NUMBERED = 120
"""Values are written into the cells only if there are at most this many cells."""
LEVELS = 10
HEIGHT_INCHES = 4.2
LUMINANCE, BRIGHT = (0.299, 0.587, 0.114), 0.6
"""Weights of red, green and blue in the luminance, and the luminance above which text is black."""


def heat_map(
    table: pl.DataFrame,
    x: str,
    y: str,
    z: str,
    *,
    labels: Mapping[str, Label] | None = None,
    ax: Ax = None,
) -> Figure:
    """One cell per pair of values, coloured by the mean of `z` over the replications.

    Args:
        table: One row per point and replication, as a sweep's tidy frame.
        x: Column of the horizontal parameter.
        y: Column of the vertical parameter.
        z: Column of the metric.
        labels: Labels of keys for the axes; by default from the schema.
        ax: Axes to draw into, instead of a new figure.

    Raises:
        TableError: A column is missing, or a replication has several rows at a point.
    """
    found, columns, rows, values = _grid(table, x, y, z)
    scale, label = axis(z, found["mean"])
    with styled():
        figure, axes = one_panel(HEIGHT_INCHES, ax)
        cells = axes.pcolormesh(values / scale, cmap=MAP, edgecolors="white", linewidth=0.5)
        axes.set_xticks(np.arange(len(columns)) + 0.5, short_names(columns))
        axes.set_yticks(np.arange(len(rows)) + 0.5, short_names(rows))
        axes.grid(visible=False)
        axes.set_xlabel(label_of(x, labels).text())
        axes.set_ylabel(label_of(y, labels).text())
        figure.colorbar(cells, ax=axes, label=label)
        if values.size <= MOST_NUMBERED:
            _write_values(axes, values / scale)
    figure.data |= {"means": found}
    return figure


def contour(
    table: pl.DataFrame,
    x: str,
    y: str,
    z: str,
    *,
    labels: Mapping[str, Label] | None = None,
    ax: Ax = None,
) -> Figure:
    """Contour lines of the mean of `z` over two numeric parameters.

    Args:
        table: One row per point and replication, as a sweep's tidy frame.
        x: Column of the horizontal parameter.
        y: Column of the vertical parameter.
        z: Column of the metric.
        labels: Labels of keys for the axes; by default from the schema.
        ax: Axes to draw into, instead of a new figure.

    Raises:
        PlotError: A parameter is not numeric, or has fewer than two values.
        TableError: A column is missing, or a replication has several rows at a point.
    """
    needed(table, [x, y])
    places = {name: Places(table[name]) for name in (x, y)}
    for name, place in places.items():
        if place.names is not None:
            raise PlotError(f"{name} holds no numbers: draw a heat map")
    found, columns, rows, values = _grid(table, x, y, z)
    right, up = (places[name].of(pl.Series(it)) for name, it in ((x, columns), (y, rows)))
    values = values[np.ix_(np.argsort(up), np.argsort(right))]
    right, up = np.sort(right), np.sort(up)
    if min(values.shape) < 2:
        raise PlotError("lines of equal height need at least two values of each parameter")
    scale, label = axis(z, found["mean"])
    with styled():
        figure, axes = one_panel(HEIGHT_INCHES, ax)
        areas = axes.contourf(right, up, values / scale, levels=LEVELS, cmap=MAP)
        lines = axes.contour(
            right, up, values / scale, levels=areas.levels, colors="white", linewidths=0.7
        )
        axes.plot(*np.meshgrid(right, up), "k.", ms=1.5)
        places[x].frame(axes, label_of(x, labels))
        axes.set_xlim(right[0], right[-1])
        upwards = places[y]
        if upwards.zero:
            axes.set_yscale("symlog", linthresh=upwards.least / 2, linscale=0.3)
        elif upwards.log:
            axes.set_yscale("log")
            if upwards.unit:
                label_decades(axes.yaxis)
        axes.set_ylabel(label_of(y, labels).text(upwards.unit))
        figure.colorbar(areas, ax=axes, label=label)
        _label_lines(axes, lines, areas)
    figure.data |= {"means": found}
    return figure


def _label_lines(axes: Any, lines: Any, areas: Any) -> None:  # noqa: ANN401
    """Writes the value of each line onto the line, if there is enough space."""
    _add_middles(axes, lines)
    behind = areas.cmap(areas.norm(lines.levels))
    bright = behind[:, :3] @ LUMINANCE > BRIGHT
    # The text gets an outline in the background colour instead of a gap in the line, because a gap
    # would not move when the width of the figure changes.
    texts = axes.clabel(
        lines,
        fontsize=7,
        fmt="%g",
        inline=False,
        use_clabeltext=True,
        colors=["black" if it else "white" for it in bright],
    )
    for text in texts:
        colour = behind[np.argmin(np.abs(lines.levels - float(text.get_text())))]
        text.set_path_effects([withStroke(linewidth=2.5, foreground=colour)])
        text.set_label(LINE_LABEL)


def _add_middles(axes: Any, lines: Any) -> None:  # noqa: ANN401
    """Adds a vertex in the middle of each line that has no vertices other than its ends.

    Values are written at vertices. In a grid of two columns or rows the only vertices of a line
    may be its ends at the frame of the axes, where there is no space for the value.
    """
    shown, kept = axes.transData, axes.transData.inverted()
    paths = []
    for pieces in lines.allsegs:
        parts = []
        for piece in pieces:
            if len(piece) == 2:
                # The middle of the line as drawn, also on logarithmic axes.
                middle = kept.transform(shown.transform(piece).mean(axis=0))
                piece = np.insert(piece, 1, middle, axis=0)
            parts.append(Path(piece))
        paths.append(Path.make_compound_path(*parts))
    lines.set_paths(paths)


def _grid(
    table: pl.DataFrame, x: str, y: str, z: str
) -> tuple[pl.DataFrame, list[Any], list[Any], Any]:
    """Table of means; values of x; values of y; matrix of means, NaN where a point has none."""
    found = means(table, [x, y], z)
    columns, rows = (_ordered(found[name]) for name in (x, y))
    values = np.full((len(rows), len(columns)), np.nan)
    for right, up, mean in found.select(x, y, "mean").iter_rows():
        values[rows.index(up), columns.index(right)] = np.nan if mean is None else mean
    return found, columns, rows, values


def _ordered(values: pl.Series) -> list[Any]:
    unique = values.unique(maintain_order=True)
    return (unique.sort() if unique.dtype.is_numeric() else unique).to_list()


def _write_values(axes: Any, values: Any) -> None:  # noqa: ANN401
    middle = (np.nanmin(values) + np.nanmax(values)) / 2
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            colour = "black" if value > middle else "white"
            axes.text(
                column + 0.5,
                row + 0.5,
                f"{value:.3g}",
                ha="center",
                va="center",
                color=colour,
                fontsize=7,
            )
