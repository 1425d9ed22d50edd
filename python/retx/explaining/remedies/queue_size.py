"""A queue before the bottleneck with a limit of at most one bandwidth-delay product."""

from __future__ import annotations

from math import ceil

from retx.explaining.remedy import CONGESTION, Change, Remedy
from retx.explaining.situation import Situation

PARTS = ((1.0, "one bandwidth-delay product"), (0.25, "a quarter of the bandwidth-delay product"))
LEAST_PACKETS = 4
NEAR = 0.2
"""Relative difference below which two queue sizes count as equal."""


def _propose(situation: Situation) -> list[Change]:
    hop = situation.queue_hop
    queue = hop.value("queue") or {}
    if queue.get("discipline") != "droptail" or not hop.rate_bit_s:
        return []
    changes = []
    for part, text in PARTS:
        wanted = ceil(part * situation.path.rtt_s * hop.rate_bit_s / hop.packet_bits)
        packets = max(LEAST_PACKETS, wanted)
        size = f"more than {text}" if packets > wanted else text
        now = queue.get("packets")
        if now and abs(packets - now) <= NEAR * now:
            continue
        changes.append(
            Change(
                {f"{hop.key}.queue": {"discipline": "droptail", "packets": packets}},
                f"a queue of {packets} packets ({size}) before {situation.queue_place(hop)}",
                (
                    f"{situation.router_place(hop)}: tc qdisc replace dev DEV root pfifo "
                    f"limit {packets}",
                    "the queue of the driver below it has to be short: ethtool -G DEV tx 64, or a "
                    "shaper slightly below the link's rate",
                ),
                str(packets),
            )
        )
    return changes


REMEDIES = (
    Remedy(
        "queue_size",
        (*CONGESTION, "timeout.spurious"),
        _propose,
        "A longer queue adds delay, a shorter one drops more.",
        where="router",
        queues=True,
    ),
)
