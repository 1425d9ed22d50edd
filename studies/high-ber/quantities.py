"""Numbers that each run is asked for: what was lost, and with how much in flight."""

from __future__ import annotations

import numpy as np
import polars as pl

import retx
from retx.study import RunTables

from .closed_forms import RWND_BYTES


def quantities(run: RunTables) -> dict[str, float | None]:
    """Shares of lost segments, where segments are kept.

    `lost`: share of the data segments that the cloud dropped; `lost_small_window_times`: that
    share of the segments sent with less than six in flight, over that of the others.
    """
    try:
        segments = run.segments
    except retx.NotRecordedError:
        return {}
    sent = segments.filter(pl.col("length_bytes") > 0)
    if sent.is_empty():
        return {"lost": None, "lost_small_window_times": None}
    lost = (sent["fate"].cast(pl.String) == "channel").to_numpy()
    full = in_flight(sent) >= RWND_BYTES
    small, large = (lost[which].mean() if which.any() else None for which in (~full, full))
    return {
        "lost": float(lost.mean()),
        "lost_small_window_times": float(small / large) if large and small is not None else None,
    }


def in_flight(sent: pl.DataFrame) -> np.ndarray:
    """Bytes in flight as each data segment left, itself included, as the server could know."""
    acked = sent.select("acked_s", end=pl.col("seq") + pl.col("length_bytes")).drop_nulls()
    acked = acked.sort("acked_s").with_columns(pl.col("end").cum_max())
    times, ends = acked["acked_s"].to_numpy(), acked["end"].to_numpy()
    # Position 1 before any ACK.
    known = np.concatenate([[1], ends])[np.searchsorted(times, sent["sent_s"], side="right")]
    highest = (sent["seq"] + sent["length_bytes"]).cum_max().to_numpy()
    return np.asarray(highest - known)
