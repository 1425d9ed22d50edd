"""Fairness among the flows of a run."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from retx.models.fairness import jain


def jain_of_runs(table: pl.DataFrame, column: str, keys: Sequence[str]) -> pl.DataFrame:
    """Jain's index over the flows of each run: `keys`, `replication`, `jain`.

    See `retx.models.fairness`; null if all values are 0. Flows without a value, such as those
    that ended within the warmup, are left out.

    Args:
        table: One row per run and flow.
        column: Column of the shared quantity.
        keys: Columns that define the points of a sweep.
    """
    shares = pl.col(column).cast(pl.Float64).drop_nulls()
    runs = table.group_by(*keys, "replication", maintain_order=True).agg(shares.alias("jain"))
    index = [float(jain(values)) for values in runs["jain"].to_list()]
    return runs.with_columns(pl.Series("jain", index, dtype=pl.Float64).fill_nan(None))
