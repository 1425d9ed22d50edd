"""Precision of the mean of a quantity at each point, and the number of runs still needed.

Each decision uses a number of runs that follows from earlier decisions, and does not depend on the
order in which runs are completed. A sweep thus makes the same runs on any machine, interrupted or
not.

After a decision, the number of runs is multiplied by the square of the ratio of the interval's
width to the requested one, but at least by 1.1 and at most by 2. (Sequential stopping: Chow &
Robbins 1965, Ann. Math. Statist. 36(2). The first decision is made after `replications` runs, since
an interval from few runs may be short by chance.)
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import TYPE_CHECKING

from retx import _native
from retx.errors import UsageError
from retx.errors.meant import choice, meant
from retx.errors.renamed import current
from retx.scenarios.names import flow_names, link_names, listed
from retx.sweeps.grid import Until

if TYPE_CHECKING:
    import polars as pl

GROWTH = 2.0
LEAST_GROWTH = 1.1
NAMES = {"flows": flow_names, "links": link_names}


@dataclass(frozen=True)
class Metric:
    """Quantity of a run: a column of one flow, of every flow, or of one direction of a link."""

    table: str
    column: str
    name: str | None = None
    direction: str | None = None

    @classmethod
    def read(cls, text: str) -> Metric:
        """Parses `COLUMN` (of every flow), `flow.NAME.COLUMN` or `link.NAME.DIRECTION.COLUMN`.

        Raises:
            UsageError: The column is unknown.
        """
        kind, _, rest = text.partition(".")
        if not rest:
            return cls("flows", _column("flows", text))
        name, _, column = rest.rpartition(".")
        if kind == "flow" and name:
            return cls("flows", _column("flows", column), name)
        link, _, direction = name.rpartition(".")
        if kind == "link" and link and direction in ("forward", "reverse"):
            return cls("links", _column("links", column), link, direction)
        raise UsageError(
            f"metric {text!r}: write a column of flows such as goodput_bit_s, flow.NAME.COLUMN or "
            "link.NAME.DIRECTION.COLUMN"
        )

    def check(self, scenarios: Iterable[_native.Scenario]) -> None:
        """Refuses names that no run will have.

        Args:
            scenarios: Scenarios of all points.

        Raises:
            UsageError: The name is unknown; the message lists the names.
        """
        if self.name is None:
            return
        kind = self.table.removesuffix("s")
        known = dict[str, None]()
        for scenario in scenarios:
            resolved = json.loads(scenario.to_json())
            known |= dict.fromkeys(NAMES[self.table](resolved))
            if self.name in known:
                return
        end = choice(self.name, known, listed(known))
        raise UsageError(f"metric: no {kind} {self.name!r} in any run{end}")

    def series(self, batch: _native.Batch) -> Iterable[tuple[int, int, str, float]]:
        """Point, replication, series and value of each row of the metric."""
        return batch.series(self.table, self.column, self.name, self.direction)

    def rows(self, table: pl.DataFrame) -> pl.DataFrame:
        """Rows of a table that belong to the metric."""
        import polars as pl

        if self.name is not None:
            table = table.filter(pl.col("name") == self.name)
        return table.filter(pl.col("direction") == self.direction) if self.direction else table


def _column(table: str, column: str) -> str:
    column = current(column)
    known = dict(_native.measures())[table]
    if column in known:
        return column
    hint = f"{meant(column, known)} (there is {', '.join(known)})"
    raise UsageError(f"metric: no column {column!r} in {table}{hint}")


@dataclass(frozen=True)
class KnownMean:
    """Estimate of the mean of one series."""

    name: str
    n: int
    mean: float
    half: float

    @property
    def relative(self) -> float:
        """Half-width of the interval relative to the mean; infinite without an estimate."""
        if self.half == 0:
            return 0.0
        return abs(self.half / self.mean) if self.mean and self.half == self.half else inf


class Precision:
    """Values of the metric by point, and the decisions that follow from them."""

    def __init__(self, metric: Metric, confidence: float) -> None:
        self.metric = metric
        self._confidence = confidence
        self._values: dict[int, dict[str, dict[int, float]]] = defaultdict(dict)

    def add(self, batch: _native.Batch) -> None:
        """Adds completed runs."""
        for point, replication, name, value in self.metric.series(batch):
            self._values[point].setdefault(name, {})[replication] = value

    def add_stored(self, table: pl.DataFrame, labels: Mapping[str, int]) -> None:
        """Adds runs from the store."""
        rows = self.metric.rows(table).select("key", "replication", "name", self.metric.column)
        for key, replication, name, value in rows.iter_rows():
            known = self._values[labels[key]].setdefault(name, {})
            known[replication] = float("nan") if value is None else value

    def known(self, point: int, count: int | None = None) -> list[KnownMean]:
        """Estimates of each series from the first `count` runs; from all by default."""
        return [
            self._known(name, list(values.values()) if count is None else _first(values, count))
            for name, values in sorted(self._values[point].items())
        ]

    def _known(self, name: str, values: Sequence[float]) -> KnownMean:
        from statistics import fmean, stdev

        from retx.analysis.intervals import half_width

        present = [value for value in values if value == value]
        if len(present) < 2:
            return KnownMean(name, len(present), present[0] if present else float("nan"), inf)
        half = half_width(stdev(present), len(present), self._confidence)
        return KnownMean(name, len(present), fmean(present), half)

    def wanted(self, point: int, count: int, until: Until) -> int:
        """Number of runs needed, given `count` runs; `count` itself if they are sufficient.

        Raises:
            UsageError: The metric names an unknown flow or link.
        """
        known = self.known(point, count)
        if not known:
            raise UsageError(f"metric {until.metric!r}: no run has a flow or link of that name")
        factor = max(one.relative for one in known) / until.relative_half_width
        if factor <= 1:
            return count
        growth = min(max(factor**2, LEAST_GROWTH), GROWTH)
        return min(max(ceil(count * growth), count + 1), until.max_replications)


def _first(values: Mapping[int, float], count: int) -> list[float]:
    return [values[replication] for replication in range(count) if replication in values]
