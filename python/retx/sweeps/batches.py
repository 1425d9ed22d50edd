"""Conversion of native tables of runs to data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from retx._native import Table


def frame_of(table: Table) -> pl.DataFrame:
    """A table of runs as a data frame, with the types that its file has."""
    import polars as pl

    from retx.results.frames import frame

    return frame(table.arrays()).with_columns(
        pl.col(pl.Enum).cast(pl.String), pl.col("replication").cast(pl.UInt32)
    )
