"""Results of a sweep."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retx.errors import UsageError
from retx.errors.meant import choice
from retx.results.result import NotRecordedError
from retx.sweeps.derive import DERIVED
from retx.sweeps.plan import TABLES, Plan

if TYPE_CHECKING:
    import polars as pl

    from retx.plots.sweeps import SweepPlot

SUMMARIES = ("flows", "links", "wlans", "stations", "relays")

Reader = Callable[[str], "pl.DataFrame | None"]


class Sweep:
    """Tables of all runs: a column for each key of the grid, `replication`, then those of `Result`.

    Columns of keys have their names in the scenario, such as `link.cloud.forward.channel.p`.
    """

    def __init__(self, plan: Plan, read: Reader) -> None:
        self._plan = plan
        self._read = read

    @cached_property
    def grid(self) -> pl.DataFrame:
        """One row per point, with its values."""
        return self._plan.rows().drop("point", "key")

    @property
    def points(self) -> pl.DataFrame:
        """Table like `grid`, with the number of each point and the key of its stored runs.

        Columns: `point`, the keys of the grid, `key`.
        """
        return self._plan.rows()

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys that vary."""
        return self._plan.grid.keys

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row per run: `events`, `simulated_s`."""
        return self._table("runs")

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per run and flow."""
        return self._table("flows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per run, link and direction."""
        return self._table("links")

    @cached_property
    def wlans(self) -> pl.DataFrame:
        """One row per run and wlan."""
        return self._table("wlans")

    @cached_property
    def stations(self) -> pl.DataFrame:
        """One row per run and station of a wlan."""
        return self._table("stations")

    @cached_property
    def relays(self) -> pl.DataFrame:
        """One row per run and relay."""
        return self._table("relays")

    @cached_property
    def samples(self) -> pl.DataFrame:
        """Samples of all runs; see `Result.samples`. Kept with `tables=["samples"]`."""
        return self._table("samples")

    @cached_property
    def link_samples(self) -> pl.DataFrame:
        """Samples of all links; see `Result.link_samples`. Kept with `tables=["samples"]`."""
        return self._table("link_samples")

    @cached_property
    def segments(self) -> pl.DataFrame:
        """Segments of all runs; see `Result.segments`. Kept with `tables=["segments"]`."""
        return self._table("segments")

    @cached_property
    def acks(self) -> pl.DataFrame:
        """ACKs of all runs; see `Result.acks`. Kept with `tables=["segments"]`."""
        return self._table("acks")

    @cached_property
    def drops(self) -> pl.DataFrame:
        """Drops of all runs; see `Result.drops`. Kept with `tables=["drops"]`."""
        return self._table("drops")

    @cached_property
    def episodes(self) -> pl.DataFrame:
        """Episodes of all runs; see `Result.episodes`. Kept with `tables=["episodes"]`."""
        return self._table("episodes")

    @cached_property
    def exchanges(self) -> pl.DataFrame:
        """Exchanges of all runs; see `Result.exchanges`. Kept with `tables=["episodes"]`."""
        return self._table("exchanges")

    @cached_property
    def limits(self) -> pl.DataFrame:
        """Limits of all runs over time; see `Result.limits`. Kept with `tables=["samples"]`."""
        return self._table("limits")

    @cached_property
    def derived(self) -> pl.DataFrame:
        """One row per run with the results of `derive`, one column for each name."""
        if not self._plan.derived:
            raise NotRecordedError("nothing was derived: sweep with derive=FUNCTION")
        long = self._table(DERIVED)
        wide: pl.DataFrame = long.pivot(
            "quantity", index=[*self.keys, "replication"], values="value"
        )
        return wide

    def summary(
        self,
        metric: str = "goodput_bit_s",
        *,
        statistic: str | float = "mean",
        confidence: float = 0.95,
    ) -> pl.DataFrame:
        """A quantity at each point, with its interval: one row per point and flow (or link).

        Columns: the keys of the grid, `name` (and `direction`), `n`, `missing` (runs without a
        value, such as unfinished transfers), the statistic by its name, `low`, `high`; for the mean
        also `sd`.

        Args:
            metric: A column of `flows`, `flow.NAME.COLUMN` or `link.NAME.DIRECTION.COLUMN`.
            statistic: `mean` (interval by Student's t), `median` or a quantile between 0 and 1
                (intervals by the bootstrap).
            confidence: Level of each interval.

        Raises:
            UsageError: The metric is unknown.
        """
        from retx.analysis.estimates import means, quantiles

        table, by, column = self.metric_rows(metric)
        if statistic == "mean":
            return means(table, column, by, confidence)
        share = 0.5 if statistic == "median" else statistic
        if not isinstance(share, float) or not 0 < share < 1:
            raise UsageError(f"statistic {statistic!r}: mean, median or a number between 0 and 1")
        return quantiles(table, column, by, share, confidence)

    def paired(
        self,
        a: object,
        b: object,
        metric: str = "goodput_bit_s",
        *,
        confidence: float = 0.95,
    ) -> pl.DataFrame:
        """Difference between `a` and `b`, run by run: runs of one replication have the same draws.

        Columns: the other keys of the grid, `name`, `n`, `difference` (mean of a − b) with `low`
        and `high`, `ratio` (geometric mean of a / b) with `ratio_low` and `ratio_high`, and `p`
        (p-value of the two-sided paired t-test for a mean difference of 0). Of many compared rows,
        some differ by chance alone: `comparisons` is the number of rows; `p_holm`, and `low_all`
        and `high_all` (Bonferroni), hold for all rows simultaneously.

        Args:
            a: First setting: a value of a key, or values by their keys.
            b: Second setting.
            metric: As for `summary`.
            confidence: Level of the intervals.

        Raises:
            UsageError: The value or metric is unknown.
        """
        from retx.analysis.paired import paired

        table, by, column = self.metric_rows(metric)
        first, second = self._chosen(a), self._chosen(b)
        if first.keys() != second.keys():
            raise UsageError(f"paired: {sorted(first)} and {sorted(second)} are different keys")
        others = [name for name in by if name not in first]
        return paired(
            self._filtered(table, first), self._filtered(table, second), column, others, confidence
        )

    def to_latex(
        self,
        metric: str = "goodput_bit_s",
        *,
        paired: tuple[object, object] | None = None,
        confidence: float = 0.95,
    ) -> str:
        """A table for a paper (`booktabs`): means with intervals, or differences run by run.

        Args:
            metric: As for `summary`.
            paired: Two values, or two dicts of values by their keys, to compare as `paired` does.
            confidence: Level of the intervals.

        Raises:
            UsageError: The metric or value is unknown.
        """
        from retx.sweeps.latex import sweep_latex

        return sweep_latex(self, metric, paired, confidence)

    def fairness(self, metric: str = "goodput_bit_s", *, confidence: float = 0.95) -> pl.DataFrame:
        """Jain's index over the flows of a run: mean over the runs of each point, with interval.

        Args:
            metric: A column of `flows`.
            confidence: Level of the intervals.
        """
        from retx.analysis.estimates import means
        from retx.analysis.fairness import jain_of_runs

        table, _, column = self.metric_rows(metric)
        by = list(self.keys)
        return means(jain_of_runs(table, column, by), "jain", by, confidence)

    def warmup(self, column: str = "cwnd_bytes") -> pl.DataFrame:
        """Length of the warm-up of each run: its beginning before the steady state (MSER-5).

        Needs samples (`tables=["samples"]`) at a constant spacing: a `sample_interval` that is a
        time, and not `"every_ack"`. A run with fewer than 50 samples is too short for a decision:
        its warm-up is 0, and it is not settled. The method applies to runs that have a steady
        state, such as those of bulk flows that last to the end, and not to a single transfer. It
        finds the end of one transient at the beginning. Slow cycles, such as those of CUBIC on a
        long path, need a run of many cycles.

        Columns: the keys of the grid, `flow`, `runs`, `warmup_s` (the longest of all runs),
        `settled` (the share of runs whose warm-up ends in their first half; below 1, some runs are
        too short). Compare `warmup_s` with the scenario's `warmup`.

        Args:
            column: A column of `samples`.
        """
        from retx.analysis.warmup import warmup_of_runs

        return warmup_of_runs(self.samples, column, list(self.keys))

    @property
    def scenario_toml(self) -> str | None:
        """Scenario before values of the grid are set; None if there are several, as in a study."""
        return self._plan.base or None

    @property
    def plot(self) -> SweepPlot:
        """The plots: `sweep.plot.metric()`, `.paired()`, `.heat_map()` and others."""
        from retx.plots.sweeps import SweepPlot

        return SweepPlot(self.flows, self.keys, self.scenario_toml)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """All tables that were kept, by name."""
        own = [DERIVED] if self._plan.derived else []
        names = ("runs", *SUMMARIES, *self._plan.tables, *own)
        return {name: getattr(self, name) for name in names if self._read(name) is not None}

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes each table, joined with the grid, as a Parquet file into a new directory."""
        from retx.files.directory import new_directory

        with new_directory(Path(directory)) as path:
            for name, table in self.tables.items():
                table.write_parquet(path / f"{name}.parquet", compression="zstd")

    def _table(self, name: str) -> pl.DataFrame:
        found = self._read(name)
        points = self._plan.rows()
        if found is None:
            if name in TABLES and name not in self._plan.tables:
                raise NotRecordedError(f"{name} were not kept: sweep with tables=[{name!r}]")
            return self.grid.clear()
        joined = points.join(found, on="key", how="inner", maintain_order="left_right")
        return joined.sort("point", "replication", maintain_order=True).drop("point", "key")

    def metric_rows(self, metric: str) -> tuple[pl.DataFrame, list[str], str]:
        """Rows of a metric, the columns that identify a series, and the column of values.

        Raises:
            UsageError: The metric is unknown.
        """
        from retx.sweeps.precision import Metric

        chosen = Metric.read(metric)
        table = chosen.rows(self.flows if chosen.table == "flows" else self.links)
        if table.is_empty():
            raise UsageError(f"metric {metric!r}: no run has a flow or link of that name")
        by = [*self.keys, "name", *(["direction"] if chosen.direction else [])]
        return table, by, chosen.column

    def _chosen(self, which: object) -> dict[str, Any]:
        """Values by key; a single value is assigned to the only key that contains it."""
        if isinstance(which, Mapping):
            unknown = [key for key in which if key not in self.keys]
            if unknown or not which:
                end = choice(str(unknown[0]) if unknown else "", self.keys)
                raise UsageError(f"paired: no key {unknown}{end}")
            return dict(which)
        having = [key for key in self.keys if which in self.grid[key].to_list()]
        if len(having) != 1:
            found = " and ".join(having) if having else "no key"
            raise UsageError(
                f"paired: {found} takes {which!r}: write {{KEY: {which!r}}} with one of "
                f"{', '.join(self.keys)}"
            )
        return {having[0]: which}

    def _filtered(self, table: pl.DataFrame, values: Mapping[str, Any]) -> pl.DataFrame:
        import polars as pl

        for key, value in values.items():
            known = self.grid[key].to_list()
            if value not in known:
                raise UsageError(f"paired: {key} is never {value!r}")
            column = pl.col(key)
            table = table.filter(
                (column.cast(pl.String) if isinstance(value, str) else column) == value
            )
        return table

    def __len__(self) -> int:
        """Number of runs."""
        return len(self.runs)

    def _repr_html_(self) -> str:
        from retx.results.html import frame_html

        head = f"Sweep: {len(self)} runs; goodput, with 95 % intervals"
        return frame_html(head, self.summary("goodput_bit_s"))

    def __repr__(self) -> str:
        return f"<retx.Sweep: {len(self._plan.keys)} point(s), {len(self)} runs>"


def load_sweep(directory: str | os.PathLike[str]) -> Sweep:
    """Results of a sweep from its directory; the sweep may be incomplete.

    Raises:
        OSError: The directory cannot be read.
        UsageError: The directory holds no sweep, or is damaged.
    """
    from retx.sweeps.parts import joined
    from retx.sweeps.status import read_plan, sound_parts

    path = Path(directory)
    plan, parts = read_plan(path), sound_parts(path)
    return Sweep(plan, lambda name: joined(parts, name))
