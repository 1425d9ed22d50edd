"""Path of a flow through a resolved scenario: hops, bottleneck, round-trip time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from retx.scenarios.names import is_leg, own_name
from retx.scenarios.units import rate_of, seconds_of

WLAN_EFFICIENCY = 0.5
"""Approximate share of a cell's rate that is available for data. Contention, preambles and ACKs
take the rest."""
LOSING = (
    "bernoulli", "ber", "periodic", "script", "gilbert_elliott", "gilbert_elliott_time",
    "outage", "fading", "markov",
)  # fmt: skip
"""Models of channels that lose frames and do nothing else."""
LATE = ("random_delay", "jitter", "reorder")
"""Models of channels that delay frames and do nothing else."""
HEADERS = 40
"""Bytes of the headers of IPv4 and TCP without options."""


@dataclass(frozen=True)
class Hop:
    """One link or wlan, in the direction in which the flow's data pass it."""

    kind: str
    name: str
    direction: str
    left: str
    """Node at which data enter the hop."""
    table: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Prefix of the hop's keys: `link.air.forward`, `wlan.cell`."""
        return f"link.{self.name}.{self.direction}" if self.kind == "link" else f"wlan.{self.name}"

    @property
    def right(self) -> str:
        """Node at which data leave the link."""
        first, second = self.table["ends"]
        return str(second if self.left == first else first)

    def value(self, name: str) -> Any:  # noqa: ANN401
        """Value of a key of the hop in this direction."""
        own = self.table.get(self.direction) or {}
        return own.get(name, self.table.get(name))

    @property
    def rate_bit_s(self) -> float | None:
        """Rate of the hop, or the largest if it changes; None if only a trace file has it."""
        rates = [rate_of(self.value("rate"))] if self.value("rate") else []
        if self.kind == "wlan":
            return WLAN_EFFICIENCY * rates[0]
        for change in self.table.get("schedule") or ():
            own = (change.get(self.direction) or {}).get("rate", change.get("rate"))
            rates += [rate_of(own)] if own else []
        for model in self.channel:
            points = model.get("points") or ()
            rates += [rate_of(point["rate"]) for point in points if point.get("rate")]
            instants = model.get("opportunities_ms") or ()
            if instants:
                rates.append(len(instants) * 12_000_000 / max(max(instants), 1))
        return max(rates, default=None)

    def mean_rate_bit_s(self, begin_s: float, end_s: float) -> float | None:
        """Mean rate over an interval, if a schedule or trace sets it; else `rate_bit_s`."""
        steps = [] if self.kind == "wlan" else self._rates_until(end_s)
        if not steps or end_s <= begin_s:
            return self.rate_bit_s
        ends = [*(at for at, _ in steps[1:]), end_s]
        bits = sum(
            rate * max(0.0, min(after, end_s) - max(at, begin_s))
            for (at, rate), after in zip(steps, ends, strict=True)
        )
        return bits / (end_s - begin_s)

    def _rates_until(self, end_s: float) -> list[tuple[float, float]]:
        """Times at which a schedule or trace changes the rate, with the new rates."""
        for model in self.channel:
            points = [it for it in model.get("points") or () if it.get("rate")]
            if points:
                table = [(seconds_of(it["at"]), rate_of(it["rate"])) for it in points]
                period = seconds_of(model["every"]) if model.get("every") else inf
                turns = 1 if period == inf else int(end_s / period) + 1
                starts = [turn * period if turn else 0.0 for turn in range(turns)]
                return [(start + at, rate) for start in starts for at, rate in table]
        if not self.table.get("schedule") or not self.value("rate"):
            return []
        steps = [(0.0, rate_of(self.value("rate")))]
        for change in sorted(self.table["schedule"], key=lambda it: seconds_of(it["at"])):
            rate = (change.get(self.direction) or {}).get("rate", change.get("rate"))
            if rate:
                steps.append((seconds_of(change["at"]), rate_of(rate)))
        return steps

    @property
    def policer_bit_s(self) -> float | None:
        """Rate at which the hop's policer admits IP packets; None without a policer."""
        rates = [rate_of(it["rate"]) for it in self.channel if it["model"] == "policer"]
        return min(rates, default=None)

    @property
    def delay_s(self) -> float:
        """Propagation delay; negligible in a cell."""
        delay = self.value("delay")
        return seconds_of(delay) if isinstance(delay, str) else 0.0

    @property
    def channel(self) -> list[Mapping[str, Any]]:
        """Models of the channel, none or several."""
        channel = self.value("channel") or []
        return [channel] if isinstance(channel, Mapping) else list(channel)

    @property
    def loses(self) -> bool:
        """True if the channel loses frames."""
        traced = any(
            float(point.get("loss") or 0) > 0
            for model in self.channel
            for point in model.get("points") or ()
        )
        return traced or any(model["model"] in LOSING for model in self.channel)

    @property
    def delays(self) -> bool:
        """True if the channel delays frames."""
        traced = any(
            point.get("delay") and seconds_of(point["delay"]) > 0
            for model in self.channel
            for point in model.get("points") or ()
        )
        return traced or any(model["model"] in LATE for model in self.channel)

    @property
    def packet_bits(self) -> float:
        """Bits on the wire of the largest packet."""
        return 8.0 * ((self.value("mtu") or 1500) + (self.value("overhead") or 0))


