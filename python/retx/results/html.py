"""HTML of results in notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from retx.terminal.quantities import count, rate, seconds

if TYPE_CHECKING:
    import polars as pl

    from retx.results.replications import Replications

COLUMNS = (
    "flow", "TCP", "response time", "goodput", "RTT", "sent", "resent", "needless",
    "fast retransmits", "timeouts",
)  # fmt: skip
UDP_COLUMNS = ("flow over UDP", "goodput", "packets", "lost", "mean delay", "jitter")
MOST_ROWS = 20


def result_html(summary: dict[str, Any]) -> str:
    """Heading and table of the flows."""
    title = summary["scenario"].get("title") or "retx result"
    rows: dict[bool, list[str]] = {True: [], False: []}
    for flow in summary["flows"]:
        over_tcp = flow["tcp"] is not None
        rows[over_tcp].append(_cells(flow) if over_tcp else _udp_cells(flow))
    tables = _table(COLUMNS, rows[True]) + _table(UDP_COLUMNS, rows[False])
    simulated = seconds(summary["engine"]["simulated_s"])
    return f"<p><b>{escape(title)}</b>: {simulated} simulated, seed {summary['seed']}</p>" + tables


def frame_html(head: str, table: pl.DataFrame) -> str:
    """Heading with a data frame below it."""
    return f"<p><b>{escape(head)}</b></p>{table._repr_html_()}"


def _table(columns: tuple[str, ...], rows: list[str]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{name}</th>" for name in columns)
    body = "".join(f"<tr>{row}</tr>" for row in rows[:MOST_ROWS])
    more = len(rows) - MOST_ROWS
    tail = f"<p>and {more} more flows</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{tail}"


MEANS = {
    "response_time_s": ("response time", seconds),
    "goodput_bit_s": ("goodput", rate),
    "rtt_mean_s": ("RTT", seconds),
    "segments_retransmitted": ("resent", count),
    "fast_retransmit_count": ("fast retransmits", count),
    "rto_count": ("timeouts", count),
}


def replications_html(runs: Replications) -> str:
    """Heading and table of means with their 95 % intervals."""
    title = runs.scenario.get("title") or "retx replications"
    head = "".join(f"<th>{name}</th>" for name in ("flow", *(name for name, _ in MEANS.values())))
    found = {(row["flow"], row["quantity"]): row for row in runs.mean().iter_rows(named=True)}
    flows = list(dict.fromkeys(flow for flow, _ in found))
    rows = "".join(
        f"<tr><td>{escape(flow)}</td>"
        + "".join(
            _interval(found.get((flow, quantity)), show) for quantity, (_, show) in MEANS.items()
        )
        + "</tr>"
        for flow in flows[:20]
    )
    more = len(flows) - 20
    tail = f"<p>and {more} more flows</p>" if more > 0 else ""
    return (
        f"<p><b>{escape(title)}</b>: means of {len(runs)} runs, with 95 % intervals</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{tail}"
    )


def _interval(row: dict[str, Any] | None, show: Any) -> str:  # noqa: ANN401
    if row is None or row["mean"] is None:
        return "<td>–</td>"
    if row["low"] is None:
        return f"<td>{show(row['mean'])}</td>"
    return f"<td>{show(row['mean'])} ({show(row['low'])} to {show(row['high'])})</td>"


def _cells(flow: dict[str, Any]) -> str:
    values = (
        flow["name"],
        flow["tcp"],
        seconds(flow["response_time_s"]) if flow["finish_s"] is not None else "no end",
        rate(flow["goodput_bit_s"]),
        seconds(flow["rtt_mean_s"]),
        count(flow["segments_sent"]),
        count(flow["segments_retransmitted"]),
        count(flow["retransmissions_unnecessary"]),
        _by_cause(flow["fast_retransmit_count"], flow["episodes"]["fast_retransmit"]),
        _by_cause(flow["rto_count"], flow["episodes"]["rto"]),
    )
    return "".join(f"<td>{escape(str(value))}</td>" for value in values)


def _by_cause(number: int, causes: dict[str, int]) -> str:
    """Number of recoveries, with their true causes: `12 (2 congestion, 10 wireless)`."""
    listed = ", ".join(f"{count(times)} {cause}" for cause, times in causes.items() if times)
    return f"{count(number)} ({listed})" if listed else count(number)


def _udp_cells(flow: dict[str, Any]) -> str:
    values = (
        flow["name"],
        rate(flow["goodput_bit_s"]),
        count(flow["datagrams"]["sent"]),
        count(flow["datagrams"]["lost"]),
        seconds(flow["delay"]["mean_s"]),
        seconds(flow["jitter_s"]),
    )
    return "".join(f"<td>{escape(str(value))}</td>" for value in values)
