"""Speed of a flow in one run, with its delay, retransmissions and effect on other flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retx.analysis.limits import flat, summed
from retx.explaining.situation import last_failure_s, own_rows
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
        rtt_s: Mean round-trip time; None if none was measured.
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
    sent = sum(row["segments_sent"] or 0 for row in rows)
    needless = sum(row["retransmissions_unnecessary"] or 0 for row in rows)
    times = [row["rtt_mean_s"] for row in rows if row["rtt_mean_s"] is not None]
    return Measured(
        speed=max(speed, FLOOR),
        goodput_bit_s=goodput,
        response_s=response,
        rtt_s=sum(times) / len(times) if times else None,
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
        goodput = float(sum(row["goodput_bit_s"] or 0.0 for row in rows))
        begin_s = max(seconds_of(scenario.get("warmup") or "0 s"), rows[0]["start_s"] or 0.0)
        shortened = has_failed and begin_s < end_s < duration_s
        return goodput * (end_s - begin_s) / (duration_s - begin_s) if shortened else goodput
    ends = [duration_s if row["finish_s"] is None else row["finish_s"] for row in rows]
    life = max(ends) - min(row["start_s"] for row in rows)
    whole = sum(row["bytes_delivered"] or 0 for row in rows)
    return 8.0 * whole / life if life > 0 else 0.0


def _response(rows: Sequence[Mapping[str, Any]], flow: Mapping[str, Any]) -> float | None:
    if flow["app"]["kind"] == "request_response":
        counted = [row["exchanges"] for row in rows if row["exchanges"]["count"]]
        number = sum(times["count"] for times in counted)
        return sum(it["mean_s"] * it["count"] for it in counted) / number if number else None
    times = [row["response_time_s"] for row in rows if row["finish_s"] is not None]
    return max(times) if times and len(times) == len(rows) else None
