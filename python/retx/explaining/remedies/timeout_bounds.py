"""Minimum and maximum of the retransmission timeout, and its value before the first RTT sample."""

from __future__ import annotations

from retx.explaining.remedy import Change, Remedy
from retx.explaining.situation import NIL, Situation
from retx.scenarios.units import seconds_of

LOW_MS, HIGH_MS, CAP_S, SYN_MS = (50, 200), 1000, 2, 300
SLOW_SYN_S = 3
"""Initial timeout of RFC 2988, for paths whose round trip is longer than the timeout of Linux."""
LEAST_CAP_S = 60
"""Smallest maximum of the timeout that RFC 6298 §2.5 permits."""
ROOM = 1.5
"""A maximum timeout counts as too low if it is below this number of mean round trips: the timer may
then expire before an ACK arrives.
"""


def _floor(situation: Situation) -> list[Change]:
    now = seconds_of(situation.tcp["min_rto"])
    wanted = list(LOW_MS) if situation.share("timeout") >= situation.share(".spurious") else []
    if situation.share("timeout.spurious") > 0:
        wanted.append(HIGH_MS)
    return [
        Change(
            {f"{situation.tcp_key}.min_rto": f"{ms} ms"},
            f"a least retransmission timeout of {ms} ms",
            (
                f"at the sender: ip route change PREFIX via GATEWAY rto_min {ms}ms",
                f"for all routes (Linux 6.11 or later): sysctl -w net.ipv4.tcp_rto_min_us={ms}000",
            ),
            f"{ms} ms",
        )
        for ms in wanted
        if abs(now - ms / 1e3) > 1e-6 and (ms == HIGH_MS or ms / 1e3 < now)
    ]


def _cap(situation: Situation) -> list[Change]:
    now = seconds_of(situation.tcp["max_rto"])
    if now < ROOM * (situation.path.rtt_s + situation.queueing_s):
        return [_higher_cap(situation)]
    if now <= CAP_S or situation.share("timeout") < NIL:
        return []
    return [
        Change(
            {f"{situation.tcp_key}.max_rto": f"{CAP_S} s"},
            f"a largest retransmission timeout of {CAP_S} s",
            (
                "at the sender (Linux 6.15 or later): sysctl -w "
                f"net.ipv4.tcp_rto_max_ms={CAP_S}000",
                f"for one program: setsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, {CAP_S}000)",
            ),
            f"{CAP_S} s",
        )
    ]


def _higher_cap(situation: Situation) -> Change:
    """Maximum timeout above the round trip, so that no segment is retransmitted before its ACK."""
    return Change(
        {f"{situation.tcp_key}.max_rto": f"{LEAST_CAP_S} s"},
        f"a largest retransmission timeout of {LEAST_CAP_S} s, the least that RFC 6298 allows",
        (
            "at the sender (Linux 6.15 or later): sysctl -w "
            f"net.ipv4.tcp_rto_max_ms={LEAST_CAP_S}000",
            f"for one program: setsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, {LEAST_CAP_S}000)",
        ),
        f"{LEAST_CAP_S} s",
    )


def _first(situation: Situation) -> list[Change]:
    wanted, now = SYN_MS / 1e3, seconds_of(situation.tcp["initial_rto"])
    if now < situation.path.rtt_s and situation.path.rtt_s < SLOW_SYN_S:
        return [_syn(situation, 1000 * SLOW_SYN_S)]
    if now <= wanted or situation.path.rtt_s > wanted / 2:
        return []
    return [_syn(situation, SYN_MS)]


def _syn(situation: Situation, ms: int) -> Change:
    return Change(
        {f"{situation.tcp_key}.initial_rto": f"{ms} ms"},
        f"a first timeout of {ms} ms for the SYN",
        (
            "at the side that connects: a BPF program of type sock_ops that answers "
            f"BPF_SOCK_OPS_TIMEOUT_INIT with {ms} (ms in jiffies)",
        ),
        f"{ms} ms",
    )


REMEDIES = (
    Remedy("min_rto", ("timeout",), _floor, "A low floor times out when delay jumps."),
    Remedy("max_rto", ("timeout", ".spurious"), _cap, "More retransmissions into a dead path."),
    Remedy("initial_rto", ("handshake",), _first, "Needless SYNs on paths of long delay."),
)
