"""DCTCP (RFC 8257) at both ends, with a queue that marks."""

from __future__ import annotations

from retx.explaining.remedies.congestion_control import use_command
from retx.explaining.remedies.explicit_congestion import marking
from retx.explaining.remedy import CONGESTION, Change, Remedy
from retx.explaining.situation import Situation


def _propose(situation: Situation) -> list[Change]:
    if situation.tcp["congestion_control"]["name"] == "dctcp":
        return []
    queue = marking(situation)
    return [
        Change(
            {f"{situation.tcp_key}.congestion_control": "dctcp", **queue.overrides},
            f"DCTCP at both ends, on the same loss detection and timers, with {queue.text}",
            (
                f"at both ends: {use_command('dctcp')}",
                "for one route, at both ends: ip route change PREFIX via GATEWAY congctl dctcp",
                *(queue.apply if queue.overrides else ()),
            ),
        )
    ]


REMEDIES = (
    Remedy(
        "dctcp",
        CONGESTION,
        _propose,
        "For data centres under one administration: without a queue that marks it fills the queue "
        "as Reno does, and beside other flows in a queue that marks it takes the larger share.",
        where="router",
        queues=True,
        is_seldom=True,
    ),
)
