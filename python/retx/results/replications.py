"""Results of several replications of one scenario."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retx import _native
from retx.errors import UsageError
from retx.errors.checks import required_path
from retx.errors.meant import choice
from retx.errors.renamed import current
from retx.files.directory import new_directory
from retx.results.result import HOW_TO_RECORD, Result, without_clock, write_code, write_tables

if TYPE_CHECKING:
    import polars as pl

    from retx.plots.sweeps import SweepPlot

PER_RUN = ("flows", "links", "wlans", "relays", "engine")
"""Parts of the summary of a single run, except its scenario."""


class Replications:
    """Runs of one scenario with different random draws: their tables, with a column `replication`.

    It is a sequence of `Result`s: `len(r)`, `r[0]`, `for result in r`.
    """

    def __init__(self, runs: Sequence[Result]) -> None:
        self._runs = tuple(runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, replication: int) -> Result:
        return self._runs[replication]

    def __iter__(self) -> Iterator[Result]:
        return iter(self._runs)

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per replication and flow."""
        return self._joined("flows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per replication, link and direction."""
        return self._joined("links")

    @cached_property
    def wlans(self) -> pl.DataFrame:
        """One row per replication and wlan."""
        return self._joined("wlans")

    @cached_property
    def stations(self) -> pl.DataFrame:
        """One row per replication and station of a wlan."""
        return self._joined("stations")

    @cached_property
    def relays(self) -> pl.DataFrame:
        """One row per replication and relay."""
        return self._joined("relays")

    @cached_property
    def samples(self) -> pl.DataFrame:
        """Samples of all replications; see `Result.samples`."""
        return self._joined("samples")

    @cached_property
    def link_samples(self) -> pl.DataFrame:
        """Samples of all links; see `Result.link_samples`."""
        return self._joined("link_samples")

    @cached_property
    def segments(self) -> pl.DataFrame:
        """Segments of all replications; see `Result.segments`. Recorded with `segments=True`."""
        return self._joined("segments")

    @cached_property
    def acks(self) -> pl.DataFrame:
        """ACKs of all replications; see `Result.acks`. Recorded with `segments=True`."""
        return self._joined("acks")

    @cached_property
    def drops(self) -> pl.DataFrame:
        """Drops of all replications; see `Result.drops`."""
        return self._joined("drops")

    @cached_property
    def episodes(self) -> pl.DataFrame:
        """Episodes of all replications; see `Result.episodes`."""
        return self._joined("episodes")

    @cached_property
    def exchanges(self) -> pl.DataFrame:
        """Exchanges of all replications; see `Result.exchanges`."""
        return self._joined("exchanges")

    @cached_property
    def limits(self) -> pl.DataFrame:
        """Limits of all replications over time; see `Result.limits`."""
        return self._joined("limits")

    def confusion(self) -> pl.DataFrame:
        """Inferred and true causes of losses, for each replication; see `Result.confusion`."""
        from retx.analysis.confusion import confusion

        return confusion(self.flows)

    @property
    def scenario(self) -> dict[str, Any]:
        """Scenario with every value written out."""
        return self._runs[0].scenario

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Scenario, version and seed, and in `runs` the flows, links, … and engine of each run."""
        shared = {key: self._runs[0].summary[key] for key in ("scenario", "version", "seed")}
        each = [
            {"replication": number} | {key: result.summary[key] for key in PER_RUN}
            for number, result in enumerate(self._runs)
        ]
        return shared | {"replications": len(self._runs), "runs": each}

    @property
    def are_equal(self) -> bool:
        """True if several runs have equal results of flows in spite of different draws."""
        rows = self.flows.drop("replication").n_unique()
        return len(self) > 1 and rows == len(self._runs[0].summary["flows"])

    def mean(self, quantity: str | None = None, *, confidence: float = 0.95) -> pl.DataFrame:
        """Mean and confidence interval over the replications, one row per flow and quantity.

        Columns: `flow quantity n mean low high`. A flow that did not finish has no response time;
        `n` is the number of values in a row.

        Args:
            quantity: Column of `flows`; all by default.
            confidence: Level of the intervals (Student's t).

        Raises:
            UsageError: The column is unknown, or not numeric.
        """
        from retx.analysis.intervals import flow_means

        means = flow_means(self.flows, confidence)
        if quantity is None:
            return means
        chosen = means.filter(means["quantity"] == current(str(quantity)))
        if chosen.is_empty():
            names = means["quantity"].unique(maintain_order=True)
            raise UsageError(f"no quantity {quantity!r}{choice(str(quantity), names)}")
        return chosen

    def save(self, directory: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes the files of `Result.save`; `replication` is the first column of each table."""
        with new_directory(required_path("directory", directory), replace=force) as path:
            self.write(path)

    def write(self, directory: Path) -> None:
        """Writes the files of `save` into an existing directory."""
        first = self._runs[0]
        code = write_code(directory, first._code)
        summary = self.summary | {
            "scenario": json.loads(first._raw.scenario_json(code)),
            "runs": [without_clock(run) for run in self.summary["runs"]],
        }
        with (directory / "summary.json").open("w", encoding="utf-8") as file:
            json.dump(summary, file, indent=2, ensure_ascii=False, allow_nan=False)
            file.write("\n")
        write_tables(directory, first._raw.scenario_toml(code), self.tables)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """All recorded tables, by name."""
        return {name: getattr(self, name) for name in self._runs[0].tables}

    def _joined(self, name: str) -> pl.DataFrame:
        import polars as pl

        from retx.results.frames import frame, summary_frame

        events = name in HOW_TO_RECORD
        columns = _native.stacked([result._raw for result in self._runs], name, events)
        if columns:
            joined = frame(columns) if events else summary_frame(columns)
            number = pl.col("replication").cast(pl.UInt32)
            return joined.select(number, pl.exclude("replication"))
        if columns is not None:
            return pl.DataFrame(schema={"replication": pl.UInt32})
        each: pl.DataFrame = pl.concat(
            getattr(result, name).select(
                pl.lit(number, dtype=pl.UInt32).alias("replication"), pl.all()
            )
            for number, result in enumerate(self._runs)
        )
        return each

    @property
    def plot(self) -> SweepPlot:
        """The plots of many runs: `runs.plot.cdf("response_time_s")`."""
        from retx.plots.sweeps import SweepPlot

        return SweepPlot(self.flows)

    def _repr_html_(self) -> str:
        from retx.results.html import replications_html

        return replications_html(self)

    def __repr__(self) -> str:
        return f"<retx.Replications: {len(self)} of {self._runs[0]!r}>"
