"""A flow before any remedy: its tables, path and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

from retx.analysis.limits import cut_off_s, failed_at_s, flat
from retx.scenarios.names import is_leg, own_name
from retx.scenarios.path import HEADERS, Hop, Path, path_of
from retx.scenarios.units import bytes_of, seconds_of

NIL = 0.005
"""A limit is ignored if its share of the flow's lifetime is smaller."""
STANDING = 0.5
"""A queue counts as standing if queueing delay exceeds this multiple of the least round-trip
time."""
LEAST_QUEUED = 0.1
"""A queue counts as standing only if queues cause at least this part of the delay above the least
round-trip time.
"""


@dataclass(frozen=True)
class Situation:
    """A flow of a resolved scenario, and the results of its run.

    Args:
        scenario: The resolved scenario.
        flow: Row of the `flows` table.
        shares: Share of the flow's lifetime for each limit, by key of `limited_by`.
        summary: Summary of the run.
    """

    scenario: Mapping[str, Any]
    flow: Mapping[str, Any]
    shares: Mapping[str, float]
    summary: Mapping[str, Any]

    @cached_property
    def path(self) -> Path:
        """Path of the flow."""
        return path_of(self.scenario, self.flow)

    @property
    def tcp(self) -> Mapping[str, Any]:
        """Resolved TCP settings of the flow's two endpoints."""
        tcp: Mapping[str, Any] = self.scenario["tcp"][self.flow["tcp"]]
        return tcp

    @property
    def tcp_key(self) -> str:
        """Prefix of the keys of the flow's TCP."""
        return f"tcp.{self.flow['tcp']}"

    @property
    def flow_key(self) -> str:
        """Prefix of the keys of the flow's own table."""
        return f"flow.{self.flow['name']}"

    @property
    def mss(self) -> int:
        """Payload of a full segment."""
        return int(self.tcp["mss"])

    def share(self, *keys: str) -> float:
        """Sum of the shares of these keys; `window` stands for all keys that begin with `window.`.

        A key that ends in a dot and a cause, such as `.wireless`, stands for all kinds with that
        cause.
        """
        return sum(
            share for key, share in self.shares.items() if any(is_key(key, word) for word in keys)
        )

    @property
    def rows(self) -> list[Mapping[str, Any]]:
        """Rows of the flow in the run's summary: one row, or as many as its `count`."""
        return own_rows(self.summary, self.flow)

    @property
    def queueing_s(self) -> float:
        """Mean round-trip time minus the least round-trip time."""
        times = [row["rtt_mean_s"] for row in self.rows if row["rtt_mean_s"] is not None]
        return max(0.0, sum(times) / len(times) - self.path.rtt_s) if times else 0.0

    @property
    def has_standing_queue(self) -> bool:
        """True if data wait in queues for a long time, compared with the round-trip time.

        A long round trip with empty queues is due to delayed ACKs or to delays of a channel.
        """
        if any(hop.kind == "wlan" for hop in self.hops):
            in_queues = inf
        else:
            in_queues = sum(map(self.queue_wait_s, self.hops))
        return self.queueing_s > STANDING * self.path.rtt_s and (
            in_queues > LEAST_QUEUED * self.queueing_s
        )

    @property
    def hops(self) -> list[Hop]:
        """Hops that data pass, then hops that acknowledgments pass."""
        return [*self.path.forward, *self.path.back]

    def link_row(self, hop: Hop) -> Mapping[str, Any] | None:
        """Row of a link's direction in the summary; None for a cell."""
        return next(
            (
                link
                for link in self.summary["links"]
                if (link["name"], link["direction"]) == (hop.name, hop.direction)
            ),
            None,
        )

    def queue_packets(self, hop: Hop) -> float:
        """Mean number of packets in the queue before a hop."""
        row = self.link_row(hop)
        return float(row["queue_mean_packets"] or 0.0) if row else 0.0

    def queue_wait_s(self, hop: Hop) -> float:
        """Time to transmit the mean queue before a hop, assuming packets of full size."""
        rate = hop.rate_bit_s or 0.0
        return self.queue_packets(hop) * hop.packet_bits / rate if rate else 0.0

    @property
    def busy(self) -> float | None:
        """Share of the time in which the bottleneck transmits; None for a cell."""
        row = self.link_row(self.path.bottleneck)
        return row["utilisation"] if row else None

    @cached_property
    def life_s(self) -> float:
        """Longest life of the flow's connections, within the measured part of the run."""
        return max((sum(flat(row.get("limited_by")).values()) for row in self.rows), default=0.0)

    @property
    def measured_s(self) -> float:
        """Time from the end of the warm-up to the end of the run."""
        return self.end_s - seconds_of(self.scenario.get("warmup", "0 s"))

    def busy_in_life(self, row: Mapping[str, Any]) -> float:
        """Largest possible share of the flow's life in which a link's direction transmits."""
        busy_s = (row["utilisation"] or 0.0) * self.measured_s
        return min(1.0, busy_s / self.life_s) if self.life_s > 0 else 0.0

    @cached_property
    def failed_at_s(self) -> float | None:
        """Time at which TCP gave up the flow, the last one of several; None if it did not."""
        return last_failure_s(self.summary, self.flow, self.rows)

    def drops(self, *reasons: str) -> int:
        """Number of packets dropped for these reasons by the hops that the data pass."""
        return sum(int(row["drops"][reason]) for row in self.forward_rows for reason in reasons)

    @property
    def has_drops(self) -> bool:
        """True if a hop of the path, in either direction, has dropped a packet."""
        links = [row for row in map(self.link_row, self.hops) if row]
        names = {hop.name for hop in self.hops}
        cells = [row for row in self.summary["wlans"] if row["name"] in names]
        return any(sum(row["drops"].values()) for row in (*links, *cells))

    @cached_property
    def forward_rows(self) -> list[Mapping[str, Any]]:
        """Rows of the links and cells that the data pass; a cell's row counts all its stations."""
        links = [row for row in map(self.link_row, self.path.forward) if row]
        names = {hop.name for hop in self.path.forward}
        return links + [row for row in self.summary["wlans"] if row["name"] in names]

    @cached_property
    def queue_hop(self) -> Hop:
        """Hop with the longest queue, on the path of data or of acknowledgments.

        If no queue is long, and none causes half of a standing queue's delay, the bottleneck is
        returned.
        """
        longest = max(self.hops, key=self.queue_wait_s)
        least = self.path.rtt_s
        if self.has_standing_queue:
            least = min(least, self.queueing_s)
        long = self.queue_wait_s(longest) > STANDING * least
        return longest if long else self.path.bottleneck

    @property
    def ack_wait_s(self) -> float:
        """Mean time for which acknowledgments wait in a long queue; 0 without one."""
        hop = self.queue_hop
        if hop in self.path.forward or hop.kind == "wlan":
            return 0.0
        # The queue may contain small packets, so the wait is limited to the queueing delay that
        # round trips show.
        return min(self.queue_wait_s(hop), self.queueing_s)

    @property
    def product_bytes(self) -> float:
        """Bytes in flight that fill the path, if ACKs wait in queues as long as they do now."""
        return self.path.rate_bit_s * (self.path.rtt_s + self.ack_wait_s) / 8

    def queue_place(self, hop: Hop) -> str:
        """Name of the link with this queue, and the direction if only ACKs pass the queue."""
        if hop in self.path.forward or hop.kind != "link":
            return hop.name
        return f"{hop.name} from {hop.left} to {hop.right}"

    def router_place(self, hop: Hop) -> str:
        """Router on which to run the command for a queue; named if only ACKs pass the queue."""
        if hop in self.path.forward or hop.kind != "link":
            return "at the router"
        return f"at {hop.left}, where DEV is the interface to {hop.right}"

    @property
    def link_limit_bit_s(self) -> float:
        """Payload rate of the bottleneck if it were never idle, in bit/s.

        For a schedule of rates it is the mean over the run; for a policer, the rate that it admits.
        """
        return min((limit for _, limit in self._limits()), default=0.0)

    @property
    def limiting_hop(self) -> Hop:
        """Hop whose rate or policer sets the limit."""
        return min(self._limits(), key=lambda it: it[1], default=(self.path.bottleneck, 0.0))[0]

    def _limits(self) -> list[tuple[Hop, float]]:
        """Payload rate of each hop that has a rate, and of each policer."""
        payload = self.mss - (12 if self.tcp.get("timestamps") else 0)
        packet = self.mss + HEADERS
        span = (seconds_of(self.scenario.get("warmup", "0 s")), self.end_s)
        found = []
        for hop in self.path.forward:
            rate = hop.mean_rate_bit_s(*span)
            if rate:
                found.append((hop, rate * payload / (packet + (hop.value("overhead") or 0))))
        policer = self.path.policer
        if policer:
            found.append((policer, (policer.policer_bit_s or 0.0) * payload / packet))
        return found

    @property
    def proxies(self) -> list[tuple[str, str]]:
        """Proxies that split the flow: node, and prefix of the keys of the TCP that they send with.

        Proxies whose TCP is also that of another flow are left out.
        """
        passed = [node for node, _ in self.path.nodes_between]
        others = {
            flow.get("tcp") for flow in self.scenario["flow"] if flow["name"] != self.flow["name"]
        }
        return [
            (relay["node"], f"tcp.{relay.get('tcp') or self.flow['tcp']}")
            for relay in self.scenario.get("relay") or ()
            if relay["kind"] == "split"
            and relay["node"] in passed
            and self.flow["name"] in (relay.get("flows") or [self.flow["name"]])
            and relay.get("tcp") not in others - {None}
        ]

    @property
    def end_s(self) -> float:
        """Simulated time at which the run ended."""
        return float(self.summary["engine"]["simulated_s"])

    def window(self, name: str) -> int | None:
        """Buffer or window of the flow's TCP in bytes; None if it is unlimited."""
        value = self.tcp.get(name)
        return None if value in (None, "none") else bytes_of(value, self.mss)


