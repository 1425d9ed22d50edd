"""Conversion of the columns of a run to polars data frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from retx._native import _Column as Column

NO_NAME = 2**32 - 1
"""Code that represents an absent text."""
NO_INTEGER = 2**64 - 1
"""Value that represents an absent whole number."""

OPTIONAL_COUNTS = ("exchanges_count",)
"""Whole numbers of a summary that are stored as floats, since they may be absent."""


def frame(columns: Mapping[str, Column]) -> pl.DataFrame:
    """Table as a data frame; absent values become nulls.

    Numbers are arrays in which NaN and `NO_INTEGER` stand for absent values; texts are an array of
    codes and a list of the texts, and become an `Enum` column.
    """
    return pl.DataFrame([_series(name, column) for name, column in columns.items()])


def summary_frame(columns: Mapping[str, Column]) -> pl.DataFrame:
    """Data frame as by `frame`, but with plain texts, since most texts occur in only one row."""
    table = frame(columns)
    texts = [name for name, kind in table.schema.items() if kind == pl.Enum]
    whole = [name for name in OPTIONAL_COUNTS if name in table.columns]
    return table.with_columns(pl.col(texts).cast(pl.String), pl.col(whole).cast(pl.Int64))


def _series(name: str, column: Column) -> pl.Series:
    if isinstance(column, tuple):
        codes, texts = column
        index = pl.Series(codes)
        index = index.set(index == NO_NAME, None)
        known = pl.Series(name, texts, dtype=pl.Enum(texts))
        return known.gather(index)
    # Series.fill_nan is not used, because it runs a query, which takes 2 ms for each column of each
    # run.
    series = pl.Series(name, column, nan_to_null=True)
    if series.dtype == pl.UInt64:
        signed: pl.Series = series.set(series == NO_INTEGER, None).cast(pl.Int64)
        return signed
    return series


def frame_of_rows(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Rows of a summary as a data frame; `{"drops": {"queue": 0}}` becomes `drops_queue`."""
    table = pl.DataFrame([_flat(row) for row in rows], infer_schema_length=None)
    # A column without any value has no type. It becomes a column of floats, because all optional
    # values of a summary are floats.
    return table.with_columns(pl.col(pl.Null).cast(pl.Float64))


def _flat(row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}_")
        else:
            flat[_column(f"{prefix}{key}")] = value
    return flat


def _column(name: str) -> str:
    """Column name of a key; keys of `limited_by` get the suffix `_s`."""
    limit = name.removeprefix("limited_by_")
    return name if limit == name else f"limited_{limit}_s"
