"""Pacing: segments spread over the round trip."""

from __future__ import annotations

from retx.explaining.remedy import CONGESTION, Change, Remedy
from retx.explaining.situation import Situation


def _propose(situation: Situation) -> list[Change]:
    if situation.tcp["pacing"] or situation.tcp["congestion_control"]["name"] == "bbr":
        return []
    return [
        Change(
            {f"{situation.tcp_key}.pacing": True},
            "pacing: segments spread over the round trip",
            (
                "at the sender: tc qdisc replace dev DEV root fq",
                "for one program: setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, …) makes TCP pace "
                "by itself, with any qdisc",
            ),
        )
    ]


REMEDIES = (
    Remedy(
        "pacing",
        (*CONGESTION, "slow_start"),
        _propose,
        "Loses against bursts of others at a full queue.",
    ),
)
