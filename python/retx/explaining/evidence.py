"""Evidence for a limit: numbers of the run, as clauses and sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from retx.explaining.phrases import is_clamped, is_idle_at_bottleneck, leaves_slow_start_early
from retx.explaining.situation import Situation, leg_rows
from retx.scenarios.path import Hop, path_of
from retx.scenarios.units import rate_of, seconds_of
from retx.terminal.quantities import count, rate, seconds, share, size

_BY_WINDOW = ("receive_window", "send_buffer", "slow_start", "window", "recovery")
"""Limits that bound the data in flight."""
MOST = 2 / 3
"""Share of the bytes in a queue above which one flow fills the queue."""
WHOLE = 0.95
"""Part of the run from which on a flow counts as lasting for all of it."""
DEAD = 0.999
"""Share of the handshake in the life of a connection, above which the connection counts as never
established.
"""


def evidence(situation: Situation, key: str) -> str:
    """Clause with the numbers of the run that show this limit."""
    kind, _, cause = key.partition(".")
    found = _LIMITS.get(kind)
    if found:
        return found(situation)
    return _losses(situation, kind, cause) if cause else ""


def _product(situation: Situation) -> str:
    path = situation.path
    over = seconds(path.rtt_s + situation.ack_wait_s)
    return f"{rate(path.rate_bit_s)} over {over} take {size(situation.product_bytes)} in flight"


def waiting_acks(situation: Situation, key: str) -> str:
    """Sentence on acknowledgments that wait in a queue while a window is the limit."""
    if not situation.ack_wait_s or key.partition(".")[0] not in _BY_WINDOW:
        return ""
    hop = situation.queue_hop
    return (
        f"Its acknowledgments wait in the queue before {situation.queue_place(hop)}, behind "
        f"{count(round(situation.queue_packets(hop)))} packets: the path takes "
        f"{size(situation.product_bytes)} in flight to stay full, and not "
        f"{size(situation.path.product_bytes)}."
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
    hop, busy = situation.path.bottleneck, situation.busy
    if is_idle_at_bottleneck(situation):
        return _idle_bottleneck(situation)
    used = "full" if busy is None else f"busy {_of_run(situation, busy)}"
    used = f"{hop.name} is {used}"
    if situation.has_standing_queue:
        waiting = situation.queueing_s
        used += (
            f", and a round trip takes {seconds(situation.path.rtt_s + waiting)}, "
            f"{seconds(waiting)} of it in queues"
        )
    return used


def _of_run(situation: Situation, busy: float) -> str:
    """Phrase `busy 68 % of the time`; with the part of the run that a shorter flow lasts."""
    lasts = situation.life_s / situation.measured_s if situation.measured_s > 0 else 1.0
    if lasts >= WHOLE:
        return f"{share(busy)} of the time"
    return f"{share(busy)} of the run, of which the flow lasts {share(lasts)}"


def _idle_bottleneck(situation: Situation) -> str:
    """Clause for data in flight that reach the bandwidth-delay product without filling the link."""
    path, hop = situation.path, situation.queue_hop
    text = (
        f"it keeps {size(path.product_bytes)} or more in flight, which fill the path when nothing "
        f"waits, but {path.bottleneck.name} is busy only {share(situation.busy or 0.0)} of the time"
    )
    if hop in path.back:
        text += (
            f", as {count(round(situation.queue_packets(hop)))} packets, acknowledgments among "
            f"them, wait before {situation.queue_place(hop)}"
        )
    return text


def standing_queue(situation: Situation) -> str:
    """Sentence on a standing queue: its delay, its place, and what fills it."""
    hop, path = situation.queue_hop, situation.path
    waiting = situation.queueing_s
    text = (
        f"A round trip takes {seconds(path.rtt_s + waiting)}, and {seconds(path.rtt_s)} with empty "
        f"queues: packets wait in the queue before {situation.queue_place(hop)}"
    )
    room = (hop.value("queue") or {}).get("packets")
    if room and hop.rate_bit_s:
        holds = room * hop.packet_bits / hop.rate_bit_s
        text += f", which holds {count(room)} packets, {seconds(holds)} at {rate(hop.rate_bit_s)}"
    filled = _filled_by(situation, hop)
    return f"{text}{', and ' + filled + ' it' if filled else ''}."


def _filled_by(situation: Situation, hop: Hop) -> str:
    """Clause `upload fills`, about the flow that sends most of the bytes into the queue of a hop.

    If no flow sends more than two thirds, several flows fill it. Empty if no flow sends data.
    """
    sent = _bytes_through(situation, hop)
    most = max(sent, key=lambda name: sent[name], default=None)
    if most is None or not sent[most]:
        return ""
    if sent[most] <= MOST * sum(sent.values()):
        return "several flows fill"
    return "its own bursts fill" if most == situation.flow["name"] else f"{most} fills"


def _bytes_through(situation: Situation, hop: Hop) -> dict[str, int]:
    """Bytes of data that each flow sends into the queue of a hop, by the flow's name."""
    flows = {flow["name"]: flow for flow in situation.scenario["flow"]}
    sent: dict[str, int] = {}
    for row in situation.summary["flows"]:
        name = row["name"] if row["name"] in flows else row["name"].rpartition(".")[0]
        if name not in flows:
            continue
        forward = path_of(situation.scenario, flows[name]).forward
        if any(_queue_of(it) == _queue_of(hop) for it in forward):
            sent[name] = sent.get(name, 0) + int(row["bytes_delivered"] or 0)
    return sent


def _queue_of(hop: Hop) -> tuple[str, str, str]:
    """Place of the queue before a hop; each station of a cell has its own."""
    return hop.name, hop.direction, hop.left


