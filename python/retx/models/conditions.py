"""Conditions of a flow that closed forms need, read from its scenario.

*Definitions.* The RTT is that without queues: the propagation delays of all links in both
directions, plus the transmission times of a full frame and of its acknowledgment on each link. The
loss rate is that of the channels in the direction of the data, for a full frame; losses on
different links are independent. A run of losses of a channel `gilbert_elliott` is one loss event.
The window is the smallest of the windows and buffers that limit
the sender. With `buffers = "linux"`, a receive buffer is memory, of which each packet takes 256
bytes and a power of two: the window is the part of it that is payload, and a size that the
application has fixed is doubled first. b is the number of segments per ACK of the receiver, or 1 if
the window grows by one segment per round trip all the same (`reno_linux`, and `reno` with
`growth = "bytes_acked"`). T₀ is the timeout for a constant RTT, without backoff and timer
granularity.

*Limits.* Queues, other flows and losses of acknowledgments are ignored. Scenarios without constant
conditions (802.11 cells, schedules, links that repair, channels other than `bernoulli`, `ber`,
`gilbert_elliott…` and `periodic`) are refused.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from retx.models import bit_errors, gilbert_elliott
from retx.models.arguments import ModelError
from retx.scenarios.units import RATES, TIMES, bytes_of

UNITS = TIMES | RATES
HEADERS_BYTES, TIMESTAMPS_BYTES = 40, 12
UNSCALED_WINDOW = 65535

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Conditions:
    """Conditions of one flow, as defined by the module's docstring."""

    flow: str
    p: float
    events: float
    """Loss events per packet: a run of losses of one channel is one event."""
    lasting: str | None
    """Link whose losses last for a time: events per packet depend on the rate of packets."""
    rtt_s: float
    rto_s: float
    b: int
    payload_bytes: int
    headers_bytes: int
    window_bytes: float
    initial_window_bytes: float
    initial_rto_s: float
    wire_bit_s: float
    """Lowest rate of the links on the path of the flow; infinite if none has a rate."""
    overhead_bytes: int
    """Bytes that the link with this rate adds to a frame."""
    transfer_bytes: int | None
    """Size of a finite transfer; None for others."""
    receiver_opens: bool
    """True if the receiver of the data opens the connection."""
    congestion_control: str


def conditions(scenario: Table) -> list[Conditions]:
    """Conditions of every flow of a resolved scenario (`retx.resolve`).

    Raises:
        ModelError: The conditions are not constant, or unknown; the message says why.
    """
    for key in ("wlan", "route"):
        if scenario.get(key):
            raise ModelError(f"closed forms cover only links by the fewest hops, not [[{key}]]")
    return [_of_flow(scenario, flow) for flow in scenario["flow"]]


def quantity(text: str) -> float:
    """A duration in seconds or a rate in bit/s, from its text in a resolved scenario."""
    found = re.fullmatch(r"\s*(\S+?)\s*([a-zA-Zµ/]+)\s*", text)
    assert found, f"{text!r} is no quantity"
    number, unit = found.groups()
    return float(number) * UNITS[unit]


def _of_flow(scenario: Table, flow: Table) -> Conditions:
    name = flow["name"]
    if "tcp" not in flow:
        raise ModelError(f"flow {name}: closed forms cover TCP only")
    tcp = scenario["tcp"][flow["tcp"]]
    control = tcp["congestion_control"]
    options = TIMESTAMPS_BYTES if tcp["timestamps"] else 0
    payload, headers = tcp["mss"] - options, HEADERS_BYTES + options
    way = _way(scenario["link"], flow["from"], flow["to"])
    ahead = [_direction(link, turned) for link, turned in way]
    back = [_direction(link, not turned) for link, turned in way]
    rtt = sum(_hop_s(hop, payload + headers) for hop in ahead)
    rtt += sum(_hop_s(hop, headers) for hop in back)
    arrives = spared = 1.0
    for hop in ahead:
        loss, events = _loss_rates(hop, payload + headers)
        arrives, spared = arrives * (1 - loss), spared * (1 - events)
    slowest = min(ahead, key=_rate)
    return Conditions(
        flow=name,
        p=1 - arrives,
        events=1 - spared,
        lasting=next((hop["name"] for hop in ahead if _loses_for_a_time(hop)), None),
        rtt_s=rtt,
        rto_s=_timeout(tcp, rtt),
        b=1 if _adds_a_segment(control) else tcp["delayed_ack"]["segments"],
        payload_bytes=payload,
        headers_bytes=headers,
        window_bytes=_window(tcp, payload, headers),
        initial_window_bytes=_bytes(tcp["initial_window"], tcp["mss"]),
        initial_rto_s=quantity(tcp["initial_rto"]),
        wire_bit_s=_rate(slowest),
        overhead_bytes=slowest["overhead"],
        transfer_bytes=flow["app"].get("bytes") if flow["app"]["kind"] == "transfer" else None,
        receiver_opens=flow["initiator"] == "to",
        congestion_control=control["name"],
    )


def _way(links: list[Table], start: str, end: str) -> list[tuple[Table, bool]]:
    """Links of the path with the fewest hops, each with a flag that is true for right to left."""
    open_ends: deque[tuple[str, list[tuple[Table, bool]]]] = deque([(start, [])])
    seen = {start}
    while open_ends:
        node, way = open_ends.popleft()
        if node == end:
            return way
        for link in links:
            for turned, (left, right) in enumerate([link["ends"], link["ends"][::-1]]):
                if left == node and right not in seen:
                    seen.add(right)
                    open_ends.append((right, [*way, (link, bool(turned))]))
    raise ModelError(f"no links lead from {start} to {end}")


