"""Trials of a tuning against the varied values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from retx.plots.flows import PlotError
from retx.plots.keys import label_of
from retx.plots.labels import axis
from retx.plots.metric import HEIGHT_INCHES, WIDE_RANGE
from retx.plots.style import (
    BLUE,
    MAP,
    ORANGE,
    RED,
    WIDTH_INCHES,
    Ax,
    Figure,
    given,
    one_panel,
    shared_legend,
    styled,
)

COLUMNS = 2
PANEL_INCHES = 2.4


def over_each(
    trials: pl.DataFrame, keys: Mapping[str, str], objective: str, *, ax: Ax = None
) -> Figure:
    """One panel per key with one dot per trial; early trials are paler.

    Args:
        trials: The `trials` of a tuning.
        keys: Varied keys, each with its unit, or "".
        objective: Column of the objective.
        ax: Axes to draw into, one for each key, instead of a new figure.

    Raises:
        PlotError: No trial has a value.
    """
    known = _known(trials, objective)
    scale, label = _axis(objective, known[objective])
    rows = -(-len(keys) // COLUMNS)
    with styled():
        figure, panels = _grid_of(rows, len(keys), ax)
        for axes, (key, unit) in zip(panels.flat, keys.items(), strict=False):
            dots = axes.scatter(
                _places(axes, known[key], "x"),
                known[objective] / scale,
                c=known["trial"],
                cmap="Blues",
                vmin=-0.3 * trials.height,
                edgecolors="0.3",
                linewidths=0.4,
                s=20,
            )
            axes.set_xlabel(_labelled(key, unit))
        for axes in panels[:, 0]:
            axes.set_ylabel(label)
        for axes in panels.flat[len(keys) :]:
            axes.set_visible(False)
        bar = figure.colorbar(dots, ax=panels, label="trial")
        bar.ax.set_ylim(0, trials.height - 1 or 1)
    figure.data |= {"trials": trials}
    return figure


def _grid_of(rows: int, count: int, ax: Ax) -> tuple[Figure, Any]:
    """Panels side by side, in rows that share their vertical axis."""
    if ax is not None:
        figure, axes = given(ax, count)
        return figure, np.array([axes], dtype=object)
    figure = Figure(figsize=(WIDTH_INCHES, 0.6 + PANEL_INCHES * rows), layout="constrained")
    return figure, figure.subplots(rows, min(COLUMNS, count), squeeze=False, sharey=True)


def over_two(
    trials: pl.DataFrame,
    x: str,
    y: str,
    objective: str,
    units: Mapping[str, str],
    *,
    ax: Ax = None,
) -> Figure:
    """One dot per trial over two keys, coloured by the objective.

    Args:
        trials: The `trials` of a tuning.
        x: Key of the horizontal axis.
        y: Key of the vertical axis.
        objective: Column of the objective.
        units: Units of the keys, or "".
        ax: Axes to draw into, instead of a new figure.

    Raises:
        PlotError: No trial has a value.
    """
    known = _known(trials, objective)
    scale, label = _axis(objective, known[objective])
    with styled():
        figure, axes = one_panel(4.2, ax)
        dots = axes.scatter(
            _places(axes, known[x], "x"),
            _places(axes, known[y], "y"),
            c=known[objective] / scale,
            cmap=MAP,
            edgecolors="0.3",
            linewidths=0.4,
            s=36,
        )
        axes.set_xlabel(_labelled(x, units[x]))
        axes.set_ylabel(_labelled(y, units[y]))
        figure.colorbar(dots, ax=axes, label=label)
    figure.data |= {"trials": trials}
    return figure


def front(
    trials: pl.DataFrame, best: pl.DataFrame, first: str, second: str, *, ax: Ax = None
) -> Figure:
    """Two objectives against each other.

    Args:
        trials: The `trials` of a tuning.
        best: Pareto-optimal trials.
        first: Objective of the horizontal axis.
        second: Objective of the vertical axis.
        ax: Axes to draw into, instead of a new figure.

    Raises:
        PlotError: No trial has a value.
    """
    known = _known(trials, first)
    (right, right_label), (up, up_label) = (_axis(name, known[name]) for name in (first, second))
    with styled():
        figure, axes = one_panel(HEIGHT_INCHES, ax)
        axes.scatter(
            known[first] / right, known[second] / up, s=16, color=BLUE, alpha=0.5, label="trial"
        )
        axes.plot(
            best[first] / right,
            best[second] / up,
            "D",
            color=ORANGE,
            mec=RED,
            ms=6,
            label="beaten by none",
        )
        axes.set_xlabel(right_label)
        axes.set_ylabel(up_label)
        shared_legend(figure, [axes], ax)
    figure.data |= {"trials": trials, "best": best}
    return figure


def _axis(objective: str, values: pl.Series) -> tuple[float, str]:
    """Divisor for values, and the label, which names the flow for `download.response_time_s`."""
    flow, _, column = objective.rpartition(".")
    scale, label = axis(
        {"goodput": "goodput_bit_s", "delay": "delay_s"}.get(column, column), values
    )
    return scale, f"{flow}: {label}" if flow else label


def _labelled(key: str, unit: str) -> str:
    return label_of(key).text(unit)


def _known(trials: pl.DataFrame, objective: str) -> pl.DataFrame:
    known = trials.drop_nulls(objective)
    if known.is_empty():
        raise PlotError(f"no trial has a value of {objective}: there is nothing to plot")
    return known


def _places(axes: Any, values: pl.Series, which: str) -> Any:  # noqa: ANN401
    """Coordinates of values on an axis, which gets a logarithmic scale for a wide range.

    Names are equidistant, and become the labels of ticks.
    """
    if not values.dtype.is_numeric():
        names = values.unique(maintain_order=True).sort().to_list()
        getattr(axes, f"set_{which}ticks")(range(len(names)), names)
        return np.array([names.index(value) for value in values], dtype=float)
    array = values.cast(pl.Float64).to_numpy()
    if array.min() > 0 and array.max() >= WIDE_RANGE * array.min():
        getattr(axes, f"set_{which}scale")("log")
    return array
