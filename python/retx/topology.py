"""Network topologies as scenarios: plain dicts that can be modified and passed to `retx.run`.

Each function returns the links and flows of a topology from the literature as the content of a
scenario file; keys can be set for all of its links or flows. The table `[topology]` of scenario
files provides the same topologies by the same code.

    scenario = retx.topology.dumbbell(n=4, bottleneck={"rate": "10 Mbit/s"}, duration="60 s")
    scenario["flow"][0]["tcp"] = "cubic"
    result = retx.run(scenario)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from retx._native import expand_topology
from retx.scenarios.source import plain

__all__ = ["Cross", "chain", "dumbbell", "parking_lot", "satellite"]

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Cross:
    """UDP flows added to a topology.

    Attributes:
        forward: Number of flows in the direction of the topology's flows.
        reverse: Number of flows in the opposite direction.
        flow: Keys of each flow; by default 512-byte packets at a constant 100 kbit/s.
    """

    forward: int = 0
    reverse: int = 0
    flow: Table | None = None


def dumbbell(
    n: int,
    *,
    bottleneck: Table | None = None,
    access: Table | None = None,
    flow: Table | None = None,
    reverse: int = 0,
    cross: Cross | None = None,
    **scenario: object,
) -> dict[str, Any]:
    """Dumbbell: `n` senders, one bottleneck, `n` receivers, and a flow for each pair.

    Args:
        n: Number of pairs, at least 1.
        bottleneck: Keys for the link in the middle. Defaults: 10 Mbit/s, 10 ms, a queue of 100
            packets.
        access: Keys for the links of hosts. Defaults: 100 Mbit/s, 1 ms.
        flow: Keys for all flows. Defaults: `newreno` and `bulk`.
        reverse: Number of pairs, from the first, that also have a flow from right to left.
        cross: Additional UDP flows: `forward` from left to right, `reverse` from right to left,
            assigned to the pairs in turn.
        scenario: Keys of the scenario itself; `duration` is 60 s by default.

    Returns:
        Nodes `left0` …, `r1`, `r2`, `right0` …; links `bottleneck`, `left0` …, `right0` …;
        flows `flow0` …, `reverse0` …, `udp0` … and `udp_reverse0` ….

    Raises:
        ScenarioError: A number is out of range, or a key is set by the topology itself.
    """
    given = {"n": n, "reverse": reverse, "bottleneck": bottleneck, "access": access, "flow": flow}
    return _scenario(scenario, "dumbbell", given, cross)


def chain(
    hops: int, *, link: Table | None = None, flow: Table | None = None,
    cross: Cross | None = None, **scenario: object,
) -> dict[str, Any]:  # fmt: skip
    """One flow over `hops` equal links in a row.

    Args:
        hops: Number of links, at least 1.
        link: Keys for all links. Defaults: 10 Mbit/s, 10 ms, a queue of 100 packets.
        flow: Keys for the flow. Defaults: `newreno` and `bulk`.
        cross: Additional UDP flows over all links, in either direction.
        scenario: Keys of the scenario itself; `duration` is 60 s by default.

    Returns:
        Nodes `n0` … `nHOPS`; links `hop0` …; the flow `flow`; `udp0` … and `udp_reverse0` ….

    Raises:
        ScenarioError: A number is out of range, or a key is set by the topology itself.
    """
    return _scenario(scenario, "chain", {"hops": hops, "link": link, "flow": flow}, cross)


def parking_lot(
    hops: int, *, link: Table | None = None, flow: Table | None = None,
    cross: Cross | None = None, **scenario: object,
) -> dict[str, Any]:  # fmt: skip
    """A flow over `hops` consecutive bottlenecks, and one further flow over each of them.

    Args:
        hops: Number of bottlenecks, at least 1.
        link: Keys for all links. Defaults: 10 Mbit/s, 10 ms, a queue of 100 packets.
        flow: Keys for all flows. Defaults: `newreno` and `bulk`.
        cross: Additional UDP flows, assigned to the bottlenecks in turn.
        scenario: Keys of the scenario itself; `duration` is 60 s by default.

    Returns:
        Nodes `n0` … `nHOPS`; links `hop0` …; flows `long`, `cross0` …, `udp0` … and
        `udp_reverse0` ….

    Raises:
        ScenarioError: A number is out of range, or a key is set by the topology itself.
    """
    return _scenario(scenario, "parking_lot", {"hops": hops, "link": link, "flow": flow}, cross)


def satellite(
    *, space: Table | None = None, ground: Table | None = None, flow: Table | None = None,
    cross: Cross | None = None, **scenario: object,
) -> dict[str, Any]:  # fmt: skip
    """A flow from a server to a terminal, through a gateway and over a geostationary satellite.

    Args:
        space: Keys for the link from gateway to terminal. Defaults: 2 Mbit/s, 250 ms each way (RFC
            2488 §2: 239.6 ms below the satellite, 279 ms at the edge of its view), a queue of 100
            packets.
        ground: Keys for the link from server to gateway. Defaults: 100 Mbit/s, 10 ms.
        flow: Keys for the flow. Defaults: `newreno` and `bulk`.
        cross: Additional UDP flows from the server to the terminal or back.
        scenario: Keys of the scenario itself; `duration` is 60 s by default.

    Returns:
        Nodes `server`, `gateway`, `terminal`; links `ground` and `space`; the flow `download`;
        `udp0` … and `udp_reverse0` ….

    Raises:
        ScenarioError: A key is set by the topology itself.
    """
    return _scenario(scenario, "satellite", {"space": space, "ground": ground, "flow": flow}, cross)


def _scenario(scenario: Table, shape: str, given: Table, cross: Cross | None) -> dict[str, Any]:
    """Scenario with the topology's links and flows, followed by the caller's own."""
    table = {"shape": shape, **given}
    if cross is not None:
        table["cross"] = _given(vars(cross))
    text = json.dumps({"topology": _given(table)}, default=plain)
    made: dict[str, list[Any]] = json.loads(expand_topology(text))
    result: dict[str, Any] = {"duration": "60 s", **deepcopy(dict(scenario))}
    for key in ("link", "flow"):
        result[key] = made[key] + list(result.get(key, []))
    return result


def _given(table: Table) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}
