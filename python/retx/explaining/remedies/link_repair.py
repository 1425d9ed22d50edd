"""Repair by the lossy link: retransmission of frames (ARQ), or parity frames (FEC)."""

from __future__ import annotations

from typing import Any

from retx.explaining.remedy import WIRELESS, Change, Remedy
from retx.explaining.situation import Situation
from retx.scenarios.path import Hop

RETRIES = 3
DATA, FRAMES = 8, 10
LEAST_BLOCK_S = 0.002


def _lossy(situation: Situation) -> list[Hop]:
    hops = (*situation.path.forward, *situation.path.back)
    return [
        hop
        for hop in hops
        if hop.kind == "link" and hop.loses and not hop.value("arq") and not hop.value("fec")
    ]


def _names(hops: list[Hop]) -> str:
    return " and ".join(dict.fromkeys(hop.name for hop in hops))


def _arq(situation: Situation) -> list[Change]:
    hops = _lossy(situation)
    if not hops:
        return []
    repair = {"mode": "selective_repeat", "retries": RETRIES}
    overrides: dict[str, Any] = {f"{hop.key}.arq": repair for hop in hops}
    return [
        Change(
            overrides,
            f"link-layer retransmission on {_names(hops)}, up to {RETRIES} times",
            (
                "at the link's ends: more retries of the MAC, where it has a setting "
                f"(Wi-Fi: iw phy PHY set retry short {RETRIES + 4} long {RETRIES + 4}; LTE: RLC "
                "in acknowledged mode), or a tunnel that repeats over the link alone",
            ),
        )
    ]


def _fec(situation: Situation) -> list[Change]:
    hops = _lossy(situation)
    if not hops:
        return []
    overrides: dict[str, Any] = {}
    for hop in hops:
        rate = hop.rate_bit_s or situation.path.rate_bit_s or 1e6
        block = max(LEAST_BLOCK_S, 2 * FRAMES * hop.packet_bits / rate)
        repair = {"k": DATA, "n": FRAMES, "block_time": f"{1e3 * block:.3g} ms"}
        overrides[f"{hop.key}.fec"] = repair
    return [
        Change(
            overrides,
            f"forward error correction on {_names(hops)}, {FRAMES - DATA} parity frames for "
            f"{DATA} packets",
            (
                "at the link's ends: a stronger code of the modem, or a tunnel with parity packets "
                "over the link alone",
            ),
        )
    ]


REMEDIES = (
    Remedy("arq", WIRELESS, _arq, "Delay that varies while frames are repeated.", where="link"),
    Remedy(
        "fec",
        WIRELESS,
        _fec,
        f"{100 * (FRAMES / DATA - 1):.0f} % of the link's rate.",
        where="link",
    ),
)
