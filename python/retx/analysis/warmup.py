"""Length of a run's warm-up, the time before its steady state.

MSER chooses the truncation point that minimises the marginal standard error of the mean of the
remaining values (White 1997, Simulation 69(6)); MSER-5 applies it to means of five values each
(White, Cobb & Spratt 2000, Proc. Winter Simulation Conf.). If this would remove half of the series
or more, the series is too short for a decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

BATCH = 5
LEAST_BATCHES = 10
"""Minimum number of batches for a decision."""


@dataclass(frozen=True)
class Warmup:
    """Part at the beginning of a series that should be left out as warm-up."""

    values: int
    """Number of values to leave out, from the beginning."""
    settled: bool
    """False if the series is too short for a decision."""


def mser(series: ArrayLike, batch: int = BATCH) -> Warmup:
    """Warm-up of a series by MSER.

    Args:
        series: Equidistant values.
        batch: Number of values in a batch; an incomplete batch at the end is left out.
    """
    values = np.asarray(series, dtype=np.float64)
    count = len(values) // batch
    if count < LEAST_BATCHES:
        return Warmup(0, settled=False)
    means = values[: count * batch].reshape(count, batch).mean(axis=1)
    # The mean is subtracted, because small differences would be lost in the squares of large
    # values.
    means = means - means.mean()
    left = np.arange(count, 0, -1)
    totals = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum((means**2)[::-1])[::-1]
    errors = np.maximum(squares - totals**2 / left, 0.0) / left**2
    # Truncation within the last few batches is excluded, because the error of few values may be
    # small by chance.
    best = int(np.argmin(errors[: count - LEAST_BATCHES // 2]))
    return Warmup(best * batch, settled=best < count / 2)


def warmup_of_runs(samples: pl.DataFrame, column: str, keys: Sequence[str]) -> pl.DataFrame:
    """Length of the warm-up of each flow in the samples of a sweep; see `Sweep.warmup`."""
    rows = []
    groups = samples.group_by(*keys, "flow", "replication", maintain_order=True)
    for (*group, _), run in groups:
        times = run["time_s"]
        found = mser(run[column].fill_null(strategy="forward").fill_null(0))
        start = times[found.values] if found.values < len(times) else times[-1]
        rows.append((*group, start if found.values else 0.0, found.settled))
    schema = {key: samples.schema[key] for key in (*keys, "flow")}
    table = pl.DataFrame(
        rows, schema={**schema, "warmup_s": pl.Float64, "settled": pl.Boolean}, orient="row"
    )
    return table.group_by(*keys, "flow", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("runs"),
        pl.col("warmup_s").max(),
        pl.col("settled").cast(pl.Float64).mean(),
    )
