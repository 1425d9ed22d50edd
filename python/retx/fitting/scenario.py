"""Scenario of a fit. A comment above each value gives its interval and its evidence."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retx.fitting.replayed import Point, points
from retx.fitting.wording import delay_lines, loss_lines, number, rate_lines
from retx.terminal.quantities import seconds

if TYPE_CHECKING:
    from retx.fitting.fit import Fit

FITTED = "# Fitted by retx fit"
"""First words of each scenario of a fit."""
ASSUMED_RATE = "100 Mbit/s"
ASSUMED_DELAY = "20 ms"
FRAME_BYTES = 1538
"""Size of a full Ethernet frame."""
DURATION_S = 30.0


def written(fit: Fit, *, replay: bool, beside: str | None) -> str:
    """Text of the scenario."""
    series = fit.series
    lines = comment(
        f"{FITTED[2:]} to {series.file!r} ({series.kind}). Comments say the evidence for each "
        "value, with 95 % intervals in brackets."
    )
    lines += [f"#   {sentence}." for sentence in _sentences(series.findings)]
    lines += ["#", f"# What a series of this kind ({series.kind}) cannot tell:"]
    for item in series.unknown:
        lines += comment(item, "# - ")
    lines += [
        "",
        f"title = {quoted(f'Fitted to {Path(series.file).name}')}",
        f"duration = {quoted(time_text(DURATION_S))}",
        "seed = 1",
        "",
        "[[link]]",
        'name = "path"',
        'ends = ["here", "there"]',
        *_rate(fit),
        *_delay(fit),
        *_channel(fit, replay=replay, beside=beside),
        "",
        "[[flow]]",
        'name = "download"',
        'from = "here"',
        'to = "there"',
        'tcp = "linux"',
        'app = "bulk"',
    ]
    return "\n".join(lines) + "\n"


def comment(text: str, first: str = "# ") -> list[str]:
    """Text as lines of comment."""
    return textwrap.wrap(
        text, 96, initial_indent=first, subsequent_indent="#" + " " * (len(first) - 1)
    )


def quoted(text: str) -> str:
    """Text as a TOML string."""
    import json

    return json.dumps(text, ensure_ascii=False)


def time_text(seconds: float) -> str:
    """Time in the notation of a scenario, rounded to nanoseconds."""
    text = f"{seconds:.9f}".rstrip("0").rstrip(".")
    return f"{text} s"


def inline(value: Any) -> str:  # noqa: ANN401
    """JSON value as TOML on one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {inline(it)}" for key, it in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(inline(it) for it in value) + "]"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float):
        return number(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _sentences(texts: tuple[str, ...]) -> list[str]:
    return [text[:1].upper() + text[1:] for text in texts]


def _rate(fit: Fit) -> list[str]:
    series = fit.series
    rates = series.rates
    lines = [line for text in rate_lines(fit) for line in comment(text)]
    if rates is not None and rates.opportunities_ms:
        return lines  # the channel has it
    if rates is not None:
        known = fit.content["rate"]
        mean = max(known["mean_bit_s"], 1)
        return [*lines, f'rate = "{round(mean)} bit/s"', *_queue(series.queue_wait_s, mean)]
    return [
        *comment("An assumption: this input does not show the rate."),
        f"rate = {quoted(ASSUMED_RATE)}",
    ]


def _queue(wait_s: float | None, bit_s: float) -> list[str]:
    """Drop-tail queue in which a full-sized packet waits at most `wait_s`."""
    if not wait_s:
        return []
    packets = max(1, round(wait_s * bit_s / 8 / FRAME_BYTES))
    return [
        *comment(
            f"The longest RTT exceeds the shortest by {seconds(wait_s)}: the queue holds at least "
            f"what the link sends in that time, and lost packets suggest not much more."
        ),
        f'queue = {{ discipline = "droptail", packets = {packets} }}',
    ]


def _delay(fit: Fit) -> list[str]:
    lines = [line for text in delay_lines(fit) for line in comment(text)]
    if fit.delays is None:
        return [*comment("An assumption: the input has no delays."), f'delay = "{ASSUMED_DELAY}"']
    ways = 2 if fit.series.is_round_trip else 1
    return [*lines, f"delay = {quoted(time_text(max(fit.delays.least_s, 0) / ways))}"]


def _channel(fit: Fit, *, replay: bool, beside: str | None) -> list[str]:
    lines = [line for text in loss_lines(fit, replay=replay) for line in comment(text)]
    channels: list[str] = []
    if fit.losses is not None and not replay:
        channels += [inline(channel) for channel in fit.losses.channels()]
    if fit.counts is not None:
        channels += [inline(channel) for channel in fit.counts.channels]
    rates = fit.series.rates
    if rates is not None and rates.opportunities_ms:
        channels.append(
            inline({"model": "trace", "opportunities_ms": list(rates.opportunities_ms)})
        )
    rows = points(fit, replay=replay)
    if rows:
        packets = fit.series.packets
        assert packets is not None
        end = float(packets.times_s[-1])
        every = end + end / max(len(packets.times_s) - 1, 1)
        channels.append(_trace(rows, every, beside))
    if not channels:
        return lines
    if len(channels) == 1:
        return [*lines, f"forward.channel = {channels[0]}"]
    return [*lines, "forward.channel = [", *(f"    {it}," for it in channels), "]"]


def _trace(rows: list[Point], every_s: float, beside: str | None) -> str:
    every = f"every = {quoted(time_text(every_s))}"
    if beside is not None:
        return f'{{ model = "trace", file = {quoted(beside)}, {every} }}'
    texts = []
    for time, loss, delay in rows:
        values = [f"at = {quoted(time_text(time))}"]
        values += [] if loss is None else [f"loss = {number(loss)}"]
        values += [] if delay is None else [f"delay = {quoted(time_text(delay))}"]
        texts.append("{ " + ", ".join(values) + " }")
    inside = ",\n        ".join(texts)
    return f'{{ model = "trace", {every}, points = [\n        {inside},\n    ] }}'
