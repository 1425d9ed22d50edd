"""Speed of a flow in one run, with its delay, retransmissions and effect on other flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retx.analysis.limits import flat, summed
from retx.explaining.situation import last_failure_s, leg_rows, own_rows
from retx.scenarios.names import is_leg
from retx.scenarios.units import seconds_of

FLOOR = 1e-9
"""Speed assumed for a flow that delivered nothing, so that ratios are defined."""


@dataclass(frozen=True)
class Measured:
    """Measurements of the connections of one `[[flow]]` in one run.

    Args:
        speed: Goodput in bit/s; for requests, 1 / mean response time in 1/s.
        goodput_bit_s: Goodput of all connections together. For a flow that TCP has given up, it is
            the mean until the end of the scenario, so that an earlier failure is no gain.
        response_s: Mean response time; None without exchanges, or before the last byte.
        rtt_s: Mean round-trip time; None if none was measured. If proxies split the flow, it is the
            sum of the round-trip times of its connections, and of the waits in the proxies.
        needless: Unnecessary retransmissions as a share of all transmissions.
        others_bit_s: Goodput of the other flows together.
        seconds: Seconds for each key of `limited_by`, summed over all connections.
        has_failed: True if TCP gave up one of the connections.
    """

    speed: float
    goodput_bit_s: float
    response_s: float | None
    rtt_s: float | None
    needless: float
    others_bit_s: float
    seconds: Mapping[str, float]
    has_failed: bool = False


def measured(summary: Mapping[str, Any], flow: Mapping[str, Any]) -> Measured:
    """Measurements of this `[[flow]]` in a run."""
    rows = own_rows(summary, flow)
    own = {row["name"] for row in rows}
    # A split flow has a row for each further leg in addition to its own row.
    names = {it["name"] for it in summary["scenario"]["flow"]}
    others = [
        row for row in summary["flows"] if row["name"] not in own and not is_leg(row["name"], names)
    ]
    has_failed = last_failure_s(summary, flow, rows) is not None
    goodput = _goodput(rows, flow, summary, has_failed=has_failed)
    response = _response(rows, flow)
    answers = flow["app"]["kind"] == "request_response"
    speed = (1 / response if response else 0.0) if answers else goodput
    legs = leg_rows(summary, flow)
    sent = sum(row["segments_sent"] or 0 for row in (*rows, *legs))
    needless = sum(row["retransmissions_unnecessary"] or 0 for row in (*rows, *legs))
    return Measured(
        speed=max(speed, FLOOR),
        goodput_bit_s=goodput,
        response_s=response,
        rtt_s=_round_trip_s(summary, rows, legs),
        needless=needless / sent if sent else 0.0,
        others_bit_s=sum(row["goodput_bit_s"] or 0.0 for row in others),
        seconds=summed(flat(row.get("limited_by")) for row in rows),
        has_failed=has_failed,
    )


def flow_in(summary: Mapping[str, Any], flow: Mapping[str, Any]) -> Mapping[str, Any]:
    """Table of the flow in a changed scenario, in which its `count` may differ."""
    found: Mapping[str, Any] = next(
        it for it in summary["scenario"]["flow"] if it["name"] == flow["name"]
    )
    return found


def _round_trip_s(
    summary: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], legs: Sequence[Mapping[str, Any]]
) -> float | None:
    """Mean time until an acknowledgment of the last receiver would be back; None if not measured.

    The round trips of a split flow's own connection end at the first proxy.
    """
    own = _mean_rtt_s(rows)
    if own is None or not legs:
        return own
    relays = {row["name"].rpartition("@")[2] for row in legs}
    for relay in relays:
        own += _mean_rtt_s([row for row in legs if row["name"].endswith(f"@{relay}")]) or 0.0
    warmup_s = seconds_of(summary["scenario"].get("warmup") or "0 s")
    span_s = summary["engine"]["simulated_s"] - warmup_s
    proxies = [relay for relay in summary["relays"] if relay["name"] in relays]
    return own + sum(_wait_s(relay, span_s) for relay in proxies)


def _mean_rtt_s(rows: Sequence[Mapping[str, Any]]) -> float | None:
    times = [row["rtt_mean_s"] for row in rows if row["rtt_mean_s"] is not None]
    return sum(times) / len(times) if times else None


def _wait_s(relay: Mapping[str, Any], duration_s: float) -> float:
    """Mean wait of a byte in a proxy, by Little's law."""
    held, relayed = relay["buffer_mean_bytes"], relay["bytes_relayed"]
    return float(held) * duration_s / relayed if held and relayed else 0.0


def _goodput(
    rows: Sequence[Mapping[str, Any]],
    flow: Mapping[str, Any],
    summary: Mapping[str, Any],
    *,
    has_failed: bool,
) -> float:
    """Goodput of all connections together; for a transfer, until the last one is complete.

    A run that is over once all connections are complete or given up ends before its duration. A
    connection that TCP has given up counts until the duration, in which its data never arrive.
    """
    scenario, end_s = summary["scenario"], summary["engine"]["simulated_s"]
    duration_s = seconds_of(scenario["duration"])
    if flow["app"]["kind"] != "transfer":
        start_s = min((row["start_s"] for row in rows if row["start_s"] is not None), default=0.0)
        begin_s = max(seconds_of(scenario.get("warmup") or "0 s"), start_s)
        goodput = _together(rows, begin_s, end_s)
        shortened = has_failed and begin_s < end_s < duration_s
        return goodput * (end_s - begin_s) / (duration_s - begin_s) if shortened else goodput
    ends = [duration_s if row["finish_s"] is None else row["finish_s"] for row in rows]
    life = max(ends) - min(row["start_s"] for row in rows)
    whole = sum(row["bytes_delivered"] or 0 for row in rows)
    return 8.0 * whole / life if life > 0 else 0.0


def _together(rows: Sequence[Mapping[str, Any]], begin_s: float, end_s: float) -> float:
    """Goodput of all connections from the start of the first one.

    The sum of their goodputs would be too large, since that of a later connection is its mean over
    a shorter time.
    """
    measured = [row for row in rows if row["goodput_bit_s"] is not None]
    if len(measured) < 2:
        return float(sum(row["goodput_bit_s"] for row in measured))
    ends = [end_s if row["finish_s"] is None else row["finish_s"] for row in measured]
    bits = 8.0 * sum(row["bytes_delivered"] for row in measured)
    return float(bits / (max(ends) - begin_s))


def _response(rows: Sequence[Mapping[str, Any]], flow: Mapping[str, Any]) -> float | None:
    if flow["app"]["kind"] == "request_response":
        counted = [row["exchanges"] for row in rows if row["exchanges"]["count"]]
        number = sum(times["count"] for times in counted)
        return sum(it["mean_s"] * it["count"] for it in counted) / number if number else None
    times = [row["response_time_s"] for row in rows if row["finish_s"] is not None]
    return max(times) if times and len(times) == len(rows) else None