def _slow_start(situation: Situation) -> str:
    if is_clamped(situation):
        clamp = size(situation.window("max_cwnd") or 0)
        return f"max_cwnd lets it grow to {clamp}, and {_product(situation)}"
    if leaves_slow_start_early(situation):
        left = size(situation.window("initial_ssthresh") or 0)
        return (
            f"it leaves slow start at an initial_ssthresh of {left} and then grows by one segment "
            f"or so per round trip, and {_product(situation)}"
        )
    first = situation.window("initial_window") or 0
    return (
        f"the window begins at {size(first)} and doubles per round trip, and {_product(situation)}"
    )


def _handshake(situation: Situation) -> str:
    if is_dead(situation):
        return _no_connection(situation)
    flow = "each exchange opens a connection of its own, and " if _opens_each(situation) else ""
    return f"{flow}a handshake takes {seconds(situation.path.rtt_s)}, or the timer's time when lost"


def _no_connection(situation: Situation) -> str:
    """Clause about a flow whose connection was never established."""
    text = "no connection came about"
    if situation.has_drops:
        return f"{text}, as each SYN or each answer to it was lost"
    if situation.failed_at_s is None:
        return f"{text}, as the run ended at {seconds(situation.end_s)}, before a SYN was answered"
    gave_up = seconds(situation.failed_at_s)
    return f"{text}, as TCP gave up at {gave_up}, before a SYN was answered"


def _opens_each(situation: Situation) -> bool:
    return bool(situation.flow["app"].get("connection") == "each")


def is_dead(situation: Situation) -> bool:
    """True if the flow's connection was never established."""
    rows = situation.rows
    none = all(not row["segments_sent"] and row["rtt_mean_s"] is None for row in rows)
    return none and situation.share("handshake") > DEAD


def _application(situation: Situation) -> str:
    app = situation.flow["app"]
    kind = app["kind"]
    if kind == "ftp" and seconds_of(str(app.get("pause", "0 s"))) == 0:
        return (
            "each file has a connection of its own, and the next one is opened when the one before "
            "is closed"
        )
    return f"the application ({kind}) has nothing to send; TCP does not hold it back"


def _delayed_ack(situation: Situation) -> str:
    timer = situation.tcp["delayed_ack"].get("timeout", "")
    held = f"the receiver holds an acknowledgment back for up to {timer}"
    if not situation.tcp["nagle"]:
        return held
    return f"{held}, and Nagle's algorithm holds the last small segment back until it comes"


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
    rows = [*situation.rows, *leg_rows(situation.summary, situation.flow)]
    counted = _episodes(rows, cause)
    if cause == "spurious":
        needless = sum(row["retransmissions_unnecessary"] for row in rows)
        were = "retransmission was" if needless == 1 else "retransmissions were"
        return f"{counted}; {count(needless)} {were} needless{_low_cap(situation)}"
    lost = _lost(situation, cause)
    if kind == "timeout":
        longest = max((row["max_backoff"] or 0 for row in rows), default=0)
        doubled = f", the timer doubled {count(longest)} times in a row" if longest > 1 else ""
        return f"{counted}{doubled}{lost}"
    return f"{counted}{lost}"


def _episodes(rows: Sequence[Mapping[str, Any]], cause: str) -> str:
    """Numbers of recoveries with this cause, and of reductions by ECN if it is congestion."""
    fast = sum(row["episodes"]["fast_retransmit"][cause] for row in rows)
    timeouts = sum(row["episodes"]["rto"][cause] for row in rows)
    marked = sum(row["ecn_reductions"] or 0 for row in rows) if cause == "congestion" else 0
    parts = [
        _counted(n, name) for n, name in ((fast, "fast retransmit"), (timeouts, "timeout")) if n
    ]
    by_marks = f"{_counted(marked, 'reduction')} after ECN marks"
    if marked and not parts:
        return by_marks
    recoveries = f"{' and '.join(parts) or 'recoveries'} {_BY[cause]}"
    return f"{recoveries}, {by_marks}" if marked else recoveries


def _counted(number: int, name: str) -> str:
    return f"{count(number)} {name}{'' if number == 1 else 's'}"


def _low_cap(situation: Situation) -> str:
    """Clause on a maximum timeout below the least round-trip time; "" if it is not below."""
    cap, trip_s = situation.tcp["max_rto"], situation.path.rtt_s
    if seconds_of(cap) >= trip_s:
        return ""
    return f", as max_rto ends the timer after {cap} and a round trip takes {seconds(trip_s)}"


_BY = {
    "congestion": "by congestion",
    "wireless": "by losses of the channel",
    "spurious": "without a loss",
}


def _lost(situation: Situation, cause: str) -> str:
    """Clause on the share of packets lost, and on the size of the queue that dropped them.

    Empty if no packet was counted as lost for this cause.
    """
    packets = max((row["packets_in"] for row in situation.forward_rows), default=0)
    policer = situation.path.policer
    in_channel = ("channel", "retry_limit", "script")
    if cause == "congestion" and policer and not situation.drops("queue"):
        part = share(situation.drops(*in_channel) / packets if packets else 0)
        return (
            f"; {part} of the packets were dropped where the policer of {policer.name} lets "
            f"{rate(policer.policer_bit_s)} pass"
        )
    drops = situation.drops(*(("queue",) if cause == "congestion" else in_channel))
    if not drops:
        return ""
    text = f"; {share(drops / packets)} of the packets were lost"
    if cause == "congestion":
        room = (situation.path.bottleneck.value("queue") or {}).get("packets")
        product = 8 * situation.path.product_bytes / situation.path.bottleneck.packet_bits
        if room:
            packets = "packet" if room == 1 else "packets"
            text += f" in queues of {count(room)} {packets}, where the path holds {product:.0f}"
        return text
    return f"{text} on the channel"
