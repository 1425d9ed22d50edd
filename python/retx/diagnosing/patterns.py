"""Sentences about the known faults and habits in a diagnosis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from retx.analysis.limits import per_cent
from retx.terminal.quantities import seconds

GROWS = 1.5
"""Least ratio of successive waits that counts as a doubling."""


@dataclass(frozen=True)
class Named:
    """Texts about a pattern."""

    title: str
    remedy: str
    """Sentence with a remedy; `{waits}` stands for a clause about the waits for timeouts, and
    `{queue}` for the remedy in `QUEUES`.
    """


PATTERNS = {
    "path_mtu_black_hole": Named(
        "Path-MTU black hole",
        "Let ICMP messages through that report a packet as too big, or clamp the MSS at the router "
        "with the smaller MTU, or set net.ipv4.tcp_mtu_probing=1 at the sender.",
    ),
    "outage": Named(
        "Outage",
        "Nothing came back, and {waits}: a lower cap of the RTO (net.ipv4.tcp_rto_max_ms) shortens "
        "the silence afterwards.",
    ),
    "policer": Named(
        "Policer",
        "If the goodput is already near this rate, only a higher rate makes the flow faster. "
        "Otherwise the bucket is too small for the bursts of the sender: BBR, pacing (the queue fq "
        "and SO_MAX_PACING_RATE) or a larger bucket. A shaper before the policer avoids losses, "
        "but makes a single flow faster only if the bucket is small.",
    ),
    "standing_queue": Named("Standing queue", "{queue}"),
    "small_receive_window": Named(
        "Small receive window",
        "At the receiver: a receive buffer of at least twice the rate of the bottleneck times the "
        "RTT (the last value of net.ipv4.tcp_rmem; and no SO_RCVBUF in the program, which would "
        "fix the buffer). A quicker network or another congestion control does not help.",
    ),
    "small_send_buffer": Named(
        "Small send buffer",
        "At the sender: a send buffer of at least twice the rate of the bottleneck times the RTT "
        "(the last value of net.ipv4.tcp_wmem; and no SO_SNDBUF in the program, which would fix "
        "the buffer), or a larger clamp of the congestion window (ip route … cwnd).",
    ),
    "zero_window": Named(
        "Closed receive window",
        "The receiving program does not read fast enough: the network is not the limit.",
    ),
    "think_time": Named(
        "Think time of the server",
        "The answering program takes this time: the network is not the limit.",
    ),
    "no_request": Named(
        "Nothing requested",
        "The requesting program takes this time: several requests at once, or fewer and larger "
        "ones, leave fewer pauses.",
    ),
    "ecn": Named("Congestion notified by ECN", "A queue marks packets before it has to drop them."),
    "options_refused": Named(
        "Options not accepted",
        "Without window scaling no more than 64 kB are in flight; without SACK several losses in "
        "one window take a round trip each, or a timeout. Switch them on (net.ipv4.tcp_sack, "
        "tcp_window_scaling), or find the device.",
    ),
    "options_removed": Named(
        "Options removed on the path",
        "A firewall or a proxy that normalises TCP options does this: let it pass them.",
    ),
}
"""Texts for each name in `patterns`."""
OF_DATA = (
    "a shorter queue or FQ-CoDel at the bottleneck, or a congestion control that leaves the queue "
    "short, such as BBR"
)
OF_ACKS = (
    "a shorter queue or FQ-CoDel at the bottleneck of that direction, which mostly carries other "
    "data, such as an upload; if the ACKs themselves fill it, fewer of them (ack-filter of CAKE)"
)
QUEUES = {
    "data": f"The data wait: {OF_DATA}.",
    "acknowledgments": (
        f"The ACKs wait, not the data: {OF_ACKS}. If other data fill it, another congestion "
        "control of this flow does not shorten it, but one of the other flow may."
    ),
    "both": f"The data wait, and the ACKs, too. For the data: {OF_DATA}. For the ACKs: {OF_ACKS}.",
    "unknown": (
        "This capture does not show whether the data or their ACKs wait; two captures, one at each "
        f"end, would. If the data wait: {OF_DATA}. If the ACKs wait: {OF_ACKS}."
    ),
}
"""Remedies for a standing queue, by the packets that wait in it."""


def title(pattern: Mapping[str, Any]) -> str:
    """Name of a pattern, with its probability."""
    return f"{PATTERNS[pattern['name']].title} ({per_cent(pattern['confidence'])} sure)"


def sentences(flow: Mapping[str, Any]) -> Iterator[str]:
    """Sentences about each pattern of a flow: its evidence, and a remedy."""
    for pattern in flow["patterns"]:
        evidence = pattern["evidence"][:1].upper() + pattern["evidence"][1:]
        remedy = PATTERNS[pattern["name"]].remedy
        remedy = remedy.replace("{waits}", _waits(flow["timeouts"]))
        remedy = remedy.replace("{queue}", QUEUES[pattern.get("waiting", "unknown")])
        yield f"{title(pattern)}: {evidence}. {remedy}"


def _waits(timeouts: Sequence[Mapping[str, Any]]) -> str:
    """Clause about the waits of the longest series of timeouts, which may double or not."""
    series: list[float] = []
    longest: list[float] = []
    for timeout in timeouts:
        series = [*(series if timeout["number"] > 1 else []), timeout["waited_s"]]
        longest = max(longest, series, key=len)
    grown = [after >= GROWS * before for before, after in pairwise(longest)]
    if 2 * sum(grown) >= len(grown):
        return "the sender waits twice as long after each timeout"
    return f"the sender waits up to {seconds(max(longest))} after each timeout"
