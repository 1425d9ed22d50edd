"""Scenario of a captured flow: path and endpoints, with the evidence as comments."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retx.diagnosing.wording import PLACES
from retx.files.standard_input import shown
from retx.fitting.captures import application, endpoints
from retx.fitting.captures.estimates import LOST, bracketed
from retx.fitting.scenario import comment, inline, quoted, time_text
from retx.fitting.wording import model_line
from retx.terminal.quantities import counted, rate, seconds, share, size

if TYPE_CHECKING:
    from retx.fitting.captures.capture import CaptureFit

LEAST_DURATION_S, TIMES_LIFE = 60.0, 10.0
ASSUMED_DELAY_S = 0.020
ROOM = 2.0
"""Ratio of the assumed limit of a queue to its longest measured length, for a queue that was never
full.
"""
LEAST_ACKS = 100
"""Minimum limit of a queue of acknowledgments, in packets, since they are small."""
LEAST_OVERTAKEN = 3
LEAST_BEYOND, LEAST_BEYOND_S = 0.02, 0.0005
"""Delay beyond the queue is left out if it is smaller than this, relative to the round trip and in
seconds."""
LEAST_SPIKE_S = 0.1
"""Smallest spike of the delay, in seconds; it is also at least one round trip."""
SLOPE_STEPS = 10
"""Number of steps of the end of a spike."""
LEAST_DELAYS, INTERVALS, FEW = 30, 400, 3
LEAST_OTHERS = 0.02
"""Other traffic is simulated only if it takes at least this share of the bottleneck's rate."""
OTHERS_BYTES = 1500
IPV4_HEADER_BYTES = 20
HEADERS_BYTES, ETHERNET_MTU = 40, 1500


def written(fit: CaptureFit, *, replay: bool = False) -> str:
    """Text of the scenario."""
    flow, path = fit.flow, fit.path
    name = " and ".join(map(shown, fit.files))
    title = f"Fitted to flow {flow['number']} of {Path(shown(fit.files[0])).name}"
    duration = max(LEAST_DURATION_S, TIMES_LIFE * flow["life_s"])
    lines = [
        *comment(
            f"Fitted by retx fit to flow {flow['number']} of {name!r}, {flow['name']}, captured "
            f"{PLACES[flow['place']]}: {size(flow['bytes'])} in {seconds(flow['life_s'])}. "
            "Comments say the evidence for each value, with 95 % intervals in brackets."
        ),
        f"title = {quoted(title)}",
        f"duration = {quoted(time_text(round(duration)))}",
        "seed = 1",
        "",
        "[tcp.fitted]",
        *endpoints.lines(fit),
        "",
        "# Nothing waits here: the bottleneck is behind it.",
        "[[link]]",
        'name = "access"',
        'ends = ["sender", "router"]',
        'delay = "0 s"',
        *_mtu(path),
        "",
        "[[link]]",
        'name = "bottleneck"',
        'ends = ["router", "receiver"]',
        *_rate(path),
        *_overhead(path),
        *_mtu(path),
        *_delay(fit),
        *_queue(fit, replay=replay),
        *_channel(fit, replay=replay),
        *_back(path),
        "",
        "[[flow]]",
        'name = "fitted"',
        'from = "sender"',
        'to = "receiver"',
        'tcp = "fitted"',
        *application.lines(fit),
        *_others(path),
    ]
    return "\n".join(lines) + "\n"


def _rate(path: Mapping[str, Any]) -> Iterator[str]:
    found = path["rate_bit_s"]
    if found["value"] is None:
        yield from comment(f"The rate cannot be known from this capture: {found['evidence']}.")
        return
    yield from comment(
        f"Rate of frames with {path['overhead_bytes']} bytes beside the IP packet (Ethernet; an "
        f"assumption): {bracketed(found, rate)}: {found['evidence']}."
    )
    text = f"{round(found['value'])} bit/s"
    yield f"rate = {quoted(text)}"


