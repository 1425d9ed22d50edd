"""Lengths of bursts of consecutive losses in the table of segments."""

from __future__ import annotations

import numpy as np
import polars as pl

from retx.analysis.groups import TableError, needed

LOST_BY_CHANNEL = ("channel", "retry_limit")


def burst_lengths(segments: pl.DataFrame, flow: str | None = None) -> pl.DataFrame:
    """Number of loss bursts of each length.

    A burst consists of consecutive losses by the channel, in sending order.

    Columns: `length` in packets, `runs` (number of bursts of this length) and `share` (of all
    bursts); with a row for every length from 1 to the longest. Packets dropped by a queue never
    reached the channel, so they are left out.

    Args:
        segments: The `segments` table of one flow, or of flows that share the lossy link.
        flow: Name of the flow; all flows by default.

    Raises:
        TableError: No channel lost a packet.
    """
    needed(segments, ["flow", "sent_s", "fate"])
    if flow is not None:
        segments = segments.filter(pl.col("flow") == flow)
    fate = pl.col("fate").cast(pl.String)
    met = segments.sort("sent_s", maintain_order=True).filter(fate != "queue")
    lost = met.select(fate.is_in(LOST_BY_CHANNEL)).to_series().to_numpy()
    edges = np.flatnonzero(np.diff(np.concatenate([[0], lost.astype(int), [0]])))
    lengths = edges[1::2] - edges[::2]
    if not len(lengths):
        raise TableError("no segment was lost by a channel: there are no runs of losses")
    runs = np.bincount(lengths)[1:]
    return pl.DataFrame(
        {"length": np.arange(1, len(runs) + 1), "runs": runs, "share": runs / runs.sum()}
    )
