"""Loss detection that tolerates more reordering."""

from __future__ import annotations

from retx.explaining.remedy import Change, Remedy
from retx.explaining.situation import Situation

THRESHOLD = 10


def _propose(situation: Situation) -> list[Change]:
    if int(situation.tcp["dupack_threshold"]) >= THRESHOLD:
        return []
    return [
        Change(
            {f"{situation.tcp_key}.dupack_threshold": THRESHOLD},
            f"{THRESHOLD} duplicate ACKs before a retransmission",
            (f"at the sender: sysctl -w net.ipv4.tcp_reordering={THRESHOLD}",),
        )
    ]


REMEDIES = (
    Remedy(
        "reordering",
        ("window.spurious", "recovery.spurious"),
        _propose,
        "True losses are found later.",
    ),
)