@dataclass(frozen=True)
class Path:
    """Hops that a flow's data pass, and hops that its acknowledgments pass."""

    forward: Sequence[Hop]
    back: Sequence[Hop]

    @property
    def bottleneck(self) -> Hop:
        """Hop with the lowest rate; the first one if several have it."""
        return min(self.forward, key=lambda hop: hop.rate_bit_s or float("inf"))

    @property
    def rate_bit_s(self) -> float:
        """Rate of the bottleneck; 0 if no rate is known."""
        return self.bottleneck.rate_bit_s or 0.0

    @property
    def policer(self) -> Hop | None:
        """Hop with the slowest policer; None if no policer is slower than the bottleneck."""
        hops = [hop for hop in self.forward if hop.policer_bit_s]
        least = min(hops, key=lambda hop: hop.policer_bit_s or 0.0, default=None)
        narrow = least is not None and (least.policer_bit_s or 0.0) < (self.rate_bit_s or inf)
        return least if narrow else None

    @property
    def rtt_s(self) -> float:
        """Least time that a full packet and its acknowledgment take to the receiver and back."""
        hops = [*self.forward, *self.back]
        sending = sum(hop.packet_bits / hop.rate_bit_s for hop in self.forward if hop.rate_bit_s)
        return sum(hop.delay_s for hop in hops) + sending

    @property
    def product_bytes(self) -> float:
        """Bandwidth-delay product."""
        return self.rate_bit_s * self.rtt_s / 8

    @property
    def nodes_between(self) -> list[tuple[str, Hop]]:
        """Nodes between the two hosts, each with the hop that data enter there."""
        return [(hop.left, hop) for hop in self.forward[1:]]


def path_of(scenario: Mapping[str, Any], flow: Mapping[str, Any]) -> Path:
    """Path of a flow: along its routes, or with the fewest hops."""
    return Path(_way(scenario, flow["from"], flow["to"]), _way(scenario, flow["to"], flow["from"]))


def rates_of_links(scenario: Mapping[str, Any], flows: Iterable[str]) -> dict[str, float]:
    """Rate of the slowest link of each flow in bit/s; without flows whose rate is not known.

    Args:
        scenario: The resolved scenario.
        flows: Names of flows in the results.
    """
    tables = {flow["name"]: flow for flow in scenario["flow"]}
    names = {name: own_name(name, tables) for name in flows}
    rates = {}
    for own in set(names.values()) & tables.keys():
        hops = path_of(scenario, tables[own]).forward
        known = [hop.rate_bit_s or inf for hop in hops if hop.kind == "link"]
        rates[own] = min(known, default=inf)
    found = {name: rates.get(own, inf) for name, own in names.items()}
    return {name: rate for name, rate in found.items() if rate < inf and not is_leg(name, tables)}


def _way(scenario: Mapping[str, Any], start: str, end: str) -> list[Hop]:
    for route in scenario.get("route") or ():
        if (route["from"], route["to"]) == (start, end):
            found = _along(scenario, start, end, route["via"])
            if found:
                return found
    before: dict[str, Hop | None] = {start: None}
    waiting = deque([start])
    while waiting and end not in before:
        node = waiting.popleft()
        for hop, to in _hops_from(scenario, node):
            if to not in before:
                before[to] = hop
                waiting.append(to)
    hops: list[Hop] = []
    last = before.get(end)
    while last is not None:
        hops.insert(0, last)
        last = before[last.left]
    return hops


def _along(
    scenario: Mapping[str, Any], start: str, end: str, via: Sequence[str]
) -> list[Hop] | None:
    """Hops along a route; None if the route names stations, which are not followed."""
    hops: list[Hop] = []
    node = start
    for name in via:
        found = [(hop, to) for hop, to in _hops_from(scenario, node) if hop.name == name]
        step = next(((hop, to) for hop, to in found if to == end), found[0] if found else None)
        if step is None:
            return None
        hops.append(step[0])
        node = step[1]
    return hops if node == end else None


def _hops_from(scenario: Mapping[str, Any], node: str) -> list[tuple[Hop, str]]:
    found = []
    for link in scenario.get("link") or ():
        left, right = link["ends"]
        if left == node:
            found.append((Hop("link", link["name"], "forward", node, link), right))
        elif right == node:
            found.append((Hop("link", link["name"], "reverse", node, link), left))
    for wlan in scenario.get("wlan") or ():
        if node in wlan["stations"]:
            others = [station for station in wlan["stations"] if station != node]
            found += [(Hop("wlan", wlan["name"], "", node, wlan), other) for other in others]
    return found
