"""Reduction of long tables to the resolution of a figure, without losing extremes.

*Reference.* Jugel, Jerzak, Hackenbroich & Markl 2014, "M4: a visualization-oriented time series
data aggregation", PVLDB 7(10): the first, last, smallest and largest value of each column of pixels
draw the same line as all values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

COLUMNS = 2000
"""Number of columns of pixels: somewhat more than the widest figure has."""


def envelope(table: pl.DataFrame, time: str, value: str, columns: int = COLUMNS) -> pl.DataFrame:
    """First, last, smallest and largest value in each column of pixels, in order of time.

    Columns of pixels without values, or with a missing value, remain gaps in the line. A table that
    is short enough is returned unchanged.

    Args:
        table: Rows in order of `time`.
        time: Name of the column of times.
        value: Name of the column of values; other columns are dropped.
        columns: Number of equal intervals into which the time is divided.
    """
    table = table.select(time, pl.col(value).cast(pl.Float64).fill_nan(None))
    if table.height <= 4 * columns:
        return table
    times = table[time].to_numpy()
    start, width = times[0], (times[-1] - times[0]) / columns or 1.0
    indexed = table.with_row_index("row").with_columns(
        part=((pl.col(time) - start) / width).floor().clip(0, columns - 1)
    )
    row, of_value = pl.col("row"), pl.col(value)
    kept = indexed.group_by("part").agg(
        row.first().alias("first"),
        row.last().alias("last"),
        row.get(of_value.arg_min()).alias("least"),
        row.get(of_value.arg_max()).alias("greatest"),
        row.filter(of_value.is_null()).first().alias("gap"),
    )
    rows = pl.concat([kept[name] for name in kept.columns[1:]]).drop_nulls().unique().sort()
    kept_rows: pl.DataFrame = table[rows]
    return kept_rows


def distinct(table: pl.DataFrame, axes: Sequence[str], pixels: int = COLUMNS) -> pl.DataFrame:
    """Rows, without those that fall onto the same pixel as an earlier row on each of the `axes`.

    A table that is short enough is returned unchanged.

    Args:
        table: The rows; their order is kept.
        axes: Columns of numbers.
        pixels: Number of equal intervals into which the range of each column is divided.
    """
    if table.height <= 4 * pixels:
        return table
    names = [f"pixel of {name}" for name in axes]
    parts = [
        _pixel(table[name], pixels).alias(pixel) for name, pixel in zip(axes, names, strict=True)
    ]
    kept: pl.DataFrame = table.with_columns(parts).unique(names, keep="first", maintain_order=True)
    return kept.drop(names)


def _pixel(values: pl.Series, pixels: int) -> pl.Series:
    array = values.to_numpy()
    low, high = float(array.min()), float(array.max())
    return pl.Series(np.round((array - low) / ((high - low) or 1.0) * pixels))
