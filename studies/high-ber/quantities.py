"""Numbers that each run is asked for: its losses, and its recovery from a single loss."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import polars as pl

import retx
from retx.study import RunTables

MSS_BYTES = 1460
RWND_BYTES = 6 * MSS_BYTES
RTT_S = 0.04
RATE_BIT_S = 10e6
OVERHEAD_BYTES = 38
"""Overhead of Ethernet on each frame."""
HEADERS_BYTES = 40
"""Headers of TCP and IP, without options."""
FIRST_OF_WINDOW = 217
"""The first of the six segments among which the fifth is lost: figure 10."""
IN_FIGURE = 12
"""Segments that reach the client in figure 10."""


def quantities(run: RunTables) -> dict[str, float | None]:
    """Numbers from the tables that an experiment records."""
    found: dict[str, float | None] = {}
    for part in (_window, _losses, _recovery):
        with suppress(retx.NotRecordedError):
            found |= part(run)
    return found


def _window(run: RunTables) -> dict[str, float | None]:
    """The largest congestion window, in bytes."""
    return {"cwnd_largest": float(run.samples["cwnd_bytes"].to_numpy().max())}


def _losses(run: RunTables) -> dict[str, float | None]:
    """Shares of lost segments.

    `lost`: share of the data segments that the cloud dropped; `lost_small_window_times`: that
    share of the segments sent with less than six in flight, over that of the others.
    """
    sent = run.segments.filter(pl.col("length_bytes") > 0)
    if sent.is_empty():
        return {"lost": None, "lost_small_window_times": None}
    lost = (sent["fate"].cast(pl.String) == "channel").to_numpy()
    full = _in_flight(sent) >= RWND_BYTES
    small, large = (lost[which].mean() if which.any() else None for which in (~full, full))
    return {
        "lost": float(lost.mean()),
        "lost_small_window_times": float(small / large) if large and small is not None else None,
    }


def _in_flight(sent: pl.DataFrame) -> np.ndarray:
    """Bytes in flight as each data segment left, itself included, as the server could know."""
    acked = sent.select("acked_s", end=pl.col("seq") + pl.col("length_bytes")).drop_nulls()
    acked = acked.sort("acked_s").with_columns(pl.col("end").cum_max())
    times, ends = acked["acked_s"].to_numpy(), acked["end"].to_numpy()
    # Position 1 before any ACK.
    known = np.concatenate([[1], ends])[np.searchsorted(times, sent["sent_s"], side="right")]
    highest = (sent["seq"] + sent["length_bytes"]).cum_max().to_numpy()
    return np.asarray(highest - known)


def frame_s(payload_bytes: int) -> float:
    """Time of a frame on a 10 Mbit/s link."""
    return (payload_bytes + HEADERS_BYTES + OVERHEAD_BYTES) * 8 / RATE_BIT_S


def steady_round_s() -> float:
    """Two frames on the first link, one on the second, propagation, the ACK on both links."""
    return RTT_S + 3 * frame_s(MSS_BYTES) + 2 * frame_s(0)


def windows(run: retx.Result | RunTables) -> pl.DataFrame:
    """The server's window at each ACK since the end of recovery; row 0 is the end."""
    end = run.episodes["end_s"][0]
    return _of_server(run, run.samples).filter(pl.col("time_s") >= end)


def _of_server(run: retx.Result | RunTables, table: pl.DataFrame) -> pl.DataFrame:
    """Rows of the server's connection; a client whose application reads late has another one."""
    return table.filter(pl.col("flow").cast(pl.String) == run.flows["name"][0])


def _recovery(run: RunTables) -> dict[str, float | None]:
    """Recovery from the loss of segment 221, or one near it; nothing without a loss.

    Quantities in steady round trips of the simulator, from the lost copy unless stated otherwise:
        `rounds_to_retransmit`: until the next copy.
        `rounds_to_window`: until a window of six segments; `rounds_of_growth`: the same from the
            end of the recovery, in `steps_of_growth` ACKs.
    In round trips of the run itself:
        `rounds`: until six segments are in flight; `growth`: from the end of the recovery.
    Others:
        `segments_meanwhile`, `segments_until_full`: sent until then, by either definition.
        `cwnd_after_recovery`: bytes.
        `twelve_segments_s`: from the first to the last arrival of figure 10.
        `rwnd_least`: smallest window of the client, from 0.1 s before to 0.5 s after the loss.
    """
    recovered = run.episodes["end_s"]
    sent = _of_server(run, run.segments).filter(pl.col("length_bytes") > 0)
    lost = sent.filter(pl.col("fate").cast(pl.String) == "script")
    if lost.is_empty():
        return {}
    lost_at, seq, end = lost["sent_s"][0], lost["seq"][0], recovered[0]
    again = sent.filter(pl.col("retransmission") & (pl.col("seq") == seq))["sent_s"][0]
    grown = windows(run)
    wide = grown.filter(pl.col("cwnd_bytes") >= RWND_BYTES)["time_s"][0]
    filled = pl.Series(_in_flight(sent) >= RWND_BYTES)
    full = sent.filter(filled & (sent["sent_s"] > end))["sent_s"][0]
    steady = sent.filter(pl.col("packet_number").is_between(150, FIRST_OF_WINDOW - 1))["sent_s"]
    own_round_s = 6 * float(steady[-1] - steady[0]) / (len(steady) - 1)
    first = sent.filter(pl.col("packet_number") == FIRST_OF_WINDOW)["arrived_s"][0]
    arrived = sent.filter(pl.col("arrived_s") >= first)["arrived_s"].sort()
    around = _of_server(run, run.samples).filter(
        pl.col("time_s").is_between(lost_at - 0.1, lost_at + 0.5)
    )
    return {
        "rounds_to_retransmit": (again - lost_at) / steady_round_s(),
        "rounds_to_window": (wide - lost_at) / steady_round_s(),
        "rounds_of_growth": (wide - end) / steady_round_s(),
        "steps_of_growth": grown.filter(pl.col("time_s") < wide).height,
        "rounds": (full - lost_at) / own_round_s,
        "growth": (full - end) / own_round_s,
        "segments_meanwhile": _between(sent, lost_at, wide),
        "segments_until_full": _between(sent, lost_at, full),
        "cwnd_after_recovery": grown["cwnd_bytes"][0],
        "twelve_segments_s": arrived[IN_FIGURE - 1] - arrived[0],
        "rwnd_least": int(around["rwnd_bytes"].to_numpy().min()),
    }


def _between(sent: pl.DataFrame, start: float, end: float) -> int:
    return sent.filter(pl.col("sent_s").is_between(start, end, closed="left")).height