def _overhead(path: Mapping[str, Any]) -> Iterator[str]:
    longer = path["ip_header_bytes"] - IPV4_HEADER_BYTES
    if longer > 0:
        yield from comment(
            f"The capture's packets are IPv6, whose header is {longer} bytes longer than that of "
            "IPv4, which retx simulates."
        )
        yield f"overhead = {path['overhead_bytes'] + longer}"


def _mtu(path: Mapping[str, Any]) -> Iterator[str]:
    """Largest IP packet, if the endpoints permit larger ones than a link does by default."""
    mss = path["endpoints"]["mss"] or 0
    if mss + HEADERS_BYTES > ETHERNET_MTU:
        yield f"mtu = {mss + HEADERS_BYTES}"


def _delay(fit: CaptureFit) -> Iterator[str]:
    found = fit.path["round_trip_s"]
    value = found["value"]
    if value is None:
        yield from comment(f"An assumption: {found['evidence']}.")
        value = ASSUMED_DELAY_S
    else:
        reason = "from one end" if len(fit.files) == 1 else "as the captures have different clocks"
        yield from comment(
            f"Propagation delay of both directions: {bracketed(found, seconds)}: "
            f"{found['evidence']}. How it divides between the directions cannot be known {reason}; "
            "half each."
        )
    yield f"delay = {quoted(time_text(value / 2))}"


def queue_packets(path: Mapping[str, Any]) -> int | None:
    """Limit of the queue in packets; None if unknown."""
    queue = path["queue"]
    if queue["packets"] is not None:
        # A packet that a full queue drops would wait for all packets in the queue, and for the rest
        # of the one in transmission, from which half a packet was subtracted. A value that ends in
        # one half means that this transmission had just begun.
        return max(1, math.ceil(round(float(queue["packets"]) - 0.5, 2)))
    if queue["bytes"]["low"] is None:
        return None
    seen = float(queue["bytes"]["low"]) / float(path["segment_wire_bytes"])
    base, bit_s = path["round_trip_s"]["value"] or 0.0, path["rate_bit_s"]["value"] or 0.0
    product = float(base * bit_s / 8 / path["segment_wire_bytes"])
    window = 0.0
    if not any(lost and lost > LOST for lost in path["copies"]["lost"]):
        # Without a loss, everything in flight fitted into the queue. The assumed limit is thus at
        # least the receive window, so that no loss occurs in a simulation either.
        _, window = path["endpoints"]["receive_window"] or (0, 0)
    packets = max(ROOM * seen, ROOM * product, window / float(path["segment_wire_bytes"]))
    return max(10, round(packets))


def _queue(fit: CaptureFit, *, replay: bool) -> Iterator[str]:
    path = fit.path
    if fit.policer is not None and not replay:
        yield from comment("The limit of the queue cannot be known: a policer drops, not a queue.")
        return
    queue, packets = path["queue"], queue_packets(path)
    found = queue["bytes"]
    if queue["packets"] is not None:
        yield from comment(
            f"Drop-tail queue of {bracketed(found, size)} on the wire, {queue['packets']:.1f} full "
            f"segments: {found['evidence']}."
        )
        if queue["kind"] == "unknown":
            yield from comment("Early drops cannot be excluded: too few losses at a short queue.")
    elif queue["kind"] == "early_drops":
        yield from comment(
            f"Early drops: {found['evidence']}. CoDel with its defaults is assumed; which "
            "discipline it is cannot be known."
        )
        yield 'queue = "codel"'
        return
    else:
        bound = "" if found["low"] is None else f"; at least {size(found['low'])} waited"
        yield from comment(
            f"The limit of the queue cannot be known from this capture: {found['evidence']}{bound}."
        )
    if packets is not None:
        yield f'queue = {{ discipline = "droptail", packets = {packets} }}'


