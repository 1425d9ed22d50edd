"""The scenarios as retx's scenario files."""

from __future__ import annotations

import json
from collections.abc import Iterator

from peers.fat_tree import Tree
from peers.scenarios import SEGMENT, FatTree, Link, Scenario, Sweep, Tcp, Wired, Wlan

__all__ = ["scenario_text"]


def scenario_text(scenario: Scenario, seed: int) -> str:
    """Scenario file for a scenario, as a user would write it."""
    if isinstance(scenario, Sweep):
        head, *rest = _wired(scenario.of)
        last = len(scenario.of.path) - 1
        grid = f'[sweep]\nreplications = {scenario.runs}\n"link.path{last}.forward.channel.p" = '
        parts = [head, *rest, grid + str([round(loss, 12) for loss in scenario.losses])]
    elif isinstance(scenario, FatTree):
        parts = list(_fat_tree(scenario, seed))
    else:
        parts = list(_wired(scenario) if isinstance(scenario, Wired) else _wlan(scenario))
    return f"seed = {seed}\n" + "\n".join(parts)


def _wired(scenario: Wired) -> Iterator[str]:
    yield _head(scenario)
    yield _tcp(scenario.tcp)
    ends = [f"n{number}" for number in range(len(scenario.path) + 1)]
    for number, link in enumerate(scenario.path):
        yield _link(f"path{number}", (ends[number], ends[number + 1]), link, scenario.free_acks)
    if scenario.access is not None:
        for pair in range(scenario.pairs):
            yield _link(f"left{pair}", (f"from{pair}", ends[0]), scenario.access)
            yield _link(f"right{pair}", (ends[-1], f"to{pair}"), scenario.access)
    for flow in range(scenario.flows):
        pair = flow % scenario.pairs
        hosts = (f"from{pair}", f"to{pair}") if scenario.access else (ends[0], ends[-1])
        start_s = scenario.stagger_s * flow / scenario.flows
        yield _flow(f"flow{flow}", hosts, scenario.transfer * scenario.tcp.segment, start_s)


def _fat_tree(scenario: FatTree, seed: int) -> Iterator[str]:
    yield _head(scenario)
    yield _tcp(scenario.tcp)
    tree = Tree.draw(scenario, seed)
    for number, ends in enumerate(tree.links):
        yield _link(f"link{number}", ends, scenario.link)
    routed: set[tuple[str, str]] = set()
    for number, path in enumerate(tree.paths):
        hosts = path.nodes[0], path.nodes[-1]
        for ends, links in ((hosts, path.links), (hosts[::-1], path.links[::-1])):
            if ends not in routed:
                routed.add(ends)
                yield _route(ends, [f"link{link}" for link in links])
        yield _flow(f"flow{number}", hosts, scenario.transfer * scenario.tcp.segment, 0.0)


def _wlan(scenario: Wlan) -> Iterator[str]:
    yield _head(scenario)
    yield _tcp(scenario.tcp)
    stations = [f"s{number}" for number in range(scenario.hops + 1)]
    yield f"""
[[wlan]]
name = "cell"
stations = {stations}
standard = "802.11b"
rate = "11 Mbit/s"
basic_rates = ["1 Mbit/s", "11 Mbit/s"]
retry_limit = 7
queue = {{ discipline = "droptail", packets = {scenario.queue} }}"""
    if scenario.hops > 1:
        for row in (stations, stations[::-1]):
            yield _route((row[0], row[-1]), row[1:])
    yield _flow("flow0", (stations[0], stations[-1]), 0, 0.0)


def _head(scenario: Wired | FatTree | Wlan) -> str:
    return f'duration = "{scenario.duration_s:.9f} s"'


def _tcp(tcp: Tcp) -> str:
    if tcp.preset is not None:
        return f'[tcp.peer]\nlike = "{tcp.preset}"\nmss = {SEGMENT}'
    like = {"newreno": "sack" if tcp.sack else "newreno"}.get(
        tcp.congestion_control, tcp.congestion_control
    )
    window = tcp.window * SEGMENT
    return f"""
[tcp.peer]
like = "{like}"
mss = {SEGMENT}
initial_window = "{tcp.initial_window} mss"
receive_buffer = {window}
send_buffer = {2 * window}
window_scaling = {str(window > 65_535).lower()}
timestamps = false
delayed_ack = {{ segments = {2 if tcp.delayed_ack else 1}, timeout = "200 ms" }}
initial_rto = "{tcp.initial_rto_s} s"
min_rto = "{tcp.min_rto_s} s\""""


def _link(name: str, ends: tuple[str, str], link: Link, free_acks: bool = False) -> str:
    # ns-3's point-to-point links add two bytes to an IP packet.
    forward = "forward." if free_acks else ""
    text = f"""
[[link]]
name = "{name}"
ends = ["{ends[0]}", "{ends[1]}"]
{forward}rate = "{link.mbit_s:g} Mbit/s"
delay = "{link.delay_ms:g} ms"
overhead = 2
{forward}queue = {{ discipline = "droptail", packets = {link.queue} }}"""
    if link.loss:
        text += f'\nforward.channel = {{ model = "bernoulli", p = {link.loss} }}'
    return text


def _flow(name: str, hosts: tuple[str, str], transfer: int, start_s: float) -> str:
    app = f'{{ kind = "transfer", bytes = {transfer} }}' if transfer else '"bulk"'
    return f"""
[[flow]]
name = "{name}"
from = "{hosts[0]}"
to = "{hosts[1]}"
tcp = "peer"
initiator = "from"
app = {app}
start = "{start_s * 1e6:.0f} us\""""


def _route(ends: tuple[str, str], via: list[str]) -> str:
    return f"""
[[route]]
from = "{ends[0]}"
to = "{ends[1]}"
via = {json.dumps(via)}"""
