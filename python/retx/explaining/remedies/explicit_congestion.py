"""Explicit congestion notification (RFC 3168) with a queue that marks."""

from __future__ import annotations

from typing import Any

from retx.explaining.path import Hop
from retx.explaining.remedy import CONGESTION, Change, Remedy
from retx.explaining.situation import Situation

MARKING = ("codel", "fq_codel", "pie", "red")
RED = "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth"
"""Parameters of RED, which has no defaults: thresholds of 20 and 60 packets. The rate is added."""


def _propose(situation: Situation) -> list[Change]:
    if situation.tcp["ecn"]:
        return []
    hop = situation.queue_hop
    overrides: dict[str, Any] = {f"{situation.tcp_key}.ecn": True}
    discipline = (hop.value("queue") or {}).get("discipline")
    if discipline not in MARKING:
        discipline = "codel"
        overrides[f"{hop.key}.queue"] = {"discipline": discipline, "ecn": True}
    elif not hop.value("queue").get("ecn"):
        overrides[f"{hop.key}.queue.ecn"] = True
    return [
        Change(
            overrides,
            f"ECN at both ends, with a queue before {situation.queue_place(hop)} that marks",
            (
                "at both ends: sysctl -w net.ipv4.tcp_ecn=1",
                f"{situation.router_place(hop)}: tc qdisc replace dev DEV root "
                f"{_command(discipline, hop)} ecn",
            ),
        )
    ]


def _command(discipline: str, hop: Hop) -> str:
    if discipline != "red":
        return discipline
    return f"{RED} {(hop.rate_bit_s or 1e7) / 1e3:.0f}kbit"


REMEDIES = (
    Remedy(
        "ecn",
        CONGESTION,
        _propose,
        "Works only where every queue that fills marks; a few middleboxes drop such SYNs.",
        where="router",
        queues=True,
    ),
)
