"""Comparison of two settings, run by run.

Runs with the same replication number use the same random draws.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy.special import stdtr

from retx.analysis.estimates import half_widths, means


def paired(
    first: pl.DataFrame,
    second: pl.DataFrame,
    column: str,
    by: Sequence[str],
    confidence: float,
) -> pl.DataFrame:
    """Differences and ratios, group by group; see `Sweep.paired` for the columns.

    A replication that lacks a value with one of the settings is left out of both, and counted in
    `missing`. A ratio needs values above 0; its interval is computed from the mean of its
    logarithm.

    With many groups, some differ by chance: even if no true difference exists, a share of 1 −
    `confidence` of the intervals excludes 0. Two results are corrected for the number of groups
    (`comparisons`): `p_holm` (Holm 1979, Scand. J. Statist. 6(2)), and the wider intervals
    `low_all` to `high_all` (Bonferroni).

    Args:
        first: One row per run with the first setting, with the column `replication`.
        second: One row per run with the second setting.
        column: Column of the quantity.
        by: Columns that define the groups.
        confidence: Confidence level of the intervals.
    """
    on = [*by, "replication"]
    pairs = first.select(*on, pl.col(column).cast(pl.Float64).alias("a")).join(
        second.select(*on, pl.col(column).cast(pl.Float64).alias("b")),
        on=on,
        how="inner",
        maintain_order="left",
    )
    positive = (pl.col("a") > 0) & (pl.col("b") > 0)
    pairs = pairs.with_columns(
        difference=pl.col("a") - pl.col("b"),
        log=pl.when(positive).then((pl.col("a") / pl.col("b")).log()),
    )
    found = means(pairs, "difference", by, confidence).rename({"mean": "difference"})
    logs = means(pairs, "log", by, confidence)
    ratios = [
        logs[name].exp().alias(ratio)
        for name, ratio in (("mean", "ratio"), ("low", "ratio_low"), ("high", "ratio_high"))
    ]
    p = _p_values(found)
    comparisons = found.height
    wide = half_widths(found["sd"], found["n"], 1 - (1 - confidence) / max(comparisons, 1))
    return found.with_columns(
        *ratios,
        p,
        _holm(p),
        low_all=pl.col("difference") - wide,
        high_all=pl.col("difference") + wide,
        comparisons=pl.lit(comparisons, dtype=pl.Int64),
    )


def _p_values(found: pl.DataFrame) -> pl.Series:
    """Two-sided p-values of the paired t-test for a mean difference of 0."""
    n = found["n"].to_numpy().astype(float)
    mean, deviation = found["difference"].to_numpy(), found["sd"].cast(pl.Float64).to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        t = mean / (deviation / np.sqrt(n))
    p = 2 * stdtr(np.maximum(n - 1, 1), -np.abs(t))
    # If no run differs, there is no evidence against a difference of 0.
    p = np.where((deviation == 0) & (mean == 0), 1.0, p)
    return pl.Series("p", np.where(n > 1, p, np.nan)).fill_nan(None)


def _holm(p: pl.Series) -> pl.Series:
    values = p.fill_null(1.0).to_numpy()
    order = np.argsort(values, kind="stable")
    steps = values[order] * (len(values) - np.arange(len(values)))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return pl.Series("p_holm", adjusted).set(p.is_null(), None)
