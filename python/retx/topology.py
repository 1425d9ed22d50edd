"""Shapes of networks as scenarios: plain dicts, to be changed at will and run by `retx.run`.

Each function writes the links and the flows of a shape that the literature uses; every key of a
link or a flow can be given for all of them, and what comes back is what a scenario file holds.

    scenario = retx.topology.dumbbell(n=4, bottleneck={"rate": "10 Mbit/s"}, duration="60 s")
    scenario["flow"][0]["tcp"] = "cubic"
    result = retx.run(scenario)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from retx.errors import UsageError

__all__ = ["Cross", "chain", "dumbbell", "parking_lot", "satellite"]

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Cross:
    """Flows of UDP beside those of a shape.

    Attributes:
        forward: So many in the direction of the shape's flows.
        reverse: So many against it.
        flow: Keys of each of them; else 512-byte packets at a constant 100 kbit/s.
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
    """`n` senders at the left of one bottleneck, `n` receivers at its right, a flow for each pair.

    Args:
        n: Pairs, from 1.
        bottleneck: Keys of the link in the middle; else 10 Mbit/s, 10 ms, 100 packets of queue.
        access: Keys of the links of hosts; else 100 Mbit/s and 1 ms.
        flow: Keys of all flows; else `newreno` and `bulk`.
        reverse: So many pairs, from the first, have a flow from right to left as well.
        cross: Flows of UDP beside those: `Cross(forward=2)` from left to right, `reverse` from
            right to left, one for each pair in turn.
        scenario: Keys of the scenario itself; without `duration`, 60 s.

    Returns:
        Nodes `left0` …, `r1`, `r2`, `right0` …; links `bottleneck`, `left0` …, `right0` …;
        flows `flow0` …, `reverse0` …, `udp0` … and `udp_reverse0` ….
    """
    _at_least(n, 1, "n")
    if not 0 <= reverse <= n:
        raise UsageError(f"reverse: {reverse} lies outside 0 … {n}, the number of pairs")
    links = [_link("bottleneck", "r1", "r2", _BOTTLENECK, bottleneck)]
    links += [_link(f"left{i}", f"left{i}", "r1", _ACCESS, access) for i in range(n)]
    links += [_link(f"right{i}", "r2", f"right{i}", _ACCESS, access) for i in range(n)]
    flows = [_flow(f"flow{i}", f"left{i}", f"right{i}", flow) for i in range(n)]
    flows += [_flow(f"reverse{i}", f"right{i}", f"left{i}", flow) for i in range(reverse)]
    flows += _cross(cross, [(f"left{i}", f"right{i}") for i in range(n)])
    return _scenario(scenario, links, flows)


def chain(
    hops: int, *, link: Table | None = None, flow: Table | None = None,
    cross: Cross | None = None, **scenario: object,
) -> dict[str, Any]:  # fmt: skip
    """One flow over `hops` equal links in a row.

    Args:
        hops: Links, from 1.
        link: Keys of all links; else 10 Mbit/s, 10 ms, 100 packets of queue.
        flow: Keys of the flow; else `newreno` and `bulk`.
        cross: Flows of UDP over all links, with the flow or against it.
        scenario: Keys of the scenario itself; without `duration`, 60 s.

    Returns:
        Nodes `n0` … `nHOPS`; links `hop0` …; the flow `flow`; `udp0` … and `udp_reverse0` ….
    """
    _at_least(hops, 1, "hops")
    links = [_link(f"hop{i}", f"n{i}", f"n{i + 1}", _BOTTLENECK, link) for i in range(hops)]
    flows = [_flow("flow", "n0", f"n{hops}", flow), *_cross(cross, [("n0", f"n{hops}")])]
    return _scenario(scenario, links, flows)


