"""Reports of iperf3 (`--json`): UDP with losses per interval, TCP with retransmissions and RTTs.

With UDP, only the receiver counts the losses of each interval. Use the receiver's report, or that
of a client with `--get-server-output`. Intervals that iperf3 omits (`-O`) are left out.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from retx.fitting.series import Counts, Rates, Series

OVERHEAD_BYTES = 20 + 32 + 38
"""Bytes of a frame in addition to its payload: IPv4, TCP with timestamps, and Ethernet as by
default on links."""
UDP_UNKNOWN = (
    "which packets of an interval were lost: bursts show only in how much the counts vary",
    "a law of loss with more than two parameters",
    "delays: iperf3 reports only jitter",
    "the bottleneck's rate and queue, unless the test has filled them",
)
TCP_UNKNOWN = (
    "losses: iperf3 counts retransmissions, of which some are needless and some repeat a loss",
    "bursts of losses",
    "the delay of each way: the scenario gives half of the shortest RTT to each",
    "whether the rate was the link's, or what the transport reached on it",
)


def read(text: str, name: str) -> Series:
    """Reads a report.

    Raises:
        ValueError: The text is not a report, or contains no losses.
    """
    try:
        report = json.loads(text)
    except ValueError as error:
        raise ValueError(f"not JSON ({error}): run iperf3 with --json") from None
    if not isinstance(report, dict) or "start" not in report:
        raise ValueError(
            "not a report of iperf3, because the key `start` is missing: run iperf3 with --json"
        )
    if report.get("error"):
        raise ValueError(f"the test has failed: {report['error']}")
    test = report["start"].get("test_start", {})
    if str(test.get("protocol", "TCP")).upper() == "UDP":
        return _udp(report, name)
    return _tcp(report, name)


def _intervals(report: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for interval in report.get("intervals", []):
        one = interval.get("sum_received") or interval.get("sum") or {}
        if one and not one.get("omitted") and one.get("seconds", 0) > 0:
            found.append({**one, "streams": interval.get("streams", [])})
    return found


def _udp(report: dict[str, Any], name: str) -> Series:
    server = report.get("server_output_json")
    sides = [server] if isinstance(server, dict) else []
    for side in [*sides, report]:
        rows = [it for it in _intervals(side) if "lost_packets" in it]
        if rows and not (side is report and not sides and _is_sender(report)):
            counts = _counts(rows)
            return Series("iperf3", name, False, counts=counts, unknown=UDP_UNKNOWN)
    total = report.get("end", {}).get("sum", {})
    if "lost_packets" not in total or not total.get("packets"):
        raise ValueError("the report has no losses: use the report of the receiver")
    return Series(
        "iperf3", name, False, counts=_counts([{"start": 0.0, **total}]),
        findings=(
            "only the sum of the losses is in this report: take the receiver's, or add "
            "--get-server-output",
        ),
        unknown=UDP_UNKNOWN,
    )  # fmt: skip


def _is_sender(report: dict[str, Any]) -> bool:
    """True for a sender's report: its intervals count transmitted packets, but no losses."""
    rows = _intervals(report)
    total = report.get("end", {}).get("sum", {}).get("lost_packets", 0)
    return total > 0 and all(it.get("lost_packets", 0) == 0 for it in rows)


def _counts(rows: list[dict[str, Any]]) -> Counts:
    def column(key: str) -> Any:  # noqa: ANN401
        return np.array([float(row.get(key, 0)) for row in rows])

    packets, lost = column("packets"), column("lost_packets")
    # iperf3 subtracts a late packet from the losses, which can make the count of an interval
    # negative.
    return Counts(column("seconds"), packets, np.clip(lost, 0, packets))


def _tcp(report: dict[str, Any], name: str) -> Series:
    rows = _intervals(report)
    if not rows:
        raise ValueError("the report has no intervals: the test has not run")
    starts = np.array([float(row["start"]) for row in rows])
    rates = np.array([float(row.get("bits_per_second", 0)) for row in rows])
    rtts = [[stream["rtt"] / 1e6 for stream in row["streams"] if stream.get("rtt")] for row in rows]
    smallest = np.array([min(it) if it else np.nan for it in rtts])
    mss = float(report["start"].get("tcp_mss_default") or 1448)
    segments = np.array([float(row.get("bytes", 0)) / mss for row in rows])
    resent = np.array([float(row.get("retransmits", np.nan)) for row in rows])
    counts = Counts(np.array([float(row["seconds"]) for row in rows]), segments, resent)
    findings = [
        f"iperf3 counts payload, {mss:g} bytes of each frame of {mss + OVERHEAD_BYTES:g} on the "
        "link: the rates here are the link's"
    ]
    rates *= (mss + OVERHEAD_BYTES) / mss
    if np.isnan(resent).all():
        findings.append("no retransmissions in it: take the report of the sender")
    if np.isnan(smallest).all():
        findings.append("no RTTs in it: take the report of a Linux sender")
    shortest, longest = _rtts(report)
    wait_s = None
    if shortest is not None:
        # iperf3 reads `rtt` only at the ends of intervals, and the shortest RTT may occur in
        # between.
        smallest = np.append(smallest, shortest)
        wait_s = None if longest is None else max(longest - shortest, 0.0)
    return Series(
        "iperf3", name, True, counts=counts, rates=Rates(starts, rates), rtts_s=smallest,
        queue_wait_s=wait_s, findings=tuple(findings), unknown=TCP_UNKNOWN,
    )  # fmt: skip


def _rtts(report: dict[str, Any]) -> tuple[float | None, float | None]:
    """Shortest and longest RTT of the whole test; None if the sender does not know them."""
    senders = [it.get("sender", {}) for it in report.get("end", {}).get("streams", [])]
    shortest = [it["min_rtt"] / 1e6 for it in senders if it.get("min_rtt")]
    longest = [it["max_rtt"] / 1e6 for it in senders if it.get("max_rtt")]
    return min(shortest, default=None), max(longest, default=None)
