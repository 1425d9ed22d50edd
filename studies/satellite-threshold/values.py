"""Named values that need single packets."""

from __future__ import annotations

import numpy as np
import polars as pl

import retx
from retx.study import Measured

SEGMENT_BYTES = 960
TICK_S = 0.01


def round_trips(result: retx.Result) -> pl.DataFrame:
    """Round trips of segments that were acknowledged separately, with the window.

    Retransmitted segments are left out, as are those that were acknowledged together with others:
    they had waited at the receiver for a missing segment.

    Columns: `acked_s`, `rtt_s`, `cwnd` (segments).
    """
    known = result.segments.filter(pl.col("length_bytes") > 0).drop_nulls("acked_s")
    again = known.filter(pl.col("retransmission")).select("seq")
    alone = known.group_by("acked_s").len().filter(pl.col("len") == 1).select("acked_s")
    sent = known.join(again, on="seq", how="anti").join(alone, on="acked_s", how="semi")
    rtts = sent.select("acked_s", rtt_s=pl.col("acked_s") - pl.col("sent_s")).sort("acked_s")
    windows = result.samples.select("time_s", cwnd=pl.col("cwnd_bytes") / SEGMENT_BYTES)
    return rtts.join_asof(windows.sort("time_s"), left_on="acked_s", right_on="time_s")


def correlation(measured: Measured) -> float:
    """Correlation of round-trip time and window in a run without errors."""
    trips = round_trips(measured.at("traces/clean").run()).drop_nulls()
    return float(np.corrcoef(trips["rtt_s"], trips["cwnd"])[0, 1])


def base_rtt_s(measured: Measured, place: str) -> float:
    """Shortest round trip of a run."""
    segments = measured.at(place).run().segments.drop_nulls("acked_s")
    acked = segments.filter((pl.col("length_bytes") > 0) & ~pl.col("retransmission"))
    return float(min((acked["acked_s"] - acked["sent_s"]).to_list()))


def base_ticks(measured: Measured, place: str) -> float:
    """Shortest round trip of a run, in ticks."""
    return round(base_rtt_s(measured, place) / TICK_S)
