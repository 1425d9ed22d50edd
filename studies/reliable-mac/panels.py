"""Small multiples: one panel per algorithm, with a common colour scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import polars as pl
from matplotlib.colors import Normalize

from retx.analysis.groups import means
from retx.plots import style

WIDTH_INCHES = 5.2
MOST_NUMBERED = 40
"""Maximum number of cells of a panel for which values are written into them."""


@dataclass(frozen=True)
class Axis:
    """A column with the label and ticks of its axis."""

    column: str
    label: str
    percent: bool = False

    def tick(self, value: float) -> str:
        """A value in short."""
        return f"{100 * value:g}" if self.percent else f"{value:g}"


def surfaces(
    flows: Mapping[str, pl.DataFrame],
    axes: tuple[Axis, Axis],
    height: tuple[str, str],
    columns: int,
) -> style.Figure:
    """A heat map for each table.

    Args:
        flows: By what is written above the panel: rows of points and replications.
        axes: To the right and upwards.
        height: The column that colours show, and what is written at their scale.
        columns: Panels side by side.
    """
    matrices = {name: _matrix(table, axes, height[0]) for name, table in flows.items()}
    top = max(float(np.nanmax(values)) for _, _, values in matrices.values())
    rows = ceil(len(matrices) / columns)
    panel = WIDTH_INCHES / columns
    figure = style.Figure(figsize=(WIDTH_INCHES, 0.75 * panel * rows + 0.5), layout="constrained")
    panels = np.atleast_1d(figure.subplots(rows, columns, sharex=True, sharey=True)).ravel()
    drawn: Any = None
    for place, (name, (right, up, values)) in zip(panels, matrices.items(), strict=False):
        drawn = place.pcolormesh(
            values, cmap=style.MAP, norm=Normalize(0.0, top), edgecolors="white", linewidth=0.3
        )
        place.set_title(name, fontsize=8 if columns <= 2 else 6.5)
        place.grid(visible=False)
        place.set_xticks(np.arange(len(right)) + 0.5, [axes[0].tick(value) for value in right])
        place.set_yticks(np.arange(len(up)) + 0.5, [axes[1].tick(value) for value in up])
        place.tick_params(labelsize=6.5, length=2)
        if values.size <= MOST_NUMBERED:
            _write(place, values, top, 6.0 if columns <= 2 else 5.0)
    for place in panels[len(matrices) :]:
        place.set_visible(False)
    figure.supxlabel(axes[0].label, fontsize=9)
    figure.supylabel(axes[1].label, fontsize=9)
    figure.colorbar(drawn, ax=list(panels), label=height[1], shrink=0.6, aspect=30, pad=0.01)
    return figure


def reliefs(
    flows: Mapping[str, pl.DataFrame],
    axes: tuple[Axis, Axis],
    height: tuple[str, str],
    columns: int,
) -> style.Figure:
    """A surface for each table, as the paper draws them; points of the grid evenly spaced.

    Args:
        flows: By what is written above the panel: rows of points and replications.
        axes: Of the base.
        height: The column that is the height, and what is written at it.
        columns: Panels side by side.
    """
    matrices = {name: _matrix(table, axes, height[0]) for name, table in flows.items()}
    top = max(float(np.nanmax(values)) for _, _, values in matrices.values())
    rows = ceil(len(matrices) / columns)
    figure = style.Figure(figsize=(1.3 * WIDTH_INCHES, 2.7 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, subplot_kw={"projection": "3d"}).ravel()
    for place, (name, (right, up, values)) in zip(panels, matrices.items(), strict=False):
        across, deep = np.meshgrid(np.arange(len(right)), np.arange(len(up)))
        place.plot_surface(
            across,
            deep,
            values,
            cmap=style.MAP,
            norm=Normalize(0.0, top),
            edgecolor="white",
            lw=0.3,
        )
        place.set_title(name, fontsize=8, pad=0)
        place.set_xticks(np.arange(len(right)), [axes[0].tick(value) for value in right])
        place.set_yticks(np.arange(len(up)), [axes[1].tick(value) for value in up])
        place.set_zlim(0, top)
        place.set_xlabel(axes[0].label, fontsize=7)
        place.set_ylabel(axes[1].label, fontsize=7)
        place.set_zlabel(height[1], fontsize=7)
        place.tick_params(labelsize=6, pad=0)
        place.view_init(elev=28, azim=40)
        place.set_box_aspect(None, zoom=0.85)
    return figure


def _matrix(
    table: pl.DataFrame, axes: tuple[Axis, Axis], column: str
) -> tuple[Sequence[float], Sequence[float], Any]:
    found = means(table, [axes[0].column, axes[1].column], column)
    right, up = (found[axis.column].unique().sort().to_list() for axis in axes)
    values = np.full((len(up), len(right)), np.nan)
    for x, y, mean in found.select(axes[0].column, axes[1].column, "mean").iter_rows():
        values[up.index(y), right.index(x)] = np.nan if mean is None else mean
    return right, up, values


def _write(place: Any, values: Any, top: float, size: float) -> None:  # noqa: ANN401
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            place.text(
                column + 0.5,
                row + 0.5,
                f"{value:.2f}" if top < 10 else f"{value:.0f}",
                ha="center",
                va="center",
                color="black" if value > top / 2 else "white",
                fontsize=size,
            )
