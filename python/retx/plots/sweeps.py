"""Plots of sweeps and replications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from retx.analysis.groups import needed
from retx.errors.checks import name_list
from retx.errors.meant import choice
from retx.plots.flows import PlotError
from retx.plots.labels import Label
from retx.plots.style import Ax, Figure
from retx.scenarios.names import listed

if TYPE_CHECKING:
    from retx.scenarios.source import Scenario

BETWEEN = 40
"""Number of points at which the curve of a closed form is calculated."""


class SweepPlot:
    """`sweep.plot`. Each method returns a matplotlib figure; `figure.save("x.pdf")` writes it.

    Metrics are columns of the tidy frame, which has one row per point, replication and flow. If
    there are several flows, `flow` selects one.
    """

    def __init__(
        self, table: pl.DataFrame, keys: Sequence[str] = (), scenario: Scenario | None = None
    ) -> None:
        """Creates the plots of a tidy frame.

        Args:
            table: One column per key, `replication`, `name` (of the flow), and the metrics.
            keys: Keys of the grid, whose values define the points.
            scenario: Scenario of the sweep, for which closed forms are calculated.
        """
        self._table = table
        self._keys = list(keys)
        self._scenario = scenario
        self._resolved: dict[str, Any] | None = None

    def metric(
        self,
        x: str,
        y: str,
        *,
        by: str | None = None,
        flow: str | None = None,
        confidence: float = 0.95,
        models: str | Sequence[str] = (),
        ax: Ax = None,
    ) -> Figure:
        """Mean of `y` with intervals against the parameter `x`; `by` makes a family of curves.

        Args:
            x: A key of the grid.
            y: A metric.
            by: Another key, or `name` for a curve per flow.
            flow: Name of the flow; all flows by default.
            confidence: Level of the intervals.
            models: Closed forms to draw, such as `pftk` and `mathis` (`retx.models.calculate`),
                calculated for the scenario with only `x` changed.
            ax: Axes to draw into, instead of a new figure.

        Raises:
            PlotError: A closed form does not have this metric.
            TableError: A key other than `x` and `by` varies.
        """
        from retx.plots.metric import metric

        table = self._of_flow(flow)
        return metric(
            table,
            x,
            y,
            by=by,
            confidence=confidence,
            models=self._models(x, y, models, flow),
            labels=self._labels([x]),
            ax=ax,
        )

    def heat_map(self, x: str, y: str, z: str, *, flow: str | None = None, ax: Ax = None) -> Figure:
        """Mean of `z` over two parameters, as coloured cells."""
        from retx.plots.surface import heat_map

        return heat_map(self._of_flow(flow), x, y, z, labels=self._labels([x, y]), ax=ax)

    def contour(self, x: str, y: str, z: str, *, flow: str | None = None, ax: Ax = None) -> Figure:
        """Mean of `z` over two parameters, as contour lines."""
        from retx.plots.surface import contour

        return contour(self._of_flow(flow), x, y, z, labels=self._labels([x, y]), ax=ax)

    def cdf(
        self, quantity: str, *, by: str | None = None, flow: str | None = None, ax: Ax = None
    ) -> Figure:
        """Cumulative distribution of a metric over the runs."""
        from retx.plots.distribution import distribution_function

        return distribution_function(self._of_flow(flow), quantity, by=by, ax=ax)

    def paired(
        self,
        key: str,
        values: tuple[object, object],
        quantity: str,
        *,
        x: str | None = None,
        flow: str | None = None,
        ax: Ax = None,
    ) -> Figure:
        """Differences between runs with the same draws: first value of `key` minus second value."""
        from retx.plots.paired import paired

        table, shown = self._of_flow(flow), self._labels([x or key])
        return paired(table, key, values, quantity, x=x, labels=shown, ax=ax)

    def _labels(self, keys: Sequence[str]) -> dict[str, Label]:
        """Axis labels for keys; if the scenario is known, with the descriptions of its models."""
        from retx.plots.keys import labels
        from retx.scenarios.parsed import resolve

        if self._scenario is None:
            return labels(keys)
        if self._resolved is None:
            self._resolved = resolve(self._scenario)
        return labels(keys, self._resolved)

    def _of_flow(self, flow: str | None) -> pl.DataFrame:
        if flow is None:
            return self._table
        needed(self._table, ["name"])
        own = self._table.filter(pl.col("name").cast(pl.String) == flow)
        if own.is_empty():
            names = list(map(str, self._table["name"].unique(maintain_order=True)))
            raise PlotError(f"no flow {flow!r} in the table{choice(flow, names, listed(names))}")
        return own

    def _models(
        self, x: str, y: str, models: str | Sequence[str], flow: str | None
    ) -> Mapping[str, pl.DataFrame] | None:
        if not models:
            return None
        models = name_list(models)
        if self._scenario is None:
            raise PlotError("closed forms need the scenario of the sweep, which is not known here")
        needed(self._table, [x])
        points = _points(self._table[x].drop_nulls())
        parts = [self._calculated(x, value, y, models, flow) for value in points]
        found = pl.concat(parts)
        return {name: found.filter(pl.col("model") == name).drop("model") for name in models}

    def _calculated(
        self,
        x: str,
        value: object,
        y: str,
        models: Sequence[str],
        flow: str | None,
    ) -> pl.DataFrame:
        from retx.models.calculation import calculate

        assert self._scenario is not None
        table = calculate(self._scenario, models, overrides={x: value})
        if y not in ("goodput_bit_s", "response_time_s"):
            raise PlotError(f"closed forms give goodput_bit_s and response_time_s, not {y}")
        first = flow or table["flow"][0]
        own = table.filter(pl.col("flow") == first)
        return own.select("model", pl.lit(value).alias("x"), pl.col(y).alias("y"))


def _points(values: pl.Series) -> list[object]:
    """Values for which closed forms are calculated: the given values, and some in between."""
    unique = values.unique(maintain_order=True)
    if not unique.dtype.is_float():
        return list(unique)
    known = np.sort(unique.to_numpy())
    positive = known[known > 0]
    if len(positive) > 1:
        between = np.geomspace(positive[0], positive[-1], BETWEEN)
        # Rounded values must not lie outside the range.
        known = np.unique([*known, *np.clip(between, positive[0], positive[-1])])
    return [float(value) for value in known]
