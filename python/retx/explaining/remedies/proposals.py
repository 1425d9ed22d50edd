"""Senders that were proposed in papers, and that no kernel implements."""

from __future__ import annotations

from retx.explaining.remedy import LOSSES, Change, Propose, Remedy
from retx.explaining.situation import Situation

CONTROLS = {
    "dynamic": "dynamic responding (Park et al. 2012)",
    "jtcp_like": "JTCP, reconstructed (Wu & Chen 2004)",
    "prairie_like": "TCP Prairie, reconstructed (Parvez & Hossain 2005)",
    "westwood_bulk_repeat_like": "Westwood with bulk repeat, reconstructed (Yang et al. 2003)",
}
HOW = (
    "at the sender: in no kernel; `retx list congestion_control` says what the model does, and BPF "
    "(struct_ops) can carry it"
)


def _control(name: str) -> Propose:
    def changes(situation: Situation) -> list[Change]:
        if situation.tcp["congestion_control"]["name"] == name:
            return []
        overrides = {f"{situation.tcp_key}.congestion_control": name}
        return [Change(overrides, CONTROLS[name], (HOW,))]

    return changes


REMEDIES = tuple(
    Remedy(
        name,
        (".wireless", ".congestion") if name == "dynamic" else LOSSES,
        _control(name),
        "Tried in simulations only.",
        in_linux=False,
    )
    for name in CONTROLS
)