def is_key(key: str, word: str) -> bool:
    """True if a word, as for `Situation.share`, stands for this key of `limited_by`."""
    return key == word or key.startswith(f"{word}.") or (word[0] == "." and key.endswith(word))


def last_failure_s(
    summary: Mapping[str, Any], flow: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> float | None:
    """Time at which TCP gave up a flow, the last one of several connections; None if it did not.

    Args:
        summary: Summary of the run, with the resolved scenario.
        flow: Table of the flow.
        rows: Rows of the flow in the summary.
    """
    scenario, simulated_s = summary["scenario"], float(summary["engine"]["simulated_s"])
    end_s = cut_off_s(flow["app"], simulated_s, seconds_of(scenario["duration"]))
    start_s = seconds_of(scenario.get("warmup") or "0 s")
    known = [failed_at_s(row, start_s, end_s) for row in rows]
    return max((it for it in known if it is not None), default=None)


def own_rows(summary: Mapping[str, Any], flow: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Rows of a flow in a summary; several numbered ones if its `count` is above 1."""
    name = flow["name"]
    if flow["count"] == 1:
        return [row for row in summary["flows"] if row["name"] == name]
    stem, digits = f"{name}.", "0123456789"
    return [
        row
        for row in summary["flows"]
        if row["name"].startswith(stem) and not row["name"][len(stem) :].strip(digits)
    ]


def leg_rows(summary: Mapping[str, Any], flow: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Rows of the connections behind the proxies that split a flow; none if no proxy does."""
    names = {it["name"] for it in summary["scenario"]["flow"]}
    return [
        row
        for row in summary["flows"]
        if is_leg(row["name"], names) and own_name(row["name"], names) == flow["name"]
    ]
