"""Better loss detection: SACK, RACK-TLP, timestamps."""

from __future__ import annotations

from typing import Any

from retx.explaining.remedy import LOSSES, Change, Remedy
from retx.explaining.situation import Situation


def _sack(situation: Situation) -> list[Change]:
    if situation.tcp["loss_detection"]["name"] in ("sack", "rack") and situation.tcp["sack"]:
        return []
    key = situation.tcp_key
    return [
        Change(
            {f"{key}.sack": True, f"{key}.loss_detection": "sack"},
            "selective acknowledgments (RFC 6675)",
            ("at both ends: sysctl -w net.ipv4.tcp_sack=1",),
        )
    ]


def _rack(situation: Situation) -> list[Change]:
    if situation.tcp["loss_detection"]["name"] == "rack" and situation.tcp["sack"]:
        return []
    key = situation.tcp_key
    overrides: dict[str, Any] = {f"{key}.sack": True, f"{key}.loss_detection": "rack"}
    return [
        Change(
            overrides,
            "loss detection by time with tail loss probes (RACK-TLP, RFC 8985)",
            (
                "at both ends: sysctl -w net.ipv4.tcp_sack=1",
                "at the sender: sysctl -w net.ipv4.tcp_recovery=1 net.ipv4.tcp_early_retrans=3",
            ),
        )
    ]


def _timestamps(situation: Situation) -> list[Change]:
    if situation.tcp["timestamps"]:
        return []
    return [
        Change(
            {f"{situation.tcp_key}.timestamps": True},
            "timestamps (RFC 7323), so that retransmissions give RTT samples, too",
            ("at both ends: sysctl -w net.ipv4.tcp_timestamps=1",),
        )
    ]


REMEDIES = (
    Remedy("sack", LOSSES, _sack, "Up to 40 bytes of options in acknowledgments."),
    Remedy("rack", LOSSES, _rack, "Probes that may be needless."),
    Remedy("timestamps", ("timeout", "recovery"), _timestamps, "12 bytes of each segment."),
)
