"""Endpoints of a captured flow, as the settings of TCP in a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median
from typing import TYPE_CHECKING, Any

from retx.fitting.captures import application
from retx.fitting.captures.estimates import bracketed
from retx.fitting.scenario import comment, inline, quoted, time_text
from retx.terminal.quantities import seconds, share, size

if TYPE_CHECKING:
    from retx.fitting.captures.capture import CaptureFit

LIMITED = 0.02
"""A window or send buffer counts as a limit of the flow only if it was the limit for at least this
share of the flow's lifetime.
"""
NEAR_WINDOW = 0.5
"""A receive window grew if it began below this multiple of its largest value."""
MEMORY = 2
"""Memory of a growing receive buffer, relative to the window that it permits."""
RFC_FLOOR_S = 1.0
"""Least RTO of RFC 6298, which the presets without Linux's timers have."""
MAX_RTO_S = 60.0
"""Largest RTO of the presets."""
SHORTER = 0.8
"""If the median wait before a first timeout is shorter than this multiple of the least RTO of RFC
6298, the sender has Linux's timers. A wait that a capture at the receiver's end shows may be a
little too short.
"""
LEAST_WAIT_S = 0.1
"""Shorter waits are ignored: Linux's RTO is at least 0.2 s."""
LATER = 1.5
"""A timeout came later than RFC 6298 allows if the wait was longer by this factor."""


def lines(fit: CaptureFit) -> Iterator[str]:
    """Lines of the table `tcp`."""
    ends, flow = fit.path["endpoints"], fit.flow
    like, why = preset(fit)
    yield from comment(f"Sender: {why}.")
    yield f"like = {quoted(like)}"
    reduction = ends["reduction"]
    control = ends["congestion_control"]
    if control == "bbr":
        yield from comment(
            f"On average {ends['flight_excess']:.1f} times as much is in flight as Reno or CUBIC "
            "permits with as many losses: the sender ignores losses, and BBR is assumed."
        )
    elif control is not None:
        yield from comment(
            f"After a loss, the sender keeps {bracketed(reduction, lambda it: f'{it:.2f}')} of its "
            f"window ({reduction['evidence']})."
        )
    else:
        factor = bracketed(reduction, lambda it: f"{it:.2f}")
        yield from comment(
            "The congestion control cannot be known: part of the window kept after a loss "
            f"{factor} ({reduction['evidence']}). CUBIC, Linux's default, is assumed."
        )
    yield f"congestion_control = {quoted(control or 'cubic')}"
    if ends["mss"] is not None:
        yield f"mss = {ends['mss']}"
    if not like.startswith("linux") and ends["initial_window"]:
        yield f'initial_window = "{ends["initial_window"]} mss"'
    if ends["sack"] is not None:
        yield f"sack = {inline(ends['sack'])}"
    yield f"timestamps = {inline(ends['timestamps'])}"
    if ends["window_scaling"] is not None:
        yield f"window_scaling = {inline(ends['window_scaling'])}"
    yield from _window(ends, flow, like)
    yield from _bound(ends, flow)
    yield from _first_ssthresh(ends)
    if not like.startswith("linux"):
        yield from _least_rto(flow)
    if not like.startswith("linux") and ends["segments_per_ack"]:
        yield f"delayed_ack.segments = {ends['segments_per_ack']}"


def preset(fit: CaptureFit) -> tuple[str, str]:
    """Preset that resembles the sender, and the reason for this choice."""
    ends, flow = fit.path["endpoints"], fit.flow
    kinds = {it["kind"] for it in flow["retransmissions"]}
    timer = f"; timeouts fit {flow['timer']}" if flow["timeouts"] else ""
    if ends["sack"] is None:
        return "linux", f"the handshake is not captured; Linux is assumed{timer}"
    if ends["timestamps"] and ("Linux" in flow["timer"] or not flow["timeouts"]):
        sack = "SACK and timestamps" if ends["sack"] else "timestamps without SACK"
        is_bbr = ends["congestion_control"] == "bbr"
        return "linux_bbr" if is_bbr else "linux", f"{sack}, as Linux{timer}"
    if not ends["timestamps"] and _has_linux_timer(flow):
        sack = "SACK without timestamps" if ends["sack"] else "no SACK and no timestamps"
        return "linux", f"{sack}, but timeouts after less than {seconds(RFC_FLOOR_S)}, as Linux"
    if not ends["sack"]:
        return "newreno", f"no SACK{timer}"
    if "tail_loss_probe" in kinds or ends["timestamps"]:
        return "rack", f"SACK; other timers than Linux{timer}"
    return "sack", f"SACK without timestamps and tail loss probes{timer}"