def channels(fit: CaptureFit, *, replay: bool = False) -> list[dict[str, Any]]:
    """Channels of the bottleneck: losses, reordering, delay beyond the queue."""
    from retx.fitting.captures.replay import script

    path, losses = fit.path, fit.losses
    found: list[dict[str, Any]] = []
    if replay:
        found.append(script(fit))
    elif fit.policer is not None:
        found.append(fit.policer.channel)
    elif losses is not None:
        found += losses.channels()
    if is_reordered(path):
        overtakers = max(1, path["overtakers"])
        found.append({"model": "reorder", "p": path["reordered"]["value"], "packets": overtakers})
    points = delays_beyond(fit)
    if points:
        rows = [{"at": time_text(at), "delay": time_text(delay)} for at, delay in points]
        every = time_text(max(fit.flow["life_s"], points[-1][0] + 1e-3))
        found.append({"model": "trace", "every": every, "points": rows})
    return found


def is_reordered(path: Mapping[str, Any]) -> bool:
    """True if data were reordered more than a few times."""
    return bool(path["reordered"]["value"] * len(path["copies"]["lost"]) >= LEAST_OVERTAKEN)


def _channel(fit: CaptureFit, *, replay: bool) -> Iterator[str]:
    path, losses = fit.path, fit.losses
    found = channels(fit, replay=replay)
    copies = len(path["copies"]["times_s"])
    if replay:
        yield from comment(
            f"Replayed: the {len(found[0]['drop_seq'])} segments that the channel lost in the "
            "capture are lost again, as often as there."
        )
    elif fit.policer is not None:
        yield from comment(fit.policer.sentence)
    elif losses is None:
        yield from comment(
            f"No losses of the channel in {copies} segments: below {share(3 / copies)} in 95 of "
            "100 cases."
        )
    else:
        content = losses.content
        yield from comment(
            f"Losses that no queue made: {content['lost']:.4g} of {content['known']} segments in "
            f"{counted(content['bursts'], 'burst')}. {model_line(losses.used)}."
        )
        if losses.chosen is None:
            yield from comment(f"The data do not decide between laws: {content['reason']}.")
        if spikes(fit):
            yield from comment(f"{spikes(fit)}.")
    if is_reordered(path):
        late = path["reordered"]
        yield from comment(f"Reordered: {bracketed(late, share)}: {late['evidence']}.")
    points = delays_beyond(fit)
    if points:
        most = max(delay for _, delay in points)
        yield from comment(
            f"Delay beyond the queue: up to {seconds(most)}; the medians of {len(points)} "
            "intervals, as they followed each other."
        )
    if len(found) == 1:
        yield f"forward.channel = {inline(found[0])}"
    elif found:
        yield from ("forward.channel = [", *(f"    {inline(it)}," for it in found), "]")


def _back(path: Mapping[str, Any]) -> Iterator[str]:
    lost, fast = path["acks_lost"], path["ack_rate_bit_s"]
    waited = path["ack_queue_packets"]
    if waited is not None:
        yield from comment(
            f"Reverse path: {bracketed(fast, rate)}: {fast['evidence']}. At most {waited:.0f} "
            "acknowledgments waited; twice as many fit into the queue, which is an assumption. "
            f"Lost acknowledgments: at most {share(lost['high'])}; none are simulated."
        )
        yield f'reverse.rate = "{round(fast["value"])} bit/s"'
        packets = max(LEAST_ACKS, round(ROOM * waited))
        yield f'reverse.queue = {{ discipline = "droptail", packets = {packets} }}'
        return
    if lost["high"] is None:
        yield from comment(
            f"Reverse path: as fast and as long, without losses; {lost['evidence']}."
        )
        return
    least = f"at least {rate(fast['low'])}, as " if fast["low"] else ""
    yield from comment(
        f"Reverse path: {least}{fast['evidence']}. Lost acknowledgments: at most "
        f"{share(lost['high'])}: {lost['evidence']}. None are simulated."
    )


