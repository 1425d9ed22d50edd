"""Floor and cap of the retransmission timeout, and its value before the first RTT sample."""

from __future__ import annotations

from retx.explaining.remedy import Change, Remedy
from retx.explaining.situation import Situation
from retx.explaining.units import seconds_of

LOW_MS, HIGH_MS, CAP_S, SYN_MS = (50, 200), 1000, 2, 300


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
    if seconds_of(situation.tcp["max_rto"]) <= CAP_S:
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


def _first(situation: Situation) -> list[Change]:
    wanted = SYN_MS / 1e3
    if seconds_of(situation.tcp["initial_rto"]) <= wanted or situation.path.rtt_s > wanted / 2:
        return []
    return [
        Change(
            {f"{situation.tcp_key}.initial_rto": f"{SYN_MS} ms"},
            f"a first timeout of {SYN_MS} ms for the SYN",
            (
                "at the side that connects: a BPF program of type sock_ops that answers "
                f"BPF_SOCK_OPS_TIMEOUT_INIT with {SYN_MS} (ms in jiffies)",
            ),
            f"{SYN_MS} ms",
        )
    ]


REMEDIES = (
    Remedy("min_rto", ("timeout",), _floor, "A low floor times out when delay jumps."),
    Remedy("max_rto", ("timeout",), _cap, "More retransmissions into a dead path."),
    Remedy("initial_rto", ("handshake",), _first, "Needless SYNs on paths of long delay."),
)
