"""A larger initial window (RFC 6928)."""

from __future__ import annotations

from retx.explaining.remedy import Change, Remedy
from retx.explaining.situation import Situation

SEGMENTS = (10, 32)


def _propose(situation: Situation) -> list[Change]:
    now = situation.window("initial_window") or 0
    return [
        Change(
            {f"{situation.tcp_key}.initial_window": f"{segments} mss"},
            f"an initial window of {segments} segments",
            (
                f"at the sender: ip route change default via GATEWAY initcwnd {segments}",
                f"at the receiver, so that its first window has room: ip route change default "
                f"via GATEWAY initrwnd {segments}",
            ),
            str(segments),
        )
        for segments in SEGMENTS
        if segments * situation.mss > now
    ]


REMEDIES = (
    Remedy(
        "initial_window",
        ("slow_start", "handshake"),
        _propose,
        "A burst that a small queue does not hold.",
    ),
)
