"""Means over replications, with confidence intervals."""

from __future__ import annotations

from math import sqrt

import polars as pl

from retx.analysis import estimates


def half_width(deviation: float, n: int, confidence: float = 0.95) -> float:
    """Half-width of the confidence interval for the mean of `n` independent draws.

    Student's t with n − 1 degrees of freedom; NaN for fewer than two draws.

    Args:
        deviation: Standard deviation of the sample (divisor n − 1).
        n: Number of draws.
        confidence: Confidence level.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}: it must be between 0 and 1")
    if n < 2:
        return float("nan")
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 0.5 + confidence / 2)) * deviation / sqrt(n)


def flow_means(flows: pl.DataFrame, confidence: float = 0.95) -> pl.DataFrame:
    """Mean of each numeric column, with its interval, for each flow.

    Columns: `flow quantity n mean low high`.

    Args:
        flows: The `flows` table of several replications, one row per replication and flow.
        confidence: Level of the intervals.
    """
    numbers = [
        name for name, dtype in flows.schema.items() if dtype.is_numeric() and name != "replication"
    ]
    long = flows.select(pl.col("name").cast(pl.String).alias("flow"), *numbers).unpivot(
        index="flow", on=numbers, variable_name="quantity", value_name="value"
    )
    found = estimates.means(long, "value", ["flow", "quantity"], confidence)
    return found.select("flow", "quantity", "n", "mean", "low", "high")
