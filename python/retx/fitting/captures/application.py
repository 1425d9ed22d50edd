"""Application of a captured flow: one transfer, or responses separated by the flow's pauses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from retx.fitting.scenario import comment, inline, time_text
from retx.terminal.quantities import rate, seconds, share, size

if TYPE_CHECKING:
    from retx.fitting.captures.capture import CaptureFit

PAUSED = 0.01
"""Minimum fraction of the flow's life that pauses must take together. Shorter pauses are ignored.
"""
MOST_LISTED = 4000
"""Maximum number of listed responses; for more, distributions are fitted."""
LEAST_DRAWN = 5
"""Minimum number of pauses from which a simulation draws."""
SHAPES = (2.1, 5.0)
"""Range of exponents of a Pareto distribution. With smaller exponents the variance would be
infinite.
"""
SLOW_READER, CLOSED = 0.5, 0.5
"""A slow reader is assumed if the receiver's window limits the flow for at least the first fraction
of its life, and the median window is at most the second fraction of the largest one.
"""
EQUAL = 0.1
"""Maximum coefficient of variation with which values count as equal."""


def has_pauses(fit: CaptureFit) -> bool:
    """True if the application had nothing to send for a significant part of the time."""
    paused = sum(it["pause_s"] for it in fit.path["bursts"])
    return bool(paused >= PAUSED * float(fit.flow["life_s"]) and paused > 0)


def reads_slowly(flow: Mapping[str, Any], ends: Mapping[str, Any]) -> bool:
    """True if the receiver's program reads too slowly.

    The receive window then limits the flow, and is mostly far below its maximum.
    """
    if not ends["receive_window"] or ends["median_window"] is None or not flow["life_s"]:
        return False
    _, largest = ends["receive_window"]
    limited = flow["limited_by"]["receive_window"] / flow["life_s"]
    return bool(limited >= SLOW_READER and ends["median_window"] <= CLOSED * largest)


def lines(fit: CaptureFit) -> Iterator[str]:
    """Lines `initiator`, `read_rate` and `app` of the flow."""
    ends, flow = fit.path["endpoints"], fit.flow
    if reads_slowly(flow, ends):
        bit_s = 8 * flow["bytes"] / flow["life_s"]
        yield from comment(
            "The receiver's window limited "
            f"{share(flow['limited_by']['receive_window'] / flow['life_s'])} of the life, and was "
            f"mostly far below its maximum: the program reads no faster than {rate(bit_s)}."
        )
        yield f'read_rate = "{round(bit_s)} bit/s"'
    if not has_pauses(fit):
        if ends["sender_opened"] is not None:
            yield f"initiator = {inline('from' if ends['sender_opened'] else 'to')}"
        yield f'app = {{ kind = "transfer", bytes = {flow["bytes"]} }}'
        return
    yield from responses(fit)


def responses(fit: CaptureFit) -> Iterator[str]:
    """Line `app` of a flow with pauses: each piece of data is a response to a request."""
    bursts, flow = fit.path["bursts"], fit.flow
    pauses = [it["pause_s"] for it in bursts]
    sizes = [it["bytes"] for it in bursts]
    paused = sum(pauses)
    is_listed = len(bursts) <= MOST_LISTED
    how = (
        "sizes and pauses are those of the capture"
        if is_listed
        else "sizes and pauses follow laws that were fitted to them"
    )
    yield from comment(
        f"The application had nothing to send for {seconds(paused)}, "
        f"{share(paused / flow['life_s'])} of the life: {len(bursts)} pieces of data, "
        f"{size(min(sizes))} to {size(max(sizes))}, after pauses up to {seconds(max(pauses))}. "
        f"Each is simulated as the response to a request; {how}."
    )
    app = {
        "kind": "request_response",
        "request": 1,
        "response": listed(sizes) if is_listed else in_bytes(law(sizes)),
        "service": listed([time_text(it) for it in pauses]) if is_listed else in_time(law(pauses)),
        "exchanges": len(bursts),
    }
    yield f"app = {inline(app)}"


def drawn(fit: CaptureFit, draw: Random) -> dict[str, Any]:
    """Pauses of a simulation, drawn with replacement from those of the capture.

    The sizes are kept, and so is the first pause, which follows the handshake.
    """
    pauses = [it["pause_s"] for it in fit.path["bursts"]]
    if not has_pauses(fit) or not LEAST_DRAWN <= len(pauses) <= MOST_LISTED:
        return {}
    again = [pauses[0], *draw.choices(pauses[1:], k=len(pauses) - 1)]
    return {"flow.fitted.app.service": listed([time_text(it) for it in again])}


def listed(values: Sequence[Any]) -> Any:  # noqa: ANN401
    """List of values, or the value if all are equal."""
    return values[0] if len(set(values)) == 1 else list(values)


def law(values: Sequence[float]) -> float | dict[str, Any]:
    """A constant value, or the more likely one of an exponential and a Pareto distribution."""
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((it - mean) ** 2 for it in values) / len(values))
    if deviation <= EQUAL * mean:
        return mean
    least = max(min(values), 1e-9)
    logs = sum(math.log(max(it, least) / least) for it in values)
    shape = min(max(len(values) / logs, SHAPES[0]), SHAPES[1])
    pareto = len(values) * math.log(shape / least) - (shape + 1) * logs
    exponential = -len(values) * (math.log(mean) + 1)
    if exponential >= pareto:
        return {"law": "exponential", "mean": mean}
    return {"law": "pareto", "mean": mean, "shape": round(shape, 3)}


def in_bytes(found: float | dict[str, Any]) -> int | dict[str, Any]:
    """Distribution of bytes in the notation of a scenario."""
    if not isinstance(found, dict):
        return max(1, round(found))
    return {**found, "mean": max(1, round(found["mean"]))}


def in_time(found: float | dict[str, Any]) -> str | dict[str, Any]:
    """Distribution of seconds in the notation of a scenario."""
    if not isinstance(found, dict):
        return time_text(found)
    return {**found, "mean": time_text(found["mean"])}