def _others(path: Mapping[str, Any]) -> Iterator[str]:
    found = path["cross_bit_s"]
    bit_s = path["rate_bit_s"]["value"]
    if found["value"] is None or found["low"] < LEAST_OTHERS * bit_s:
        return
    yield ""
    yield from comment(
        f"Traffic of others: {bracketed(found, rate)} of frames: {found['evidence']}. Packets of "
        f"{OTHERS_BYTES} bytes at random times are assumed."
    )
    of_packets = found["value"] * OTHERS_BYTES / (OTHERS_BYTES + path["overhead_bytes"])
    yield from (
        "[[link]]",
        'name = "side"',
        'ends = ["others", "router"]',
        'delay = "0 s"',
        "",
        "[[flow]]",
        'name = "others"',
        'from = "others"',
        'to = "receiver"',
        f'udp = {{ packet = {OTHERS_BYTES}, rate = "{round(of_packets)} bit/s" }}',
        'app = "poisson"',
    )


def spike_s(path: Mapping[str, Any]) -> float:
    """Delay beyond the queue from which on it counts as a spike, seconds."""
    return float(max(LEAST_SPIKE_S, path["round_trip_s"]["value"] or 0.0))


def spikes(fit: CaptureFit) -> str:
    """Warning that losses may be a queue's, as the delay had spikes; empty without one."""
    if fit.losses is None or fit.policer is not None:
        return ""
    highest = max(fit.path["beyond_queue"]["delays_s"], default=0.0)
    if highest < spike_s(fit.path):
        return ""
    return (
        f"The delay had spikes of up to {seconds(highest)} that no queue explains. They hide how "
        "long the queue was, so that some of these losses may be a queue's"
    )


def delays_beyond(fit: CaptureFit) -> list[tuple[float, float]]:
    """Start and delay of intervals, as `beyond` yields them, with the ends of spikes as slopes.

    A link that holds packets back releases all of them at the end of a spike: a packet that is sent
    later waits for a shorter time. Nothing was sent between two intervals, and the delay between
    them is the least with which packets keep their order.
    """
    points = list(beyond(fit.path, fit.flow["life_s"]))
    spike = spike_s(fit.path)
    found = points[:1]
    for (start, high), (end, low) in pairwise(points):
        if high >= spike:
            steps = [part * high / SLOPE_STEPS for part in range(1, SLOPE_STEPS + 1)]
            found += [
                (round(start + step, 6), round(high - step, 6))
                for step in steps
                if start + step < end and high - step > low
            ]
        found.append((end, low))
    return found


def beyond(path: Mapping[str, Any], life_s: float) -> Iterator[tuple[float, float]]:
    """Delay that the queue does not explain: start and median of successive intervals.

    Empty if this delay is small. An interval with the same median as the previous one is omitted.
    """
    import numpy as np

    found = path["beyond_queue"]
    delays, times = np.array(found["delays_s"]), np.array(found["times_s"])
    least = max(LEAST_BEYOND_S, LEAST_BEYOND * (path["round_trip_s"]["value"] or 0.0))
    if path["rate_bit_s"]["value"]:
        # The length of the queue is known only to within a few packets.
        least = max(least, FEW * path["segment_wire_bytes"] * 8 / path["rate_bit_s"]["value"])
    if len(delays) < LEAST_DELAYS:
        return
    each = -(-len(delays) // INTERVALS)
    starts = range(0, len(delays), each)
    medians = [round(float(np.median(delays[first : first + each])), 6) for first in starts]
    if np.quantile(delays, 0.9) < least:
        # Most packets have no such delay; of the rest, only spikes are replayed.
        if max(medians) < spike_s(path):
            return
        medians = [value if value >= least else 0.0 for value in medians]
    last, since = None, 0.0
    for first, value in zip(starts, medians, strict=True):
        at = 0.0 if first == 0 else round(float(times[first]), 6)
        if value != last and (first == 0 or at > since) and at < life_s:
            yield at, value
            last, since = value, at
