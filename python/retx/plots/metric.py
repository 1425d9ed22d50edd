"""A metric against a parameter: means with intervals, one curve or a family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from typing import Any

import numpy as np
import polars as pl

from retx.analysis.groups import means
from retx.plots.flows import PlotError
from retx.plots.keys import label_of
from retx.plots.labels import Label, axis, in_one_unit
from retx.plots.style import (
    Ax,
    Figure,
    label_decades,
    one_panel,
    series_look,
    shared_legend,
    styled,
)
from retx.scenarios.varied import value_name

MOST_CURVES = 12
HEADROOM = 1.3
"""Factor by which a closed form may at most enlarge the vertical range of the data."""
WIDE_RANGE = 10.0
"""The axis of a parameter is logarithmic above this ratio of its largest to its smallest value."""
HEIGHT_INCHES = 3.4
SPREAD = 0.07
"""Horizontal offset between curves on an axis of names, as a fraction of the distance of two
names."""
MODEL_GREYS = ("0.25", "0.5")
MODEL_DASHES = ("-", (0, (6, 2)), (0, (2, 2)), (0, (6, 2, 1, 2)), (0, (1, 1)), (0, (9, 3)))


def metric(
    table: pl.DataFrame,
    x: str,
    y: str,
    *,
    by: str | None = None,
    confidence: float = 0.95,
    models: Mapping[str, pl.DataFrame] | None = None,
    labels: Mapping[str, Label] | None = None,
    ax: Ax = None,
) -> Figure:
    """Means over replications, with confidence intervals.

    A numeric parameter that spans a decade gets a logarithmic axis, with zero at its left end if
    zero occurs; names are equidistant.

    Args:
        table: One row per point and replication, as a sweep's tidy frame.
        x: Column of the parameter.
        y: Column of the metric.
        by: Column that defines a family of curves.
        confidence: Level of the intervals (Student's t).
        models: Closed forms to draw: by name a table with the columns `x` and `y`, in order of `x`.
        labels: Labels of keys for the axes; by default from the schema.
        ax: Axes to draw into, instead of a new figure.

    Raises:
        PlotError: Too many curves.
        TableError: A column is missing, or a replication has several rows at a point.
    """
    keys = [x] if by is None else [by, x]
    found = means(table, keys, y, confidence).sort(keys, maintain_order=True, nulls_last=True)
    names = [None] if by is None else found[by].unique(maintain_order=True).to_list()
    if len(names) > MOST_CURVES:
        raise PlotError(f"{len(names)} values of {by} are too many curves: filter the table first")
    places = Places(table[x])
    scale, label = axis(y, found["mean"])
    with styled():
        figure, axes = one_panel(HEIGHT_INCHES, ax)
        for number, name in enumerate(names):
            curve = found if by is None else found.filter(pl.col(by).eq_missing(pl.lit(name)))
            if places.numbers:
                curve = curve[np.argsort(places.of(curve[x]))]
            beside = SPREAD * (number - (len(names) - 1) / 2)
            curve_name = "simulated" if by is None else curve_label(by, name)
            look = series_look(number) | {"beside": beside, "label": curve_name}
            _curve(axes, places, curve, x, scale, look)
        least, top = axes.get_ylim()
        highest = HEADROOM * top
        for number, (name, form) in enumerate((models or {}).items()):
            # The data determine the vertical range. The curve of a closed form may leave this
            # range, for example towards infinity.
            top = max(top, min(1.04 * _model(axes, places, form, scale, number, name), highest))
        places.frame(axes, label_of(x, labels))
        axes.set_ylabel(label)
        negative = found.select((pl.min_horizontal("mean", "low") < 0).any()).item()
        axes.set_ylim(least if negative else 0.0, top)
        if by is not None or models:
            shared_legend(figure, [axes], ax)
    figure.data |= {"means": found} | {
        f"model-{name}": form for name, form in (models or {}).items()
    }
    return figure


class Places:
    """Coordinates of a parameter's values on the axis: numbers, or equidistant names.

    Args:
        values: Values of the parameter.
        named: Treat quantities such as `20 ms` as names, too.
    """

    def __init__(self, values: pl.Series, *, named: bool = False) -> None:
        self.names: pl.Series | None = None
        self.numbers, self.unit = dict[str, float](), ""
        known: list[float] = []
        if values.dtype.is_numeric():
            known = sorted(values.drop_nulls().unique().to_list())
        elif not named and (found := in_one_unit(values)):
            self.numbers, self.unit = found
            known = sorted(self.numbers.values())
        else:
            self.names = values.unique(maintain_order=True)
        positive = [value for value in known if value > 0]
        self.least, self.most = min(positive, default=1.0), max(positive, default=1.0)
        self.log = bool(positive) and known[0] >= 0 and self.most >= WIDE_RANGE * self.least
        self.zero = self.log and known[0] == 0

    def of(self, values: pl.Series) -> Any:  # noqa: ANN401
        """Coordinates of these values."""
        if self.names is not None:
            order = self.names.to_list()
            return np.array([order.index(value) for value in values.to_list()], dtype=float)
        if self.numbers:
            return np.array([self.numbers[str(value)] for value in values.to_list()])
        return values.cast(pl.Float64).to_numpy()

    def frame(self, axes: Any, label: Label) -> None:  # noqa: ANN401
        """Sets scale, ticks and label of the axis."""
        if self.names is not None:
            axes.set_xticks(range(len(self.names)), short_names(self.names.to_list()))
            axes.set_xlim(-0.5, len(self.names) - 0.5)
        elif self.zero:
            # The scale is linear from zero to half of the smallest value, and logarithmic above.
            axes.set_xscale("symlog", linthresh=self.least / 2, linscale=0.3)
            axes.set_xlim(left=-self.least / 10)
            decades = range(ceil(log10(self.least) - 1e-9), floor(log10(self.most) + 1e-9) + 1)
            axes.set_xticks([0.0, *(10.0**power for power in decades)])
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        elif self.log:
            axes.set_xscale("log")
            if self.unit:
                label_decades(axes.xaxis)
        axes.set_xlabel(label.text(self.unit))


def short_names(values: Sequence[object]) -> list[str]:
    """Values as names: numbers have three digits, or six if three do not distinguish them."""
    for digits in (3, 6):
        names = [f"{it:.{digits}g}" if isinstance(it, float) else value_name(it) for it in values]
        if len(set(names)) == len(set(values)):
            return names
    return [str(value) for value in values]


def curve_label(key: str, value: object) -> str:
    """Legend text for a value of a key: a number is preceded by the key's name."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{key.rsplit('.', 1)[-1]} = {value:g}"
    return value_name(value)


def _curve(
    axes: Any,  # noqa: ANN401
    places: Places,
    curve: pl.DataFrame,
    x: str,
    scale: float,
    look: dict[str, Any],
) -> None:
    beside = look.pop("beside")
    if places.names is not None:
        # Lines between names would suggest values between them.
        look["ls"] = "none"
    middle = curve["mean"].cast(pl.Float64).fill_null(float("nan")).to_numpy() / scale
    low = (curve["mean"] - curve["low"]).fill_null(0.0).to_numpy() / scale
    high = (curve["high"] - curve["mean"]).fill_null(0.0).to_numpy() / scale
    axes.errorbar(
        places.of(curve[x]) + (beside if places.names is not None else 0.0),
        middle,
        yerr=[low, high],
        capsize=2.5,
        ms=4.5,
        elinewidth=1.0,
        **look,
    )


def _model(
    axes: Any,  # noqa: ANN401
    places: Places,
    form: pl.DataFrame,
    scale: float,
    number: int,
    label: str,
) -> float:
    """Draws a closed form; returns its highest value."""
    values = form["y"].cast(pl.Float64).fill_null(float("nan")).to_numpy() / scale
    values = np.where(np.isfinite(values), values, np.nan)
    look = {"color": MODEL_GREYS[number % len(MODEL_GREYS)], "lw": 1.1, "zorder": 1.8}
    if places.names is None:
        dash = MODEL_DASHES[number % len(MODEL_DASHES)]
        right = places.of(form["x"])
        order = np.argsort(right, kind="stable")
        axes.plot(right[order], values[order], ls=dash, label=label, **look)
    else:
        mark = ("_", "|", "+", "x")[number % 4]
        axes.plot(places.of(form["x"]), values, mark, ms=9, mew=1.4, label=label, **look)
    return float(np.nanmax(values)) if np.isfinite(values).any() else 0.0
