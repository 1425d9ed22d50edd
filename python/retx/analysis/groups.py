"""Means of groups of rows, with confidence intervals, and distributions."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from retx.analysis import estimates
from retx.errors import UsageError
from retx.errors.meant import choice


class TableError(UsageError):
    """A table lacks something that an analysis needs. The message says what is missing."""


def numeric(table: pl.DataFrame, name: str) -> pl.Series:
    """A column of numbers.

    Raises:
        TableError: The column is missing, or is not numeric.
    """
    needed(table, [name])
    if not table[name].dtype.is_numeric():
        numbers = [other for other, dtype in table.schema.items() if dtype.is_numeric()]
        raise TableError(
            f"column {name!r} holds no numbers; these columns do: {', '.join(numbers)}"
        )
    return table[name]


def needed(table: pl.DataFrame, names: Sequence[str]) -> None:
    """Checks that columns exist.

    Raises:
        TableError: A column is missing.
    """
    for name in names:
        if name not in table.columns:
            raise TableError(f"no column {name!r} in the table{choice(name, table.columns)}")


def means(
    table: pl.DataFrame, keys: Sequence[str], quantity: str, confidence: float = 0.95
) -> pl.DataFrame:
    """Mean and confidence interval (Student's t) over the replications of each group.

    Columns: the keys, then `n mean low high`. Missing values are left out. `low` and `high` are
    null for groups with a single value. If the values of a group do not vary, its interval has the
    width 0.

    Args:
        table: One row per group and replication, as a sweep's tidy frame.
        keys: Columns that define the groups.
        quantity: The column to average.
        confidence: Level of the intervals.

    Raises:
        TableError: A column is missing, or a replication has several rows in a group.
    """
    needed(table, keys)
    numeric(table, quantity)
    if "replication" in table.columns:
        each = table.group_by(*keys, "replication").len()
        if each["len"].max() not in (None, 1):
            raise TableError(
                f"a group has several rows of one replication: {apart(table, keys, quantity)}"
            )
    known = table.with_columns(pl.col(quantity).cast(pl.Float64).fill_nan(None))
    found = estimates.means(known, quantity, keys, confidence)
    return found.select(*keys, "n", "mean", "low", "high")


def apart(table: pl.DataFrame, keys: Sequence[str], quantity: str) -> str:
    """Advice to a user whose group has several rows of one replication: add a key, or filter."""
    # The keys of a grid are the columns before `replication`.
    of_grid = table.columns[: table.columns.index("replication")]
    varying = [name for name in of_grid if name not in keys and table[name].n_unique() > 1]
    if varying:
        return f"{', '.join(varying)} varies, too: make it a key (by=…), or filter the table"
    if "name" not in table.columns:
        return "add a key"
    return f"name the flow (--metric flow.{table['name'][0]}.{quantity}), or make it a key"


UNFINISHED = ("response_time_s", "finish_s")
"""Columns of times that are missing for a flow if the run ended before the flow did."""


def distribution(table: pl.DataFrame, quantity: str, keys: Sequence[str] = ()) -> pl.DataFrame:
    """The empirical distribution of each group.

    Columns: the keys, the quantity in ascending order, and `share`, the share of the group's rows
    with this value or less. If a time is missing because the flow did not end, the row counts as a
    time above all others, so the shares of its group do not reach 1. Flows that ended in no row
    are left out.

    Args:
        table: Any table. Rows in which the quantity is missing are left out, except those of flows
            that did not end.
        quantity: Column of numbers.
        keys: Columns that define the groups.
    """
    needed(table, keys)
    numeric(table, quantity)
    value = pl.col(quantity).cast(pl.Float64).fill_nan(None)
    rows = table.with_columns(value)
    if quantity not in UNFINISHED:
        rows = rows.drop_nulls(quantity)
    elif "name" in table.columns:
        rows = rows.filter(pl.col(quantity).is_not_null().any().over("name"))
    ordered = rows.select(*keys, quantity).sort(quantity, nulls_last=True, maintain_order=True)
    share = pl.int_range(1, pl.len() + 1) / pl.len()
    ordered = ordered.with_columns(share=share.over(*keys) if keys else share)
    return ordered.drop_nulls(quantity)