def parking_lot(
    hops: int, *, link: Table | None = None, flow: Table | None = None,
    cross: Cross | None = None, **scenario: object,
) -> dict[str, Any]:  # fmt: skip
    """A flow over all of `hops` bottlenecks in a row, and one over each of them alone.

    Args:
        hops: Bottlenecks, from 1.
        link: Keys of all links; else 10 Mbit/s, 10 ms, 100 packets of queue.
        flow: Keys of all flows; else `newreno` and `bulk`.
        cross: Flows of UDP, over each bottleneck in turn.
        scenario: Keys of the scenario itself; without `duration`, 60 s.

    Returns:
        Nodes `n0` … `nHOPS`; links `hop0` …; flows `long`, `cross0` …, `udp0` … and
        `udp_reverse0` ….
    """
    _at_least(hops, 1, "hops")
    links = [_link(f"hop{i}", f"n{i}", f"n{i + 1}", _BOTTLENECK, link) for i in range(hops)]
    single = [(f"n{i}", f"n{i + 1}") for i in range(hops)]
    flows = [_flow("long", "n0", f"n{hops}", flow)]
    flows += [_flow(f"cross{i}", *pair, flow) for i, pair in enumerate(single)]
    return _scenario(scenario, links, flows + _cross(cross, single))


def satellite(
    *, space: Table | None = None, ground: Table | None = None, flow: Table | None = None,
    cross: Cross | None = None, **scenario: object,
) -> dict[str, Any]:  # fmt: skip
    """A flow from a server by a gateway over a geostationary satellite to a terminal.

    Args:
        space: Keys of the link from gateway to terminal; else 2 Mbit/s, 250 ms each way
            (RFC 2488 §2: 239.6 ms below the satellite, 279 ms at the edge of its view), 100
            packets of queue.
        ground: Keys of the link from server to gateway; else 100 Mbit/s and 10 ms.
        flow: Keys of the flow; else `newreno` and `bulk`.
        cross: Flows of UDP from the server to the terminal or back.
        scenario: Keys of the scenario itself; without `duration`, 60 s.

    Returns:
        Nodes `server`, `gateway`, `terminal`; links `ground` and `space`; the flow `download`;
        `udp0` … and `udp_reverse0` ….
    """
    links = [
        _link("ground", "server", "gateway", _GROUND, ground),
        _link("space", "gateway", "terminal", _SPACE, space),
    ]
    flows = [_flow("download", "server", "terminal", flow)]
    return _scenario(scenario, links, flows + _cross(cross, [("server", "terminal")]))


_QUEUE = {"discipline": "droptail", "packets": 100}
_BOTTLENECK = {"rate": "10 Mbit/s", "delay": "10 ms", "queue": _QUEUE}
_ACCESS = {"rate": "100 Mbit/s", "delay": "1 ms"}
_GROUND = {"rate": "100 Mbit/s", "delay": "10 ms"}
_SPACE = {"rate": "2 Mbit/s", "delay": "250 ms", "queue": _QUEUE}


def _at_least(number: int, least: int, name: str) -> None:
    if number < least:
        raise UsageError(f"{name}: {number} is too few: at least {least}")


def _link(name: str, left: str, right: str, usual: Table, given: Table | None) -> dict[str, Any]:
    return {"name": name, "ends": [left, right], **_copy(usual), **_copy(given or {})}


def _flow(name: str, source: str, sink: str, given: Table | None) -> dict[str, Any]:
    usual = {"tcp": "newreno", "app": "bulk"}
    return {"name": name, "from": source, "to": sink, **usual, **_copy(given or {})}


def _cross(cross: Cross | None, pairs: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Flows of UDP between these pairs, one after another."""
    if cross is None:
        return []
    _at_least(cross.forward, 0, "forward")
    _at_least(cross.reverse, 0, "reverse")
    usual = {"udp": {"packet": 512, "rate": "100 kbit/s"}, "app": "cbr"}
    keys = {**usual, **(cross.flow or {})}
    flows = []
    for name, number, turn in (("udp", cross.forward, 1), ("udp_reverse", cross.reverse, -1)):
        for i in range(number):
            source, sink = pairs[i % len(pairs)][::turn]
            flows.append({"name": f"{name}{i}", "from": source, "to": sink, **_copy(keys)})
    return flows


def _scenario(
    given: Table, links: list[dict[str, Any]], flows: list[dict[str, Any]]
) -> dict[str, Any]:
    return {"duration": "60 s", **_copy(given), "link": links, "flow": flows}


def _copy(value: Any) -> Any:  # noqa: ANN401
    """Its own tables and lists: what is changed in one link changes no other."""
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list | tuple) else value
