"""A result as a notebook shows it."""

from __future__ import annotations

from html import escape
from typing import Any

from retx.quantities import count, rate, seconds

COLUMNS = ("flow", "TCP", "response time", "goodput", "segments", "resent", "FRR", "RTO")


def result_html(summary: dict[str, Any]) -> str:
    """A heading and a table of the flows."""
    title = summary["scenario"].get("title") or "retx result"
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    rows = "".join(f"<tr>{_cells(flow)}</tr>" for flow in summary["flows"][:20])
    more = len(summary["flows"]) - 20
    tail = f"<p>and {more} more flows</p>" if more > 0 else ""
    simulated = seconds(summary["engine"]["simulated_s"])
    return (
        f"<p><b>{escape(title)}</b>: {simulated} simulated, seed {summary['seed']}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{tail}"
    )


def _cells(flow: dict[str, Any]) -> str:
    values = (
        flow["name"],
        flow["tcp"],
        seconds(flow["response_time_s"]) if flow["finish_s"] is not None else "not complete",
        rate(flow["goodput_bit_s"]),
        count(flow["segments_sent"]),
        count(flow["segments_retransmitted"]),
        count(flow["frr_count"]),
        count(flow["rto_count"]),
    )
    return "".join(f"<td>{escape(str(value))}</td>" for value in values)
