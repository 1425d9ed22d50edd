"""Goodput and fairness of flows that share a path, over time."""

from __future__ import annotations

import numpy as np
import polars as pl

from retx.analysis.groups import TableError, needed
from retx.models import fairness


def shares(samples: pl.DataFrame, interval_s: float) -> pl.DataFrame:
    """Goodput of each flow in successive intervals, from acknowledged data.

    Columns: `time_s flow goodput_bit_s`; the time is the end of the interval. A flow has rows from
    its first sample to its last.

    Args:
        samples: The `samples` table.
        interval_s: Length of an interval.

    Raises:
        TableError: The interval is not positive, or longer than the run.
    """
    needed(samples, ["flow", "time_s", "ack_bytes"])
    if not interval_s > 0:
        raise TableError(f"interval_s is {interval_s}: it must be above 0")
    if samples.is_empty():
        raise TableError("there are no samples: the run has no TCP flow that sent data")
    end = float(samples["time_s"].max() or 0.0)  # type: ignore[arg-type]
    edges = np.arange(0, end + interval_s * 1e-9, interval_s)
    if len(edges) < 2:
        raise TableError(f"interval_s is {interval_s}: the run has {end:g} s only")
    parts = []
    for (flow,), rows in samples.group_by("flow", maintain_order=True):
        times, acked = rows["time_s"].to_numpy(), rows["ack_bytes"].to_numpy()
        # The last sample before each edge contains the bytes acknowledged by that time.
        index = np.searchsorted(times, edges, side="right") - 1
        known = np.where(index >= 0, acked[np.maximum(index, 0)], 0)
        inside = (edges[1:] > times[0]) & (edges[:-1] < times[-1])
        goodput = 8 * np.diff(known) / interval_s
        parts.append(
            pl.DataFrame({"time_s": edges[1:], "flow": str(flow), "goodput_bit_s": goodput}).filter(
                pl.Series(inside)
            )
        )
    return pl.concat(parts)


def jain_over_time(samples: pl.DataFrame, interval_s: float) -> pl.DataFrame:
    """Jain's index of the goodputs in successive intervals.

    Columns: `time_s flows jain`; `flows` counts the flows with data in the interval.

    Args:
        samples: The `samples` table.
        interval_s: Length of an interval.
    """
    table = shares(samples, interval_s)
    groups = table.group_by("time_s").agg(pl.col("goodput_bit_s"), pl.len().alias("flows"))
    found = [float(fairness.jain(values.to_numpy())) for values in groups["goodput_bit_s"]]
    index = pl.Series("jain", found, dtype=pl.Float64).fill_nan(None)
    return groups.with_columns(index).select("time_s", "flows", "jain").sort("time_s")
