"""Conditions drawn from a seed, to compare simulations and emulations over.

What it does: condition `number` of `seed` is the same whatever is drawn beside it, so that a grid
can be continued and made larger. Rate, RTT and queue are drawn evenly by their logarithm, the loss
rate evenly; congestion control and kind of loss take turns.
How large the transfer is: what `SPAN_S` seconds bring at the line's rate, or at that of the loss by
Mathis et al. 1997 (MSS / RTT · √(3 / 2p)) if it is lower; at least `LEAST_BYTES`. So each takes a
few seconds in real time.
"""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from math import exp, log, sqrt
from typing import Any

RATE_MBIT_S = (1.0, 50.0)
RTT_MS = (10.0, 200.0)
QUEUE_BDP = (0.5, 4.0)
LOSS = (0.0, 0.03)
TCPS = ("linux_reno", "linux")
"""Reno and CUBIC."""
CHANNELS = ("random", "bursty")
MEAN_BURST = 2.3
"""Packets lost in a row on a bursty channel, as in the bursty links that García et al. measured."""
SPAN_S = 3.0
LEAST_BYTES = 150_000
DURATION = "120 s"
"""More than these transfers take."""
MSS_BYTES = 1448
PACKET_BYTES = 1500


@dataclass(frozen=True)
class Condition:
    """One path, TCP and transfer."""

    number: int
    """From 0."""
    rate_mbit_s: float
    rtt_ms: float
    queue_packets: int
    channel: str
    """`random` (independent per packet) or `bursty` (Gilbert–Elliott per packet)."""
    loss: float
    tcp: str
    bytes: int
    seed: int
    """Of the runs."""

    def row(self) -> dict[str, Any]:
        """As a table has it."""
        return asdict(self)

    def scenario(self) -> dict[str, Any]:
        """As `retx.run` takes it: a download over one link that loses packets of data."""
        channel: dict[str, Any] = {"model": "bernoulli", "p": self.loss}
        if self.channel == "bursty" and self.loss:
            channel = {"model": "gilbert_elliott", "loss": self.loss, "mean_burst": MEAN_BURST}
        return {
            "title": f"Condition {self.number}",
            "duration": DURATION,
            "seed": self.seed,
            "link": [
                {
                    "name": "path",
                    "ends": ["server", "client"],
                    "rate": f"{self.rate_mbit_s} Mbit/s",
                    "delay": f"{self.rtt_ms / 2} ms",
                    # As an emulator at the network layer counts.
                    "overhead": 0,
                    "queue": {"discipline": "droptail", "packets": self.queue_packets},
                    "forward": {"channel": channel},
                }
            ],
            "flow": [
                {
                    "name": "download",
                    "from": "server",
                    "to": "client",
                    "initiator": "to",
                    "tcp": self.tcp,
                    "app": {"kind": "transfer", "bytes": self.bytes},
                }
            ],
        }


def condition(number: int, seed: int) -> Condition:
    """One of the conditions of a seed."""
    draws = random.Random(f"{seed}/{number}")
    rate = _significant(_even_by_log(draws, RATE_MBIT_S))
    rtt = _significant(_even_by_log(draws, RTT_MS))
    bdp_packets = rate * 1e6 * rtt / 1e3 / 8 / PACKET_BYTES
    queue = max(1, round(_even_by_log(draws, QUEUE_BDP) * bdp_packets))
    loss = round(LOSS[0] + (LOSS[1] - LOSS[0]) * draws.random(), 4)
    return Condition(
        number=number,
        rate_mbit_s=rate,
        rtt_ms=rtt,
        queue_packets=queue,
        channel=CHANNELS[number // 2 % 2],
        loss=loss,
        tcp=TCPS[number % 2],
        bytes=_size(rate, rtt, loss),
        seed=seed,
    )


def _size(rate_mbit_s: float, rtt_ms: float, loss: float) -> int:
    limit = rate_mbit_s * 1e6 / 8
    if loss > 0:
        limit = min(limit, MSS_BYTES / (rtt_ms / 1e3) * sqrt(1.5 / loss))
    return max(LEAST_BYTES, 10_000 * round(SPAN_S * limit / 10_000))


def _even_by_log(draws: random.Random, bounds: tuple[float, float]) -> float:
    low, high = log(bounds[0]), log(bounds[1])
    return exp(low + (high - low) * draws.random())


def _significant(value: float) -> float:
    """With three digits."""
    return float(f"{value:.3g}")
