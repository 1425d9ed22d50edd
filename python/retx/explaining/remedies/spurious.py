"""Detection of spurious timeouts, with undo."""

from __future__ import annotations

from typing import Any

from retx.explaining.remedy import SPURIOUS, Change, Propose, Remedy
from retx.explaining.situation import Situation

METHODS = {
    "frto": ("F-RTO (RFC 5682)", "sysctl -w net.ipv4.tcp_frto=2"),
    "eifel": (
        "the Eifel detection by timestamps (RFC 3522)",
        "sysctl -w net.ipv4.tcp_timestamps=1",
    ),
    "dsack": ("detection by duplicate SACKs (RFC 3708)", "sysctl -w net.ipv4.tcp_dsack=1"),
    "linux": (
        "F-RTO, timestamps and DSACK together, with the undo of Linux",
        "sysctl -w net.ipv4.tcp_frto=2 net.ipv4.tcp_timestamps=1 net.ipv4.tcp_dsack=1",
    ),
}


def _propose(name: str) -> Propose:
    def changes(situation: Situation) -> list[Change]:
        tcp, key = situation.tcp, situation.tcp_key
        if tcp["spurious"]["name"] in (name, "linux"):
            return []
        overrides: dict[str, Any] = {f"{key}.spurious": name}
        if name in ("eifel", "linux") and not tcp["timestamps"]:
            overrides[f"{key}.timestamps"] = True
        if name in ("dsack", "linux") and not tcp["sack"]:
            overrides[f"{key}.sack"] = True
        text, command = METHODS[name]
        return [Change(overrides, text, (f"at the sender: {command}",))]

    return changes


REMEDIES = tuple(
    Remedy(name if name != "linux" else "undo_linux", SPURIOUS, _propose(name), price)
    for name, price in (
        ("frto", "A genuine timeout may be taken for spurious, at the price of a round trip."),
        ("eifel", "12 bytes of each segment for timestamps."),
        ("dsack", "Comes a round trip late."),
        ("linux", "12 bytes of each segment for timestamps."),
    )
)
