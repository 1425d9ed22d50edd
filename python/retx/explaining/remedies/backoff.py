"""Remedies that change how long the retransmission timer's backoff is kept."""

from __future__ import annotations

from retx.explaining.remedy import Change, Propose, Remedy
from retx.explaining.situation import Situation

POLICIES = {
    "reset_on_ack": (
        "the backoff reset by every ACK of new data (García et al.)",
        "no sysctl: Linux resets its backoff by a valid RTT sample, for which timestamps help: "
        "sysctl -w net.ipv4.tcp_timestamps=1",
    ),
    "linux": (
        "the backoff of Linux, reset by a valid RTT sample",
        "the default of Linux; with timestamps also during retransmissions: "
        "sysctl -w net.ipv4.tcp_timestamps=1",
    ),
}
LINEAR = (
    "thin streams on Linux back off by no more than needed: "
    "setsockopt(fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1)"
)


def _propose(name: str) -> Propose:
    def changes(situation: Situation) -> list[Change]:
        if situation.tcp["backoff"]["name"] == name:
            return []
        text, how = POLICIES[name]
        return [Change({f"{situation.tcp_key}.backoff": name}, text, (how, LINEAR))]

    return changes


REMEDIES = tuple(
    Remedy(
        f"backoff_{name}",
        ("timeout",),
        _propose(name),
        "More retransmissions while the path is dead or congested.",
        in_linux=name == "linux",
    )
    for name in POLICIES
)
