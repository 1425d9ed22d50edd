"""Application of a captured flow: a transfer, or responses with pauses between them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from retx.fitting.scenario import comment, inline, time_text
from retx.quantities import rate, seconds, share, size

if TYPE_CHECKING:
    from retx.fitting.captures.capture import CaptureFit

PAUSED = 0.05
"""Minimum fraction of the flow's life that pauses must take together. Shorter pauses are ignored.
"""
LEAST_BURSTS = 3
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
    """True if the application had nothing to send for much of the time, in several pauses."""
    bursts = fit.path["bursts"]
    paused = sum(it["pause_s"] for it in bursts)
    return len(bursts) >= LEAST_BURSTS and paused >= PAUSED * float(fit.flow["life_s"])


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
    bursts = fit.path["bursts"]
    pauses = [it["pause_s"] for it in bursts[1:]]
    sizes = [it["bytes"] for it in bursts]
    paused = sum(pauses)
    yield from comment(
        f"The application had nothing to send for {seconds(paused)}, "
        f"{share(paused / flow['life_s'])} of the life: {len(bursts)} pieces of data, "
        f"{size(min(sizes))} to {size(max(sizes))}, with pauses up to {seconds(max(pauses))}. Each "
        "is simulated as the answer to a request; sizes and pauses follow laws that were fitted "
        "to them."
    )
    answer = law(sizes)
    think = law(pauses)
    app = {
        "kind": "request_response",
        "request": 1,
        "response": in_bytes(answer),
        "think": in_time(think),
        "exchanges": len(bursts),
    }
    yield f"app = {inline(app)}"


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
