"""Flow without a remedy: its tables, path and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from retx.explaining.path import HEADERS, Hop, Path, path_of
from retx.explaining.units import bytes_of

NIL = 0.005
"""Share of the life below which a limit is ignored."""
STANDING = 0.5
"""Share of the least round-trip time: more delay than this in queues is a standing queue."""


@dataclass(frozen=True)
class Situation:
    """A flow of a resolved scenario, and the run that was made of it.

    Args:
        scenario: Resolved.
        flow: Its table.
        shares: Of its life, by key of `limited_by`.
        summary: Of the run.
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
        """The TCP of its ends, resolved."""
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
        """Sum of the shares of these keys; `window` is all of `window.congestion`, ….

        A key that ends in a dot and a cause, `.wireless`, is all kinds of that cause.
        """
        return sum(
            share
            for key, share in self.shares.items()
            if any(
                key == one or key.startswith(f"{one}.") or (one[0] == "." and key.endswith(one))
                for one in keys
            )
        )

    @property
    def rows(self) -> list[Mapping[str, Any]]:
        """Rows of the flow in the run's summary: one row, or as many as its `count`."""
        return own_rows(self.summary, self.flow)

    @property
    def queueing_s(self) -> float:
        """Mean round-trip time above the least one."""
        times = [row["rtt_mean_s"] for row in self.rows if row["rtt_mean_s"] is not None]
        return max(0.0, sum(times) / len(times) - self.path.rtt_s) if times else 0.0

    @property
    def has_standing_queue(self) -> bool:
        """True if data wait long in queues, compared with the round-trip time."""
        return self.queueing_s > STANDING * self.path.rtt_s

    @cached_property
    def queue_hop(self) -> Hop:
        """Hop with the longest queue, on the path of data or of acknowledgments.

        The bottleneck if no queue is long.
        """
        waits = {
            (link["name"], link["direction"]): link["queue_mean_packets"] or 0.0
            for link in self.summary["links"]
        }

        def wait(hop: Hop) -> float:
            rate = hop.rate_bit_s or 0.0
            packets = float(waits.get((hop.name, hop.direction), 0.0))
            return packets * hop.packet_bits / rate if rate else 0.0

        longest = max((*self.path.forward, *self.path.back), key=wait)
        return longest if wait(longest) > STANDING * self.path.rtt_s else self.path.bottleneck

    @property
    def link_limit_bit_s(self) -> float:
        """Payload rate of the bottleneck if it were never idle, in bit/s."""
        hop = self.path.bottleneck
        options = 12 if self.tcp.get("timestamps") else 0
        whole = self.mss + HEADERS + (hop.value("overhead") or 0)
        return self.path.rate_bit_s * (self.mss - options) / whole

    def window(self, name: str) -> int | None:
        """A buffer or window of its TCP in bytes; None where it is not bounded."""
        value = self.tcp.get(name)
        return None if value in (None, "none") else bytes_of(value, self.mss)


def own_rows(summary: Mapping[str, Any], flow: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Rows of a flow in a summary: those numbered where its `count` is above 1."""
    name = flow["name"]
    if flow["count"] == 1:
        return [row for row in summary["flows"] if row["name"] == name]
    stem, digits = f"{name}.", "0123456789"
    return [
        row
        for row in summary["flows"]
        if row["name"].startswith(stem) and not row["name"][len(stem) :].strip(digits)
    ]
