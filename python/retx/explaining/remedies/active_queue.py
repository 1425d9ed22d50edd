"""Active queue management at the bottleneck."""

from __future__ import annotations

from retx.explaining.remedy import CONGESTION, Change, Propose, Remedy
from retx.explaining.situation import Situation

DISCIPLINES = {
    "fq_codel": "FQ-CoDel (RFC 8290)",
    "codel": "CoDel (RFC 8289)",
    "pie": "PIE (RFC 8033)",
}


def _propose(discipline: str, text: str) -> Propose:
    def changes(situation: Situation) -> list[Change]:
        hop = situation.queue_hop
        if (hop.value("queue") or {}).get("discipline") == discipline:
            return []
        shaped = f"{0.95 * (hop.rate_bit_s or 0) / 1e3:.0f}kbit"
        cake = (
            "or by CAKE, which shapes and has a queue for each flow: tc qdisc replace dev DEV root "
            f"cake bandwidth {shaped}"
        )
        return [
            Change(
                {f"{hop.key}.queue": discipline},
                f"{text} at the queue before {situation.queue_place(hop)}",
                (
                    f"{situation.router_place(hop)}, where the queue stands: "
                    f"tc qdisc replace dev DEV root {discipline}",
                    "where the queue stands in a modem beyond it, a shaper first: tc qdisc replace "
                    f"dev DEV root handle 1: htb default 1; tc class add dev DEV parent 1: classid "
                    f"1:1 htb rate {shaped}; tc qdisc add dev DEV parent 1:1 {discipline}",
                    *((cake,) if discipline == "fq_codel" else ()),
                ),
            )
        ]

    return changes


REMEDIES = tuple(
    Remedy(
        discipline,
        (*CONGESTION, "timeout.spurious"),
        _propose(discipline, text),
        "Losses where a long queue had none; on long paths less goodput for a single flow.",
        where="router",
        queues=True,
    )
    for discipline, text in DISCIPLINES.items()
)
