"""Numbers that each run is asked for: columns of table I, in its units."""

from __future__ import annotations

import polars as pl

import retx
from retx.study import RunTables


def quantities(result: RunTables) -> dict[str, float | None]:
    """Columns of table I, in its units."""
    flow = result.flows.row(by_predicate=pl.col("name") == "file", named=True)
    took = flow["response_time_s"]
    found: dict[str, float | None] = {
        "throughput": _scaled(flow["goodput_bit_s"], 1e-6),
        "rtt": _scaled(flow["rtt_mean_s"], 1e3),
        "rtt_sd": _scaled(flow["rtt_sd_s"], 1e3),
        "idle_percent": None if took is None else 100 * flow["idle_total_s"] / took,
        "busy_s": None if took is None else took - flow["idle_total_s"],
    }
    for sender in result.stations.iter_rows(named=True):
        lost = 100 * sender["drops_retry_limit"] / sender["packets_in"]
        if sender["name"] == "server":
            # A run without a burst has no mean length of bursts.
            found |= {
                "ip_loss": lost,
                "fer": sender["channel_error_rate"],
                "efb_mean": sender["channel_burst_mean"] or None,
                "lpb_mean": sender["loss_burst_mean"] or None,
            }
        else:
            found["ack_loss"] = lost
    try:
        segments = result.segments
    except retx.NotRecordedError:
        return found
    again = (
        segments.filter((pl.col("flow") == "file") & pl.col("retransmission")).group_by("seq").len()
    )
    found["retransmissions_max"] = max(again["len"].to_list(), default=0)
    return found


def _scaled(value: float | None, by: float) -> float | None:
    return None if value is None else value * by
