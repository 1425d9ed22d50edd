"""Differences between runs that use the same random draws."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from retx.analysis.groups import TableError, apart, needed, numeric


def pairs(
    table: pl.DataFrame,
    key: str,
    values: tuple[object, object],
    quantity: str,
    keys: Sequence[str] = (),
) -> pl.DataFrame:
    """One row per replication (and group): the quantity under both values, and the difference.

    Columns: the keys, `replication first second difference ratio`; the difference is first − second
    and the ratio first / second, as in `Sweep.paired`. Pairs with a missing value are left out.

    Args:
        table: One row per group and replication, as a sweep's tidy frame.
        key: The column whose values are compared, such as `flow.download.tcp`.
        values: The two values.
        quantity: Column of numbers.
        keys: Columns that define further groups.

    Raises:
        TableError: A column or a value is missing.
    """
    needed(table, [key, "replication", *keys])
    numeric(table, quantity)
    parts = []
    for value in values:
        part = table.filter(pl.col(key) == value)
        if part.is_empty():
            there = ", ".join(map(str, table[key].unique(maintain_order=True)))
            raise TableError(f"{key} is never {value!r}; there is {there}")
        parts.append(part.select(*keys, "replication", pl.col(quantity).cast(pl.Float64)))
    first, second = parts
    for part in parts:
        if part.select(*keys, "replication").is_duplicated().any():
            advice = apart(table, [key, *keys], quantity)
            raise TableError(f"a group has several rows of one replication: {advice}")
    joined = first.join(
        second, on=[*keys, "replication"], suffix=" of the second", nulls_equal=True
    )
    both = joined.rename({quantity: "first", f"{quantity} of the second": "second"})
    known = both.drop_nulls(["first", "second"]).sort("replication", *keys, maintain_order=True)
    return known.with_columns(
        difference=pl.col("first") - pl.col("second"), ratio=pl.col("first") / pl.col("second")
    )
