"""Families of conditions: kinds of paths, TCPs and traffic, each drawn at random.

Distributions: rates, RTTs, queues and buffers are log-uniform, probabilities uniform. A transfer
has the bytes that are sent in `SPAN_S` seconds, but at least `LEAST_BYTES`. The assumed rate is
that of the line, or, if lower, that of Mathis et al. 1997 for the loss (MSS / RTT · √(3 / 2p)).
Each transfer thus takes a few seconds of real time, and none takes more than `CAP`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, exp, log, log2, sqrt
from typing import Any

TCPS = ("linux", "linux_reno", "linux_bbr")
MEAN_BURST = 2.3
"""Mean number of consecutive losses on a bursty channel, as on the links that García et al.
measured."""
SPAN_S = 3.0
LEAST_BYTES = 150_000
CAP = "8 s"
CLASSIC_CAP = "30 s"
"""Maximum duration of a run of `classic`. Its transfers end earlier, unless the same packet is lost
many times.
"""
TWO_FLOWS = "6 s"
MSS_BYTES = 1448
PACKET_BYTES = 1500
FIRST_WINDOW = 10 * MSS_BYTES


@dataclass(frozen=True)
class Drawn:
    """Path, TCPs and application that a family has drawn."""

    rate_mbit_s: float
    rtt_ms: float
    """RTT of the bottleneck; access links add to it."""
    queue_packets: int
    tcp: str
    """TCP of the first flow, or the TCPs of two flows, joined by `+`."""
    about: str
    """Remarks for readers."""
    flows: Sequence[dict[str, Any]]
    path: dict[str, Any] = field(default_factory=dict)
    """Further keys of the bottleneck."""
    access: Sequence[dict[str, Any]] = ()
    """Links before the bottleneck."""
    tcps: dict[str, Any] = field(default_factory=dict)
    duration: str = CAP


@dataclass(frozen=True)
class Line:
    """A bottleneck."""

    rate: float
    rtt: float
    queue: int

    @classmethod
    def draw(
        cls,
        draws: random.Random,
        rate: tuple[float, float] = (2, 25),
        rtt: tuple[float, float] = (15, 120),
        queue: tuple[float, float] = (0.5, 2),
    ) -> Line:
        """Draws a bottleneck.

        The arguments are bounds: of the rate in Mbit/s, of the RTT in ms, and of the queue as a
        multiple of the bandwidth-delay product. The queue has at least one packet.
        """
        line = cls(by_log(draws, rate), by_log(draws, rtt), 1)
        bdp_packets = line.rate * 1e6 * line.rtt / 1e3 / 8 / PACKET_BYTES
        return cls(line.rate, line.rtt, max(1, round(_by_log(draws, queue) * bdp_packets)))

    def transfer(
        self, tcp: str, about: str, path: dict[str, Any] | None = None, loss: float = 0
    ) -> Drawn:
        """A download over this line."""
        flow = _flow("download", "server", tcp, {"kind": "transfer", "bytes": self.size(loss)})
        return Drawn(self.rate, self.rtt, self.queue, tcp, about, [flow], path or {})

    def size(self, loss: float) -> int:
        """Size of a transfer in bytes."""
        limit = self.rate * 1e6 / 8
        if loss > 0:
            limit = min(limit, MSS_BYTES / (self.rtt / 1e3) * sqrt(1.5 / loss))
        return max(LEAST_BYTES, 10_000 * round(SPAN_S * limit / 10_000))


def classic(draws: random.Random, number: int, _turn: int) -> Drawn:
    """Draws losses of data, which are independent or in bursts.

    The number of the condition determines the kind of losses, and whether Reno or CUBIC is used.
    """
    line = Line.draw(draws, (1, 50), (10, 200), (0.5, 4))
    loss = round(0.03 * draws.random(), 4)
    kind = ("random", "bursty")[number // 2 % 2]
    channel = bernoulli(loss)
    if kind == "bursty" and loss:
        channel = {"model": "gilbert_elliott", "loss": loss, "mean_burst": MEAN_BURST}
    tcp = ("linux_reno", "linux")[number % 2]
    drawn = line.transfer(tcp, f"{_percent(loss)} {kind}", forward(channel), loss)
    return replace(drawn, duration=CLASSIC_CAP)


def long_fat(draws: random.Random, number: int, turn: int) -> Drawn:
    """Draws a long fat network with a queue below its bandwidth-delay product."""
    line = Line.draw(draws, (10, 40), (150, 300), (0.1, 1))
    return line.transfer(_tcp(number, turn), "long and fat")


def slow_acks(draws: random.Random, number: int, turn: int) -> Drawn:
    """Draws a 50 to 200 times slower reverse path, on which ACKs queue and may be dropped."""
    line = Line.draw(draws, (5, 20))
    slower, packets = by_log(draws, (50, 200)), round(_by_log(draws, (20, 500)))
    reverse = {
        "rate": f"{line.rate * 1e3 / slower:.4g} kbit/s",
        "queue": {"discipline": "droptail", "packets": packets},
    }
    about = f"ACKs {slower:g} times slower, queue {packets}"
    return line.transfer(_tcp(number, turn), about, {"reverse": reverse})


def lost_acks(draws: random.Random, number: int, turn: int) -> Drawn:
    """Draws losses of ACKs, with and without losses of data."""
    line = Line.draw(draws)
    acks, loss = _share(draws, (0.05, 0.4)), draws.choice((0, _share(draws, (0.001, 0.01))))
    path = {"reverse": {"channel": bernoulli(acks)}} | (forward(bernoulli(loss)) if loss else {})
    about = f"{_percent(acks)} of ACKs lost, {_percent(loss)} of data"
    return line.transfer(_tcp(number, turn), about, path, loss)


def reordering(draws: random.Random, number: int, turn: int) -> Drawn:
    """Draws reordering: some packets are held back, or all packets are delayed by random times."""
    line = Line.draw(draws)
    share, late = _share(draws, (0.005, 0.1)), by_log(draws, (4, 40))
    channel = {"model": "reorder", "p": share, "delay": f"{late} ms"}
    about = f"{_percent(share)} held back for {late:g} ms"
    if draws.random() < 0.5:
        channel = {"model": "jitter", "max": f"{late} ms", "reorder": True}
        about = f"jitter up to {late:g} ms"
    return line.transfer(_tcp(number, turn), about, forward(channel))


def duplicates(draws: random.Random, number: int, turn: int) -> Drawn:
    """Draws duplication of data and ACKs by the network, with some loss."""
    line = Line.draw(draws)
    share, loss = _share(draws, (0.005, 0.05)), _share(draws, (0, 0.005))
    after = round(5 * draws.random(), 1)
    copies = {"model": "duplicate", "p": share}
    data = [copies | {"after": f"{after} ms"}, bernoulli(loss)]
    path = {"forward": {"channel": data}, "reverse": {"channel": copies}}
    about = f"{_percent(share)} twice after {after:g} ms, {_percent(loss)} lost"
    return line.transfer(_tcp(number, turn), about, path, loss)


def outage(draws: random.Random, number: int, turn: int) -> Drawn:
    """Draws an outage of the data direction, or of both directions."""
    line = Line.draw(draws, (2, 15))
    start, lasts = round(1 + draws.random(), 2), by_log(draws, (0.2, 1.5))
    channel = {"model": "outage", "times": [{"start": f"{start} s", "duration": f"{lasts} s"}]}
    both = draws.random() < 0.5
    about = f"outage of {lasts:g} s{' both ways' if both else ''}"
    path = {"channel": channel} if both else forward(channel)
    return line.transfer(_tcp(number, turn), about, path)


def delay_spikes(draws: random.Random, number: int, turn: int) -> Drawn:
    """Draws delays of a few packets by more than an RTO; packets behind a delayed packet wait."""
    line = Line.draw(draws, (2, 10))
    late, spikes = by_log(draws, (0.2, 1)), 1 + 2 * draws.random()
    share = round(spikes * PACKET_BYTES / line.size(0), 6)
    channel = {"model": "random_delay", "share": share, "law": "constant", "delay": f"{late} s"}
    return line.transfer(_tcp(number, turn), f"{spikes:.2g} spikes of {late:g} s", forward(channel))


def two_flows(draws: random.Random, number: int, turn: int) -> Drawn:
    """Draws two flows. The second has a later start and a longer RTT."""
    line = Line.draw(draws, (5, 20), (15, 50))
    further, start = by_log(draws, (1, 80)), round(0.3 + draws.random(), 2)
    first = _tcp(number, turn)
    second = draws.choice((first, "linux"))
    flows = [
        _flow("first", "server1", first, "bulk"),
        _flow("second", "server2", second, "bulk") | {"start": f"{start} s"},
    ]
    access = [
        {"name": f"access{place}", "ends": [f"server{place}", "router"], "delay": f"{delay} ms"}
        for place, delay in ((1, 1), (2, 1 + further / 2))
    ]
    about = f"the second {further:g} ms further away"
    return Drawn(
        line.rate, line.rtt, line.queue, f"{first}+{second}", about, flows, {}, access,
        duration=TWO_FLOWS,
    )  # fmt: skip


def short_flows(draws: random.Random, number: int, turn: int) -> Drawn:
    """Draws requests with responses of a few kB, each over a new connection or all over one."""
    line = Line.draw(draws)
    tcp, size = _tcp(number, turn), 100 * round(_by_log(draws, (2_000, 100_000)) / 100)
    loss, reuse = _share(draws, (0, 0.03)), draws.choice(("one", "each"))
    # Round trips: the handshake, and one for each window of a slow start.
    trips = 1 + ceil(log2(1 + size / FIRST_WINDOW))
    seconds = trips * line.rtt / 1e3 + 8 * size / line.rate / 1e6
    exchanges = max(5, min(100, round(SPAN_S / seconds)))
    app = {
        "kind": "request_response", "request": 200, "response": size, "exchanges": exchanges,
        "connection": reuse,
    }  # fmt: skip
    about = f"{exchanges} responses of {size / 1e3:g} kB, connection {reuse}, {_percent(loss)} lost"
    flow = _flow("download", "server", tcp, app)
    return Drawn(line.rate, line.rtt, line.queue, tcp, about, [flow], forward(bernoulli(loss)))


def small_queue(draws: random.Random, number: int, turn: int) -> Drawn:
    """Draws a queue of 3 to 12 packets."""
    line = Line.draw(draws)
    line = Line(line.rate, line.rtt, draws.randint(3, 12))
    return line.transfer(_tcp(number, turn), "small queue")


def receive_buffer(draws: random.Random, number: int, turn: int) -> Drawn:
    """Draws a fixed receive buffer, with and without loss."""
    line = Line.draw(draws)
    size, loss = round(_by_log(draws, (8_192, 131_072))), _share(draws, (0, 0.005))
    loss = draws.choice((0, loss))
    tcps = {"limited": {"receive_buffer": size, "receive_autotuning": "none"}}
    about = f"receive buffer of {size} bytes, {_percent(loss)} lost"
    return _like(tcps, line.transfer(_tcp(number, turn), about, forward(bernoulli(loss)), loss))


def ecn(draws: random.Random, number: int, turn: int) -> Drawn:
    """Draws a queue that marks packets instead of dropping them: CoDel or FQ-CoDel."""
    line = Line.draw(draws, (4, 25))
    discipline = draws.choice(("codel", "fq_codel"))
    path = {"queue": {"discipline": discipline, "ecn": True}}
    drawn = line.transfer(_tcp(number, turn), f"{discipline}, marks", path)
    return _like({"marked": {"ecn": True}}, drawn)


def small_segments(draws: random.Random, number: int, turn: int) -> Drawn:
    """Draws segments of 536 to 1200 bytes, with some loss."""
    line = Line.draw(draws, (2, 12))
    mss, loss = draws.choice((536, 536, 900, 1200)), _share(draws, (0, 0.01))
    about = f"MSS {mss}, {_percent(loss)} lost"
    drawn = line.transfer(_tcp(number, turn), about, forward(bernoulli(loss)), 4 * loss)
    return _like({"small": {"mss": mss}}, drawn)


def bbr(draws: random.Random, _number: int, _turn: int) -> Drawn:
    """Draws BBR with random losses, or with a queue below half a bandwidth-delay product."""
    shallow = draws.random() < 0.5
    line = Line.draw(draws, (5, 20), (40, 200), (0.1, 0.4) if shallow else (0.5, 2))
    loss = 0 if shallow else _share(draws, (0.01, 0.08))
    about = "shallow queue" if shallow else f"{_percent(loss)} random"
    return line.transfer("linux_bbr", about, forward(bernoulli(loss)) if loss else {})


Family = Callable[[random.Random, int, int], Drawn]
"""Function that draws condition `number`; `turn` counts the conditions of its family."""
FAMILIES: dict[str, Family] = {
    it.__name__: it
    for it in (
        classic, long_fat, slow_acks, lost_acks, reordering, duplicates, outage, two_flows,
        short_flows, small_queue, receive_buffer, delay_spikes, ecn, small_segments, bbr,
    )
}  # fmt: skip


def _tcp(number: int, turn: int) -> str:
    """TCP preset of a condition. Successive conditions, also within a family, differ."""
    return TCPS[(number + turn) % len(TCPS)]


def _flow(name: str, server: str, tcp: str, app: str | dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "from": server, "tcp": tcp, "app": app}


def _like(tcps: dict[str, dict[str, Any]], drawn: Drawn) -> Drawn:
    """Drawn condition whose flows use this TCP: the drawn preset, changed by the given keys."""
    ((name, keys),) = tcps.items()
    flows = [flow | {"tcp": name} for flow in drawn.flows]
    return replace(drawn, flows=flows, tcps={name: {"like": drawn.tcp} | keys})


def bernoulli(loss: float) -> dict[str, Any]:
    """Channel with this loss probability."""
    return {"model": "bernoulli", "p": loss}


def forward(channel: dict[str, Any]) -> dict[str, Any]:
    """Link with this channel in the direction of the data."""
    return {"forward": {"channel": channel}}


def by_log(draws: random.Random, bounds: tuple[float, float]) -> float:
    """Log-uniform random number, rounded to three digits."""
    return float(f"{_by_log(draws, bounds):.3g}")


def _by_log(draws: random.Random, bounds: tuple[float, float]) -> float:
    low, high = log(bounds[0]), log(bounds[1])
    return exp(low + (high - low) * draws.random())


def _share(draws: random.Random, bounds: tuple[float, float]) -> float:
    return round(bounds[0] + (bounds[1] - bounds[0]) * draws.random(), 4)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
