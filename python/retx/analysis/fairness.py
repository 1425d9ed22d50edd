"""How evenly flows share."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def jain_of_runs(table: pl.DataFrame, column: str, keys: Sequence[str]) -> pl.DataFrame:
    """Jain's index over the flows of each run: `keys`, `replication`, `jain`.

    1 where all have the same, 1/n where one of n has all (Jain, Chiu & Hawe 1984, DEC-TR-301);
    null where all have nothing.

    Args:
        table: One row per run and flow.
        column: What is shared.
        keys: What tells the points of a sweep apart.
    """
    value = pl.col(column).cast(pl.Float64)
    squares = pl.len() * (value**2).sum()
    index = pl.when(squares > 0).then(value.sum() ** 2 / squares)
    return table.group_by(*keys, "replication", maintain_order=True).agg(index.alias("jain"))
