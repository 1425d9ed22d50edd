"""Figures of a run that show why a limit binds."""

from __future__ import annotations

from collections.abc import Callable

from retx.explaining.path import Hop, path_of
from retx.explaining.situation import Situation
from retx.explaining.units import rate_of
from retx.quantities import count, rate, seconds, share, size


def evidence(situation: Situation, key: str) -> str:
    """A clause with the figures that speak for this limit."""
    kind, _, cause = key.partition(".")
    found = _LIMITS.get(kind)
    if found:
        return found(situation)
    return _losses(situation, kind, cause) if cause else ""


def _product(situation: Situation) -> str:
    path = situation.path
    return (
        f"{rate(path.rate_bit_s)} over {seconds(path.rtt_s)} take {size(path.product_bytes)} in "
        "flight"
    )


def _receive_window(situation: Situation) -> str:
    limit = situation.window("advertised_window") or situation.window("receive_buffer")
    bound = size(limit) if limit else "bounded"
    reads = situation.flow.get("read_rate")
    if reads and rate_of(reads) < situation.path.rate_bit_s:
        return f"its program reads only {reads}, and what it leaves fills its buffer of {bound}"
    return f"the receive buffer is {bound}, and {_product(situation)}"


def _send_buffer(situation: Situation) -> str:
    limit = situation.window("send_autotuning") or situation.window("send_buffer")
    bound = size(limit) if limit else "bounded"
    return f"the send buffer is at most {bound}, and {_product(situation)}"


def _bottleneck(situation: Situation) -> str:
    hop = situation.path.bottleneck
    busy = [
        link["utilisation"]
        for link in situation.summary["links"]
        if link["name"] == hop.name and link["direction"] == hop.direction
    ]
    used = f"{hop.name} is busy {share(busy[0])} of the time" if busy else f"{hop.name} is full"
    if situation.has_standing_queue:
        used += (
            f", and packets wait {seconds(situation.queueing_s)} in queues, on a way of "
            f"{seconds(situation.path.rtt_s)}"
        )
    return used


def standing_queue(situation: Situation) -> str:
    """Sentence on a standing queue: its delay, its place, and the flow that fills it."""
    hop, path = situation.queue_hop, situation.path
    waiting = situation.queueing_s
    text = (
        f"A round trip takes {seconds(path.rtt_s + waiting)} where the way takes "
        f"{seconds(path.rtt_s)}: packets wait in the queue before {hop.name}"
    )
    room = (hop.value("queue") or {}).get("packets")
    if room and hop.rate_bit_s:
        holds = room * hop.packet_bits / hop.rate_bit_s
        text += f", which holds {count(room)} packets, {seconds(holds)} at {rate(hop.rate_bit_s)}"
    most = _most_through(situation, hop)
    return f"{text}{', and ' + most + ' fills it' if most else ''}."


def _most_through(situation: Situation, hop: Hop) -> str:
    """Name of the other flow that sends most data through a hop; "" if there is none."""
    flows = {flow["name"]: flow for flow in situation.scenario["flow"]}
    sent: dict[str, int] = {}
    for row in situation.summary["flows"]:
        name = row["name"] if row["name"] in flows else row["name"].rpartition(".")[0]
        if name in flows and name != situation.flow["name"]:
            way = path_of(situation.scenario, flows[name]).forward
            if any((it.name, it.direction) == (hop.name, hop.direction) for it in way):
                sent[name] = sent.get(name, 0) + int(row["bytes_delivered"] or 0)
    return max(sent, key=lambda name: sent[name], default="")


def _slow_start(situation: Situation) -> str:
    first = situation.window("initial_window") or 0
    return (
        f"the window begins at {size(first)} and doubles per round trip, and {_product(situation)}"
    )


def _handshake(situation: Situation) -> str:
    flow = "each exchange opens a connection of its own, and " if _opens_each(situation) else ""
    return f"{flow}a handshake takes {seconds(situation.path.rtt_s)}, or the timer's time when lost"


def _opens_each(situation: Situation) -> bool:
    return bool(situation.flow["app"].get("connection") == "each")


def _application(situation: Situation) -> str:
    kind = situation.flow["app"]["kind"]
    return f"the application ({kind}) has nothing to send; TCP does not hold it back"


def _delayed_ack(situation: Situation) -> str:
    timer = situation.tcp["delayed_ack"].get("timeout", "")
    return f"the receiver holds an acknowledgment back for up to {timer}"


def _nagle(situation: Situation) -> str:
    return "a small segment waits until the one before is acknowledged"


def _pacing(situation: Situation) -> str:
    control = situation.tcp["congestion_control"]["name"]
    return f"the sender ({control}) spreads segments by a rate of its own"


_LIMITS: dict[str, Callable[[Situation], str]] = {
    "receive_window": _receive_window,
    "send_buffer": _send_buffer,
    "bottleneck": _bottleneck,
    "slow_start": _slow_start,
    "handshake": _handshake,
    "application": _application,
    "delayed_ack": _delayed_ack,
    "nagle": _nagle,
    "pacing": _pacing,
}


def _losses(situation: Situation, kind: str, cause: str) -> str:
    rows = situation.rows
    fast = sum(row["episodes"]["fast_retransmit"][cause] for row in rows)
    timeouts = sum(row["episodes"]["rto"][cause] for row in rows)
    kinds = ((fast, "fast retransmit"), (timeouts, "timeout"))
    parts = [f"{count(n)} {name}{'' if n == 1 else 's'}" for n, name in kinds if n]
    counted = f"{' and '.join(parts) or 'recoveries'} {_BY[cause]}"
    if cause == "spurious":
        needless = sum(row["retransmissions_unnecessary"] for row in rows)
        return f"{counted}; {count(needless)} retransmissions were needless"
    lost = _lost(situation, cause)
    if kind == "timeout":
        longest = max((row["max_backoff"] or 0 for row in rows), default=0)
        doubled = f", the timer doubled {count(longest)} times in a row" if longest > 1 else ""
        return f"{counted}{doubled}; {lost}"
    return f"{counted}; {lost}"


_BY = {
    "congestion": "by congestion",
    "wireless": "by losses of the channel",
    "spurious": "without a loss",
}


def _lost(situation: Situation, cause: str) -> str:
    """Text on the share of packets lost, and on the size of the queue that dropped them."""
    hops = {(hop.name, hop.direction): hop for hop in situation.path.forward}
    drops = packets = 0
    for link in situation.summary["links"]:
        if (link["name"], link["direction"]) in hops:
            reasons = link["drops"]
            drops += reasons["queue"] if cause == "congestion" else sum(
                reasons[reason] for reason in ("channel", "retry_limit", "script")
            )  # fmt: skip
            packets = max(packets, link["packets_in"])
    text = f"{share(drops / packets if packets else 0)} of the packets were lost"
    if cause == "congestion":
        room = (situation.path.bottleneck.value("queue") or {}).get("packets")
        product = 8 * situation.path.product_bytes / situation.path.bottleneck.packet_bits
        if room:
            text += f" in queues of {count(room)} packets, where the way holds {product:.0f}"
        return text
    return f"{text} on the channel"
