"""From the columns of a run to polars data frames."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from retx._native import Column

ABSENT = 2**32 - 1
"""The code of an absent text."""


def frame(columns: Mapping[str, Column]) -> pl.DataFrame:
    """A table as a data frame; absent values become nulls.

    Numbers come as arrays, in which NaN is absent; texts as an array of codes and the list of what
    the codes stand for, and become an `Enum` column.
    """
    return pl.DataFrame([_series(name, column) for name, column in columns.items()])


def _series(name: str, column: Column) -> pl.Series:
    if isinstance(column, tuple):
        codes, texts = column
        index = pl.Series(codes)
        index = index.set(index == ABSENT, None)
        return pl.Series(name, texts, dtype=pl.Enum(texts)).gather(index)
    series = pl.Series(name, column)
    return series.fill_nan(None) if series.dtype == pl.Float64 else series
