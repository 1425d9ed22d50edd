"""A congestion window that is kept across pauses."""

from __future__ import annotations

from retx.explaining.remedy import Change, Remedy
from retx.explaining.situation import Situation


def _propose(situation: Situation) -> list[Change]:
    if not situation.tcp["slow_start_after_idle"]:
        return []
    return [
        Change(
            {f"{situation.tcp_key}.slow_start_after_idle": False},
            "a congestion window that is kept over pauses of the application",
            ("at the sender: sysctl -w net.ipv4.tcp_slow_start_after_idle=0",),
        )
    ]


def _has_pauses(situation: Situation) -> list[Change]:
    paused = situation.flow["app"]["kind"] == "request_response"
    return _propose(situation) if paused else []


REMEDIES = (
    Remedy(
        "keep_window",
        ("slow_start", "application"),
        _has_pauses,
        "A burst into a path that may have changed meanwhile.",
    ),
)
