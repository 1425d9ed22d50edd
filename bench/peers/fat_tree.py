"""The links of a fat tree, and a random path for each flow."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

from peers.scenarios import FatTree

__all__ = ["Path", "Tree"]

Host = tuple[int, int, int]
"""Pod, edge switch and number of a host."""


@dataclass(frozen=True)
class Path:
    """One flow's path.

    Attributes:
        nodes: Names of the nodes, from the sender to the receiver.
        links: Indices of the links between them in `Tree.links`.
        forward: For each link, whether the data pass it from its first end to its second.
    """

    nodes: tuple[str, ...]
    links: tuple[int, ...]
    forward: tuple[bool, ...]


@dataclass(frozen=True)
class Tree:
    """Links by their two ends, and the paths of the flows."""

    links: list[tuple[str, str]]
    paths: list[Path]

    @classmethod
    def draw(cls, scenario: FatTree, seed: int) -> Tree:
        """Draws receivers and paths; the same for every simulator."""
        draws = random.Random(seed)
        links = list(_links(scenario.ports))
        at = {ends: number for number, ends in enumerate(links)}
        paths = []
        known: dict[tuple[Host, Host], tuple[str, ...]] = {}
        for sender, receiver in _pairs(draws, scenario.ports, scenario.flows):
            # Two hosts have one path, whichever sends: retx's routes are those of hosts.
            if (sender, receiver) not in known:
                nodes = _nodes(draws, scenario.ports // 2, sender, receiver)
                known |= {(sender, receiver): nodes, (receiver, sender): nodes[::-1]}
            nodes = known[sender, receiver]
            steps = list(itertools.pairwise(nodes))
            forward = tuple(step in at for step in steps)
            found = (at[step] if step in at else at[step[::-1]] for step in steps)
            paths.append(Path(nodes, tuple(found), forward))
        return cls(links, paths)


def _links(ports: int) -> Iterator[tuple[str, str]]:
    half = ports // 2
    for pod in range(ports):
        for edge in range(half):
            for number in range(half):
                yield _host((pod, edge, number)), f"edge{pod}-{edge}"
            for upper in range(half):
                yield f"edge{pod}-{edge}", f"upper{pod}-{upper}"
        for upper in range(half):
            for number in range(half):
                yield f"upper{pod}-{upper}", f"core{upper}-{number}"


def _pairs(draws: random.Random, ports: int, count: int) -> list[tuple[Host, Host]]:
    half = ports // 2
    hosts = [(p, edge, i) for p in range(ports) for edge in range(half) for i in range(half)]
    pairs: list[tuple[Host, Host]] = []
    while len(pairs) < count:
        receivers = draws.sample(hosts, len(hosts))
        both = zip(hosts, receivers, strict=True)
        pairs += [(sender, receiver) for sender, receiver in both if sender != receiver]
    return pairs[:count]


def _nodes(draws: random.Random, half: int, sender: Host, receiver: Host) -> tuple[str, ...]:
    upper, core = draws.randrange(half), draws.randrange(half)
    edges = [f"edge{host[0]}-{host[1]}" for host in (sender, receiver)]
    if sender[:2] == receiver[:2]:
        between = edges[:1]
    elif sender[0] == receiver[0]:
        between = [edges[0], f"upper{sender[0]}-{upper}", edges[1]]
    else:
        uppers = [f"upper{host[0]}-{upper}" for host in (sender, receiver)]
        between = [edges[0], uppers[0], f"core{upper}-{core}", uppers[1], edges[1]]
    return (_host(sender), *between, _host(receiver))


def _host(host: Host) -> str:
    return "host{}-{}-{}".format(*host)
