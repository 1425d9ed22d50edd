"""Counts runs of a sweep that ended within their warm-up."""

from __future__ import annotations

import polars as pl

from retx.sweeps.plan import Plan
from retx.sweeps.result import Reader


def unmeasured(read: Reader, plan: Plan) -> int:
    """Number of runs of a plan that ended within their warm-up: no place has a utilisation."""
    tables = [table for name in ("links", "wlans") if (table := read(name)) is not None]
    if not tables:
        return 0
    places = pl.concat(table.select("key", "replication", "utilisation") for table in tables)
    planned = places.filter(pl.col("key").cast(pl.String).is_in(list(set(plan.keys))))
    runs = planned.group_by("key", "replication").agg(pl.col("utilisation").is_null().all())
    return int(runs["utilisation"].sum())
