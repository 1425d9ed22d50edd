"""Acknowledgments that the receiver sends without delay."""

from __future__ import annotations

from retx.explaining.remedy import Change, Remedy
from retx.explaining.situation import Situation


def _propose(situation: Situation) -> list[Change]:
    now = situation.tcp.get("delayed_ack") or {}
    if now.get("segments", 1) == 1:
        return []
    return [
        Change(
            {f"{situation.tcp_key}.delayed_ack.segments": 1},
            "an acknowledgment for each segment",
            (
                "at the receiver: ip route change PREFIX via GATEWAY quickack 1",
                "for one program, again after each read: "
                "setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, 1)",
            ),
        )
    ]


REMEDIES = (
    Remedy(
        "quick_ack",
        ("delayed_ack", "slow_start", "window"),
        _propose,
        "Twice the acknowledgments, which cost airtime on shared radio links.",
    ),
)
