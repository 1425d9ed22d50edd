"""Senders that distinguish corruption from congestion, and keep the window after corruption."""

from __future__ import annotations

from retx.explaining.remedy import WIRELESS, Change, Propose, Remedy
from retx.explaining.situation import Situation

CAUSES = {
    "threshold": "an RTT below a threshold (Teng & Chang)",
    "veno_n": "few segments queued (Veno's N)",
    "jitter": "hardly any jitter (after JTCP)",
    "spike": "no spike of the RTT",
    "zigzag": "a low RTT for so many losses (ZigZag)",
    "mbiaz": "the segment after the gap on time (mBiaz)",
    "zbs": "Spike, mBiaz or ZigZag by the use of the path (ZBS)",
    "trend": "RTTs that have not been rising (Trend)",
}


def _propose(name: str) -> Propose:
    def changes(situation: Situation) -> list[Change]:
        if situation.tcp["loss_cause"]["name"] != "none":
            return []
        return [
            Change(
                {f"{situation.tcp_key}.loss_cause": name},
                f"losses taken for corruption by {CAUSES[name]}",
                (
                    "at the sender: in no kernel as it is; a congestion control of its own, in BPF "
                    "(struct_ops), that leaves ssthresh alone after such a loss",
                ),
            )
        ]

    return changes


REMEDIES = tuple(
    Remedy(
        f"loss_cause_{name}",
        WIRELESS,
        _propose(name),
        "A congestion loss taken for corruption keeps a full queue full.",
        in_linux=False,
    )
    for name in CAUSES
)
