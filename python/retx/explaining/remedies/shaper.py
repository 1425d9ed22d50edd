"""A shaper before a bottleneck whose queue is short: a policer, or a switch with small buffers."""

from __future__ import annotations

from itertools import pairwise

from retx.explaining.remedy import CONGESTION, Change, Remedy
from retx.explaining.situation import Situation
from retx.scenarios.path import Hop

SHORT = 0.5
"""Queue limit, as a share of the bandwidth-delay product, below which a queue counts as too short
for bursts.
"""
PART = 0.95
"""Ratio of the shaper's rate to that of the bottleneck, so that the queue forms at the shaper."""


def _propose(situation: Situation) -> list[Change]:
    policer = situation.path.policer
    if policer:
        # On a link, the policer acts after the transmitter, so the link with the policer can be
        # shaped itself.
        before = policer if policer.kind == "link" else None
        rate_bit_s = PART * (policer.policer_bit_s or 0.0)
    else:
        narrow, ways = situation.path.bottleneck, pairwise(situation.path.forward)
        before = next((one for one, other in ways if other is narrow), None)
        rate_bit_s = PART * (narrow.rate_bit_s or 0.0) if _is_short(narrow, situation) else 0.0
    if before is None or before.kind != "link" or not rate_bit_s:
        return []
    if (before.rate_bit_s or 0.0) * PART < rate_bit_s:
        return []
    rate = f"{rate_bit_s / 1e3:.0f}kbit"
    place = "at the sender" if before.left == situation.flow["from"] else f"at {before.left}"
    return [
        Change(
            {
                f"{before.key}.rate": f"{rate_bit_s / 1e6:.6g} Mbit/s",
                f"{before.key}.queue": "fq_codel",
            },
            f"a shaper at {rate_bit_s / 1e6:.3g} Mbit/s with FQ-CoDel before {before.name}",
            (
                f"{place}: tc qdisc replace dev DEV root handle 1: htb default 1; tc class add dev "
                f"DEV parent 1: classid 1:1 htb rate {rate}; tc qdisc add dev DEV parent 1:1 "
                "fq_codel",
                "or by CAKE, which shapes and has a queue for each flow: tc qdisc replace dev DEV "
                f"root cake bandwidth {rate}",
            ),
        )
    ]


def _is_short(hop: Hop, situation: Situation) -> bool:
    """True for a drop-tail queue of known length that is short for the path."""
    queue = hop.value("queue") or {}
    packets = queue.get("packets")
    return (
        queue.get("discipline") == "droptail"
        and packets is not None
        and packets * hop.packet_bits < SHORT * 8 * situation.path.product_bytes
    )


REMEDIES = (
    Remedy(
        "shaper",
        CONGESTION,
        _propose,
        "Nobody on that interface sends faster, whichever way it goes.",
        where="router",
    ),
)
