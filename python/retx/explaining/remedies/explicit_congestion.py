"""Explicit congestion notification (RFC 3168) with a queue that marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from retx.explaining.remedy import CONGESTION, Change, Remedy
from retx.explaining.situation import Situation
from retx.scenarios.path import Hop

MARKING = ("codel", "fq_codel", "pie", "red")
RED = "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth"
"""Parameters of RED, which has no defaults: thresholds of 20 and 60 packets. The link's
rate is appended.
"""


@dataclass(frozen=True)
class Marking:
    """A queue that marks packets (ECN), at the hop where the flow's packets wait.

    Args:
        overrides: Values by key that make the queue mark; empty if it marks already.
        text: Description of the queue.
        apply: Commands for Linux.
    """

    overrides: dict[str, Any]
    text: str
    apply: tuple[str, ...]


def marking(situation: Situation) -> Marking:
    """Queue that marks packets (ECN), for the hop at which the flow's packets wait longest."""
    hop = situation.queue_hop
    overrides: dict[str, Any] = {}
    discipline = (hop.value("queue") or {}).get("discipline")
    if discipline not in MARKING:
        discipline = "codel"
        overrides[f"{hop.key}.queue"] = {"discipline": discipline, "ecn": True}
    elif not hop.value("queue").get("ecn"):
        overrides[f"{hop.key}.queue.ecn"] = True
    return Marking(
        overrides,
        f"a queue before {situation.queue_place(hop)} that marks",
        (
            f"{situation.router_place(hop)}: tc qdisc replace dev DEV root "
            f"{_command(discipline, hop)} ecn",
        ),
    )


def _propose(situation: Situation) -> list[Change]:
    if situation.tcp["ecn"]:
        return []
    queue = marking(situation)
    return [
        Change(
            {f"{situation.tcp_key}.ecn": True, **queue.overrides},
            f"ECN at both ends, with {queue.text}",
            ("at both ends: sysctl -w net.ipv4.tcp_ecn=1", *queue.apply),
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
