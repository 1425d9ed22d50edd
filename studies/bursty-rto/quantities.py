"""A number of each run that needs single segments; a change of this file repeats all runs."""

from __future__ import annotations

import numpy as np
import polars as pl

import retx
from retx.study import RunTables


def quantities(result: RunTables) -> dict[str, float | None]:
    """Most retransmissions of one segment, in experiments that read segments."""
    try:
        segments = result.segments
    except retx.NotRecordedError:
        return {}
    again = segments.filter("retransmission").filter(pl.col("flow") == "file")
    _, counts = np.unique(again["seq"].to_numpy(), return_counts=True)
    return {"retransmissions_max": int(counts.max(initial=0))}
