"""Remedies for connections that TCP gives up: more retransmissions before that."""

from __future__ import annotations

from retx.explaining.evidence import is_dead
from retx.explaining.remedy import Change, Remedy
from retx.explaining.situation import NIL, Situation

RETRIES = (15, 30, 60)
"""Numbers of retransmissions that are tried: Linux's default, twice and four times as many."""
SYN_RETRIES = (6, 12, 24)
"""Numbers of retransmissions of the SYN that are tried: Linux's default and multiples of it."""
LINEAR_SYNS = 4
"""Number of SYNs that Linux sends before those that it counts (`tcp_syn_linear_timeouts`)."""


def _retries(situation: Situation) -> list[Change]:
    now = situation.tcp.get("max_retransmissions")
    if situation.failed_at_s is None or now is None:
        return []
    opens = is_dead(situation)
    segment = " of the SYN/ACK" if opens else ""
    return [
        Change(
            {f"{situation.tcp_key}.max_retransmissions": retries},
            f"{retries} retransmissions{segment} before TCP gives up",
            _of_syn_acks(retries) if opens else _of_data(retries, situation),
            str(retries),
        )
        for retries in RETRIES
        if retries > now
    ][:1]


def _of_syn_acks(retries: int) -> tuple[str, ...]:
    """Instructions for the side that answers a SYN."""
    return (
        f"at the side that accepts connections: sysctl -w net.ipv4.tcp_synack_retries={retries}",
        f"for one program: setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, {retries}) before listen",
    )


def _of_data(retries: int, situation: Situation) -> tuple[str, ...]:
    """Instructions for the side that gave up: the receiver if no timer of the sender ran."""
    place = "sender" if situation.share("timeout") >= NIL else "receiver, which sends the requests"
    return (
        f"at the {place}: sysctl -w net.ipv4.tcp_retries2={retries}",
        "for one program: no TCP_USER_TIMEOUT, or a longer one",
    )


def _syn_retries(situation: Situation) -> list[Change]:
    tcp = situation.tcp
    linear = LINEAR_SYNS if tcp["give_up"] == "linux" else 0
    now = tcp.get("max_syn_retransmissions", tcp.get("max_retransmissions"))
    if situation.failed_at_s is None or now is None:
        return []
    return [
        Change(
            {f"{situation.tcp_key}.max_syn_retransmissions": retries + linear},
            f"{retries + linear} retransmissions of the SYN before TCP gives up",
            (
                f"at the side that connects: sysctl -w net.ipv4.tcp_syn_retries={retries}",
                f"for one program: setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, {retries})",
            ),
            str(retries),
        )
        for retries in SYN_RETRIES
        if retries + linear > now
    ][:1]


PRICE = "A dead path is noticed later."
REMEDIES = (
    Remedy(
        "max_retransmissions", ("timeout", "handshake", "application"), _retries, PRICE, undoes=True
    ),
    Remedy("max_syn_retransmissions", ("handshake",), _syn_retries, PRICE, undoes=True),
)
