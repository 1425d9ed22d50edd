"""Small segments that are sent immediately, without Nagle's algorithm."""

from __future__ import annotations

from retx.explaining.remedy import Change, Remedy
from retx.explaining.situation import Situation


def _propose(situation: Situation) -> list[Change]:
    if not situation.tcp["nagle"]:
        return []
    return [
        Change(
            {f"{situation.tcp_key}.nagle": False},
            "Nagle's algorithm switched off",
            ("at the sender: setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, 1)",),
        )
    ]


REMEDIES = (Remedy("no_delay", ("nagle", "delayed_ack"), _propose, "More small segments."),)