def _direction(link: Table, turned: bool) -> Table:
    """One direction of a link: its own values and those of the link."""
    own = link.get("reverse" if turned else "forward", {})
    hop = {**link, **own}
    for key in ("schedule", "arq", "fec"):
        if hop.get(key):
            raise ModelError(
                f"link {link['name']}: closed forms cover constant links without repair, "
                f"not `{key}`"
            )
    return hop


def _hop_s(hop: Table, packet_bytes: int) -> float:
    bits = 8 * (packet_bytes + int(hop["overhead"]))
    return quantity(hop["delay"]) + bits / _rate(hop)


def _rate(hop: Table) -> float:
    """Rate in bit/s; infinite for a link without one."""
    return quantity(hop["rate"]) if hop.get("rate") else inf


def _loss_rates(hop: Table, packet_bytes: int) -> tuple[float, float]:
    """Loss rate, and loss events per packet."""
    arrives = spared = 1.0
    for channel in _channels(hop):
        loss = _channel_loss(hop["name"], channel, packet_bytes)
        arrives, spared = arrives * (1 - loss), spared * (1 - loss / _mean_burst(channel))
    return 1 - arrives, 1 - spared


def _channels(hop: Table) -> list[Table]:
    channels = hop.get("channel", [])
    return channels if isinstance(channels, list) else [channels]


def _mean_burst(channel: Table) -> float:
    """Mean number of consecutive losses, where the channel has runs of losses; otherwise 1."""
    if channel["model"] != "gilbert_elliott":
        return 1.0
    if "loss" in channel:
        return float(channel["mean_burst"])
    survive = channel.get("k", 1), channel.get("h", 0)
    mean = float(gilbert_elliott.burst_mean_packets(channel["p"], channel["r"], *survive))
    return mean if mean >= 1 else 1.0  # NaN without losses


def _loses_for_a_time(hop: Table) -> bool:
    return any(channel["model"] == "gilbert_elliott_time" for channel in _channels(hop))


def _channel_loss(link: str, channel: Table, packet_bytes: int) -> float:
    match channel["model"]:
        case "bernoulli":
            return float(channel["p"])
        case "periodic":
            return 1 / int(channel["every"])
        case "ber" if channel["form"] == "linear":
            linear = bit_errors.packet_error_rate_linear(channel["ber"], packet_bytes)
            return min(float(linear), 1.0)
        case "ber":
            return float(bit_errors.packet_error_rate(channel["ber"], packet_bytes))
        case "gilbert_elliott" | "gilbert_elliott_time":
            return _burst_loss(channel)
        case other:
            raise ModelError(f"link {link}: closed forms have no loss rate of channel {other!r}")


def _burst_loss(channel: Table) -> float:
    if "loss" in channel:
        return float(channel["loss"])
    survive = channel.get("k", 1), channel.get("h", 0)
    if channel["model"] == "gilbert_elliott":
        return float(gilbert_elliott.loss_rate(channel["p"], channel["r"], *survive))
    good, bad = quantity(channel["mean_good"]), quantity(channel["mean_bad"])
    # The loss rate depends only on the share of the bad state, so any chain with this share may be
    # used.
    share = bad / (good + bad)
    return float(gilbert_elliott.loss_rate(share, 1 - share, *survive))


def _timeout(tcp: Table, rtt_s: float) -> float:
    least = quantity(tcp["min_rto"])
    if tcp["rto"]["name"] in ("linux", "linux24"):
        # Linux (`tcp_rtt_estimator`) adds the variation of the RTT, which is at least rto_min.
        return rtt_s + least
    return max(rtt_s, least)


def _adds_a_segment(control: Table) -> bool:
    """True if the window grows by one segment per round trip in spite of delayed ACKs."""
    return control["name"] == "reno_linux" or control.get("growth") == "bytes_acked"


def _receive_window(tcp: Table, payload_bytes: int, headers_bytes: int) -> float:
    """Largest window that the receive buffer permits."""
    most = tcp.get("receive_autotuning")
    size = _bytes(most or tcp["receive_buffer"], tcp["mss"])
    if tcp["buffers"] != "linux":
        return size
    # See `crates/tcp/src/memory.rs` and `receive_memory.rs`.
    block = -(-(payload_bytes + headers_bytes + 64) // 64) * 64 + 320
    packet = 256 + max(576, 1 << (block - 1).bit_length())
    memory = size if most else max(2 * size, 2304)
    return memory * (payload_bytes * 256 // packet) // 256


def _window(tcp: Table, payload_bytes: int, headers_bytes: int) -> float:
    # With auto-tuning, the configured buffer sizes are only initial values.
    send = tcp.get("send_autotuning") or tcp["send_buffer"]
    limits = [_receive_window(tcp, payload_bytes, headers_bytes), _bytes(send, tcp["mss"])]
    limits += [
        _bytes(tcp[key], tcp["mss"]) for key in ("max_cwnd", "advertised_window") if tcp.get(key)
    ]
    if not tcp["window_scaling"]:
        limits.append(UNSCALED_WINDOW)
    return min(limits, default=inf)


def _bytes(size: int | str, mss: int) -> float:
    return float(bytes_of(size, mss))
