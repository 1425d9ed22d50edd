"""Means and quantiles of independent runs, with confidence intervals, group by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from retx.analysis.students_t import two_sided

RESAMPLES = 9999
"""Number of resamples of the bootstrap. The ends of a 95 % interval are the 250th smallest and the
250th largest of the resampled values.
"""
SEED = 1
"""Seed of the bootstrap, so that the same runs always give the same interval."""


def means(table: pl.DataFrame, column: str, by: Sequence[str], confidence: float) -> pl.DataFrame:
    """Mean with the interval of Student's t.

    Columns: `by`, `n`, `missing`, `mean`, `sd`, `low`, `high`. With fewer than two values there is
    no interval.

    Args:
        table: One row per run.
        column: Column of the quantity; null if a run has no value.
        by: Columns that define the groups.
        confidence: Confidence level, valid if runs are independent and their mean is approximately
            normal.
    """
    _check(confidence)
    groups = _grouped(table, by).agg(
        pl.col(column).count().cast(pl.Int64).alias("n"),
        pl.col(column).null_count().cast(pl.Int64).alias("missing"),
        pl.col(column).cast(pl.Float64).mean().alias("mean"),
        pl.col(column).cast(pl.Float64).std().alias("sd"),
    )
    half = half_widths(groups["sd"], groups["n"], confidence)
    found = groups.with_columns(low=pl.col("mean") - half, high=pl.col("mean") + half)
    return found.drop(_NO_GROUP, strict=False)


def half_widths(deviations: pl.Series, counts: pl.Series, confidence: float) -> pl.Series:
    """Half-widths of confidence intervals for means; null if there are fewer than two values."""
    n = counts.to_numpy().astype(float)
    quantiles = {count: two_sided(max(count - 1, 1), confidence) for count in counts.unique()}
    quantile = np.array([quantiles[count] for count in counts])
    half = quantile * deviations.cast(pl.Float64).to_numpy() / np.sqrt(np.maximum(n, 1))
    return pl.Series("half", np.where(n > 1, half, np.nan)).fill_nan(None)


def quantiles(
    table: pl.DataFrame, column: str, by: Sequence[str], share: float, confidence: float
) -> pl.DataFrame:
    """A quantile (0.5: the median) with the percentile interval of the bootstrap.

    (Efron & Tibshirani 1993, An Introduction to the Bootstrap, §13.3.) Columns: `by`, `n`,
    `missing`, `median` or `quantile`, `low`, `high`. Quantiles are interpolated linearly.

    Args:
        table: One row per run.
        column: Column of the quantity; null if a run has no value.
        by: Columns that define the groups.
        share: Share of the values that lie below the quantile.
        confidence: Confidence level of the intervals.
    """
    _check(confidence)
    name = "median" if share == 0.5 else "quantile"
    rows = []
    for group, rest in _grouped(table, by):
        values = rest[column].cast(pl.Float64).drop_nulls().to_numpy()
        low, high = _bootstrap(values, share, confidence)
        found = float(np.quantile(values, share)) if values.size else None
        rows.append((*group, values.size, rest.height - values.size, found, low, high))
    schema: dict[str, Any] = {key: table.schema[key] for key in by} or {_NO_GROUP: pl.Int32}
    schema |= {"n": pl.Int64, "missing": pl.Int64}
    schema |= dict.fromkeys((name, "low", "high"), pl.Float64)
    return pl.DataFrame(rows, schema=schema, orient="row").drop(_NO_GROUP, strict=False)


def _bootstrap(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], share: float, confidence: float
) -> tuple[float | None, float | None]:
    if values.size < 2:
        return None, None
    if np.all(values == values[0]):
        return float(values[0]), float(values[0])
    from scipy.stats import bootstrap

    interval = bootstrap(
        (values,),
        lambda sample, axis: np.quantile(sample, share, axis=axis),
        n_resamples=RESAMPLES,
        # The resamples are drawn in batches, because all of them together may need too much memory.
        batch=max(1, 10_000_000 // values.size),
        confidence_level=confidence,
        method="percentile",
        random_state=np.random.default_rng(SEED),
    ).confidence_interval
    return float(interval.low), float(interval.high)


_NO_GROUP = "group of all"


def _grouped(table: pl.DataFrame, by: Sequence[str]) -> pl.dataframe.group_by.GroupBy:
    """Groups in the order of their first rows. Without `by`, all rows form one group."""
    keys = [pl.col(name) for name in by] or [pl.lit(0).alias(_NO_GROUP)]
    return table.group_by(keys, maintain_order=True)


def _check(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}: it must be between 0 and 1")
