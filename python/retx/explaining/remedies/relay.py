"""Relays between the ends: a snoop agent, explicit loss notification, a split connection."""

from __future__ import annotations

from typing import Any

from retx.explaining.remedy import LOSSES, WIRELESS, Change, Remedy
from retx.explaining.situation import Situation
from retx.scenarios.path import Hop

NAME = "remedy"


def _with(situation: Situation, relay: dict[str, Any]) -> dict[str, Any]:
    """Override that adds a relay to the scenario's relays."""
    there = list(situation.scenario.get("relay") or ())
    return {"relay": [*there, {"name": NAME, "flows": [situation.flow["name"]], **relay}]}


def _lossy(situation: Situation) -> tuple[str, Hop] | None:
    """Node between the two hosts that precedes a lossy hop, and this hop."""
    if situation.scenario.get("relay"):
        return None
    return next(((node, hop) for node, hop in situation.path.nodes_between if hop.loses), None)


def _snoop(situation: Situation) -> list[Change]:
    found = _lossy(situation)
    if not found:
        return []
    node, hop = found
    return [
        Change(
            _with(situation, {"node": node, "kind": "snoop", "link": hop.name}),
            f"a snoop agent at {node}, which repeats what {hop.name} loses",
            (f"at {node}: an agent that looks into TCP; no part of Linux (Balakrishnan et al.)",),
        )
    ]


def _eln(situation: Situation) -> list[Change]:
    found = _lossy(situation)
    if not found:
        return []
    node, hop = found
    relay = _with(situation, {"node": node, "kind": "eln", "link": hop.name})
    return [
        Change(
            relay | {f"{situation.tcp_key}.loss_cause": "eln"},
            f"explicit notice at {node} of what {hop.name} loses, and a sender that believes it",
            (f"at {node} and at the sender: changes of both; no part of Linux",),
        )
    ]


def _split(situation: Situation) -> list[Change]:
    between = situation.path.nodes_between
    one_way = situation.flow["app"]["kind"] != "request_response"
    if not between or not one_way or situation.scenario.get("relay"):
        return []
    lossy = _lossy(situation)
    longest = max(between, key=lambda item: item[1].delay_s)
    node, _ = lossy or longest
    buffer = max(65535, int(2 * situation.path.product_bytes))
    return [
        Change(
            _with(situation, {"node": node, "kind": "split", "buffer": buffer}),
            f"a proxy at {node} that splits the connection",
            (
                f"at {node}: a performance-enhancing proxy (RFC 3135), such as PEPsal with "
                "iptables -t mangle … -j TPROXY, or an HTTP or SOCKS proxy there",
            ),
        )
    ]


REMEDIES = (
    Remedy(
        "snoop",
        WIRELESS,
        _snoop,
        "State for each connection at the relay; no encryption.",
        where="path",
        in_linux=False,
    ),
    Remedy("eln", WIRELESS, _eln, "A mark that no standard has.", where="path", in_linux=False),
    Remedy(
        "split",
        (*LOSSES, "slow_start"),
        _split,
        "Data acknowledged that have not arrived; no end-to-end encryption of headers.",
        where="path",
    ),
)
