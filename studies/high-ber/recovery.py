"""Recovery from the single loss of `one_loss.toml`, in the terms of the paper's section 5."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

import retx

from .closed_forms import MSS_BYTES, RTT_S, RWND_BYTES, frame_s, grown
from .quantities import in_flight

FIRST_OF_WINDOW = 217
"""The first of the six segments among which the fifth is lost: figure 10."""
IN_FIGURE = 12
"""Segments that reach the client in figure 10."""


@dataclass(frozen=True)
class Recovery:
    """Recovery from one loss, from the lost segment until the window is restored."""

    round_s: float
    """Time from a segment's start to the arrival of its ACK, in the steady state."""
    duplicates: int
    """Number of duplicate ACKs at the retransmission."""
    rounds_to_retransmit: float
    """Number of rounds from the lost segment to its retransmission."""
    cwnd_after_recovery: int
    rounds_of_growth: float
    """Number of rounds from the end of recovery until the client's window limits the server
    again."""
    steps_of_growth: int
    """Number of ACKs in that time; each is a step of table 9."""
    rounds_to_window: float
    """Number of rounds from the lost segment until then."""
    segments_meanwhile: int
    """Segments sent in that time."""
    segments_lossless: float
    """Number of segments that full windows would have contained."""
    twelve_segments_s: float
    """Time from the first to the last arrival of figure 10."""
    rwnd_least: int
    """Smallest window of the client, from 0.1 s before the loss."""
    table_9_worst: float
    """Largest difference to table 9, step by step, in bytes."""


def steady_round_s() -> float:
    """Two frames on the first link, one on the second, propagation, the ACK on both links."""
    return RTT_S + 3 * frame_s(MSS_BYTES) + 2 * frame_s(0)


def windows(result: retx.Result) -> pl.DataFrame:
    """The window at each ACK since the end of recovery; row 0 is the end."""
    end = result.episodes["end_s"][0]
    return result.samples.filter(pl.col("time_s") >= end).select("time_s", "cwnd_bytes")


def recovery(result: retx.Result) -> Recovery:
    """Recovery in a run of `one_loss.toml` with segments and a sample at every ACK."""
    segments, samples, episode = result.segments, result.samples, result.episodes.row(0, named=True)
    arrived = ["delivered", "refused", "on_its_way"]
    lost = segments.filter(~pl.col("fate").cast(pl.String).is_in(arrived))
    lost_at, seq = lost["sent_s"][0], lost["seq"][0]
    again = segments.filter(pl.col("retransmission") & (pl.col("seq") == seq))["sent_s"][0]
    grown_again = windows(result)
    full = grown_again.filter(pl.col("cwnd_bytes") >= RWND_BYTES)["time_s"][0]
    meanwhile = segments.filter(pl.col("sent_s").is_between(lost_at, full, closed="left"))
    figure = (
        segments.filter(pl.col("arrived_s").is_not_null())
        .sort("arrived_s")
        .filter(
            pl.col("arrived_s")
            >= segments.filter(pl.col("packet_number") == FIRST_OF_WINDOW)["arrived_s"][0]
        )["arrived_s"]
    )
    waiting = samples.filter(
        pl.col("time_s").is_between(lost_at, episode["start_s"]) & (pl.col("ack_bytes") == seq - 1)
    )
    around = samples.filter(pl.col("time_s").is_between(lost_at - 0.1, full))
    table_9 = grown(3 * MSS_BYTES, 14)
    steps = grown_again["cwnd_bytes"].head(len(table_9)).to_list()
    round_s = steady_round_s()
    return Recovery(
        round_s=round_s,
        duplicates=waiting.height - 1,
        rounds_to_retransmit=(again - lost_at) / round_s,
        cwnd_after_recovery=grown_again["cwnd_bytes"][0],
        rounds_of_growth=(full - episode["end_s"]) / round_s,
        steps_of_growth=grown_again.filter(pl.col("time_s") < full).height,
        rounds_to_window=(full - lost_at) / round_s,
        segments_meanwhile=meanwhile.height,
        segments_lossless=(full - lost_at) / round_s * RWND_BYTES / MSS_BYTES,
        twelve_segments_s=figure[IN_FIGURE - 1] - figure[0],
        rwnd_least=int(around["rwnd_bytes"].to_numpy().min()),
        table_9_worst=max(abs(a - b) for a, b in zip(steps, table_9, strict=True)),
    )


@dataclass(frozen=True)
class Refill:
    """Recovery from one loss under any settings, until six segments are in flight again."""

    round_s: float
    """Time in which six segments are sent, before the loss."""
    rounds: float
    """Rounds from the lost copy on."""
    rounds_of_growth: float
    """Number of rounds since the end of the recovery."""
    segments: int
    """Sent meanwhile."""


def refill(result: retx.Result) -> Refill:
    """Recovery in a run that loses only segment 221, or one near it."""
    sent = result.segments.filter(pl.col("length_bytes") > 0)
    steady = sent.filter(pl.col("packet_number").is_between(150, FIRST_OF_WINDOW - 1))["sent_s"]
    round_s = 6 * float(steady[-1] - steady[0]) / (len(steady) - 1)
    lost_at = sent.filter(pl.col("fate").cast(pl.String) == "script")["sent_s"][0]
    recovered = result.episodes["end_s"][0]
    full = sent.with_columns(in_flight=in_flight(sent)).filter(
        (pl.col("sent_s") > recovered) & (pl.col("in_flight") >= RWND_BYTES)
    )["sent_s"][0]
    return Refill(
        round_s=round_s,
        rounds=(full - lost_at) / round_s,
        rounds_of_growth=(full - recovered) / round_s,
        segments=sent.filter(pl.col("sent_s").is_between(lost_at, full, closed="left")).height,
    )


def rwnd_least(result: retx.Result) -> int:
    """Smallest window received from the client around the loss.

    From 0.1 s before it to 0.5 s after it; of the server's connection, if there are two.
    """
    first = result.flows["name"][0]
    sent = result.segments.filter(pl.col("flow").cast(pl.String) == first)
    lost_at = sent.filter(pl.col("fate").cast(pl.String) == "script")["sent_s"][0]
    around = result.samples.filter(
        (pl.col("flow").cast(pl.String) == first)
        & pl.col("time_s").is_between(lost_at - 0.1, lost_at + 0.5)
    )
    return int(around["rwnd_bytes"].to_numpy().min())