def _has_linux_timer(flow: Mapping[str, Any]) -> bool:
    """True if timeouts come earlier than RFC 6298 permits.

    The captured waits are compared, since at the receiver's end `timer` is often wrong.
    """
    waits = [it["waited_s"] for it in flow["timeouts"] if it["number"] == 1]
    waits = [it for it in waits if it >= LEAST_WAIT_S]
    return bool(waits) and median(waits) < SHORTER * RFC_FLOOR_S


def _window(ends: Mapping[str, Any], flow: Mapping[str, Any], like: str) -> Iterator[str]:
    if ends["receive_window"] is None:
        return
    first, largest = ends["receive_window"]
    limited = flow["limited_by"]["receive_window"] / (flow["life_s"] or 1.0)
    if application.reads_slowly(flow, ends):
        median = size(ends["median_window"])
        yield from comment(
            f"Receive buffer: at most {size(largest)} were offered; the median is {median}."
        )
        yield f"receive_buffer = {largest}"
        yield 'receive_autotuning = "none"'
        return
    grew, is_linux = first < NEAR_WINDOW * largest, like.startswith("linux")
    text = f"Receive window: {size(first)} at first, {size(largest)} at the most"
    if grew and not is_linux:
        yield from comment(
            f"{text}; it limited {share(limited)} of the life. How it grew cannot be known: growth "
            "as in Linux is assumed, where a buffer holds half as much as its memory."
        )
        yield f"receive_buffer = {MEMORY * first}"
        yield f"receive_autotuning = {MEMORY * largest}"
    elif limited >= LIMITED or not grew:
        at_once = "; the largest is simulated from the start" if grew else ""
        yield from comment(f"{text}; it limited {share(limited)} of the life{at_once}.")
        yield f"advertised_window = {largest}"
        if not is_linux:
            yield f"receive_buffer = {largest}"
    else:
        yield from comment(f"The receive window grew from {size(first)} to {size(largest)}.")


def _bound(ends: Mapping[str, Any], flow: Mapping[str, Any]) -> Iterator[str]:
    limited = flow["limited_by"]["send_buffer"] / (flow["life_s"] or 1.0)
    if ends["window_bound"] is None or limited < LIMITED:
        return
    yield from comment(
        f"Never more than {size(ends['window_bound'])} were in flight, though the sender used all "
        f"of it for {share(limited)} of the life: the send buffer or a clamp of the congestion "
        "window, which a capture cannot tell apart. A clamp is simulated."
    )
    yield f"max_cwnd = {ends['window_bound']}"


def _first_ssthresh(ends: Mapping[str, Any]) -> Iterator[str]:
    if ends["first_ssthresh"] is None:
        return
    yield from comment(
        f"Slow start ended with {size(ends['first_ssthresh'])} in flight and without a loss, as "
        "with a slow-start threshold from an earlier connection to this host (ip tcp_metrics) or "
        "from a route."
    )
    yield f"initial_ssthresh = {ends['first_ssthresh']}"


def _least_rto(flow: Mapping[str, Any]) -> Iterator[str]:
    """Least RTO of a sender whose timeouts all come later than RFC 6298 requires."""
    first = [it for it in flow["timeouts"] if it["number"] == 1]
    if not first or any(it["waited_s"] < LATER * max(it["rto_s"], RFC_FLOOR_S) for it in first):
        return
    least = min(it["waited_s"] for it in first)
    if least > MAX_RTO_S:
        return
    computed = max(it["rto_s"] for it in first)
    yield from comment(
        f"Its timeouts came after {seconds(least)} or more, although the acknowledgments "
        f"permit an RTO of {seconds(computed)}. The shortest wait is simulated as the least RTO."
    )
    yield f"min_rto = {quoted(time_text(least))}"
