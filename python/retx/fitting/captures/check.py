"""Comparison of a fit with its capture by simulation.

Each simulation draws the fitted values from their intervals. It is captured at the same point as
the original, and measured by the same code. Simulation and original thus have the same kinds of
measurement errors.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from retx.fitting.captures import application
from retx.fitting.captures.capture import CaptureFit, measured
from retx.fitting.captures.scenario import channels
from retx.fitting.scenario import time_text
from retx.running.progress import all_done

SIMULATIONS = 30
CONFIDENCE = 0.95
Z = 1.96
"""Half the width of a 95 % interval, in standard deviations."""
AT = {"receiver": "bottleneck@receiver"}
"""Capture point of the simulation, by the place of the original capture; for other places, the
sender.
"""
AT_SENDER = "access@sender"


COUNTED = ("retransmissions", "timeouts", "idle time")


def _square(root: float) -> float:
    return max(root, 0.0) ** 2


@dataclass(frozen=True)
class Figure:
    """One measured quantity: its value in the capture, and its value in each simulation."""

    name: str
    unit: str
    captured: float
    simulated: Sequence[float]
    left_out: float = 0.0
    """Part of the captured value that the scenario does not model. The interval is extended upwards
    by this part.
    """
    least: float = 0.0
    """Lower bound of the interval: the propagation delay, for a round trip."""

    @property
    def interval(self) -> tuple[float, float]:
        """Prediction interval of the value in a further simulation (Student's t)."""
        from scipy.stats import t

        # The scale is logarithmic for rates and round trips. Counts and idle time vary like Poisson
        # variables and may be 0, so their scale is the square root.
        is_factor = all(it > 0 for it in self.simulated) and self.name not in COUNTED
        to, back = (math.log, math.exp) if is_factor else (math.sqrt, _square)
        values = [to(it) for it in self.simulated]
        n = len(values)
        mean = sum(values) / n
        spread = math.sqrt(sum((it - mean) ** 2 for it in values) / (n - 1))
        half = float(t.ppf((1 + CONFIDENCE) / 2, n - 1)) * spread * math.sqrt(1 + 1 / n)
        low, high = back(mean - half), back(mean + half) + self.left_out
        # The bounds of a count are rounded outwards, because counts have no fractions.
        if self.unit == "":
            return math.floor(low), math.ceil(high)
        # A few long round trips widen the interval on both sides.
        return max(low, min(self.least, *self.simulated)), high

    @property
    def is_inside(self) -> bool:
        """True if the captured value lies within the prediction interval."""
        low, high = self.interval
        return low <= self.captured <= high


@dataclass(frozen=True)
class Check:
    """The comparison of a fit with its capture."""

    figures: Sequence[Figure]
    reasons: Sequence[str]
    """Reasons why figures lie outside their intervals."""
    simulations: int

    @property
    def holds(self) -> bool:
        """True if goodput, retransmissions, timeouts and idle time lie within their intervals."""
        return all(figure.is_inside for figure in self.figures if figure.name not in QUANTILES)

    @property
    def content(self) -> dict[str, Any]:
        """Comparison, as `retx fit --check --json` prints it."""
        return {
            "simulations": self.simulations,
            "holds": self.holds,
            "figures": [
                {
                    "name": figure.name,
                    "captured": figure.captured,
                    "low": figure.interval[0],
                    "high": figure.interval[1],
                    "mean": sum(figure.simulated) / len(figure.simulated),
                    "inside": figure.is_inside,
                }
                for figure in self.figures
            ],
            "reasons": list(self.reasons),
        }


def check(fit: CaptureFit, simulations: int = SIMULATIONS, *, replay: bool = False) -> Check:
    """Simulates a fit, and compares it with its capture."""
    text = fit.toml(replay=replay)
    at = AT.get(fit.flow["place"], AT_SENDER)

    def one(number: int) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="retx-fit-") as folder:
            return simulated(text, draws(fit, number, replay=replay), number, (Path(folder), at))

    with ThreadPoolExecutor(min(os.cpu_count() or 1, simulations)) as pool:
        found = all_done(pool, one, range(simulations))
    figures = list(_figures(fit, [it["path"]["figures"] for it in found]))
    reasons = list(_reasons(fit, figures, [it["flow"] for it in found]))
    return Check(figures, reasons, simulations)


def simulated(
    text: str, overrides: Mapping[str, Any], number: int, where: tuple[Path, str]
) -> dict[str, Any]:
    """Measurements of a simulation; `where` is the folder of its capture and the capture point."""
    from retx.running.run import run

    folder, at = where
    file = folder / "simulated.pcapng"
    run(
        text,
        overrides=overrides,
        replication=number,
        tables=False,
        segments=False,
        pcap=file,
        pcap_at=at,
        progress=False,
    )
    # A simulation may lose so much that hardly any data arrive.
    return measured((file,), 1, 0)


def draws(fit: CaptureFit, number: int, *, replay: bool = False) -> dict[str, Any]:
    """Values of a simulation, each drawn from its confidence interval."""
    draw, path = Random(number), fit.path
    overrides: dict[str, Any] = {}
    bit_s, base = path["rate_bit_s"], path["round_trip_s"]
    if bit_s["value"] is not None:
        deviation = (bit_s["high"] - bit_s["low"]) / 2 / Z
        value = max(draw.gauss(bit_s["value"], deviation), bit_s["value"] / 2)
        overrides["link.bottleneck.rate"] = f"{round(value)} bit/s"
    if base["value"] is not None:
        value = draw.uniform(base["low"], base["high"])
        overrides["link.bottleneck.delay"] = f"{value / 2 * 1e9:.0f} ns"
    if path["ack_queue_packets"] is not None:
        back = path["ack_rate_bit_s"]
        value = draw.gauss(back["value"], (back["high"] - back["low"]) / 2 / Z)
        overrides["link.bottleneck.reverse.rate"] = f"{round(max(value, back['value'] / 2))} bit/s"
    overrides |= application.drawn(fit, draw)
    found = path["queue"]["bytes"]
    if fit.policer is not None and not replay:
        return overrides
    if path["queue"]["packets"] is not None:
        packets = round(draw.uniform(found["low"], found["high"]) / path["segment_wire_bytes"])
        overrides["link.bottleneck.queue.packets"] = max(1, packets)
    if (losing := fit.losses) and not replay:
        given = channels(fit)
        for channel in given[: len(losing.channels())]:
            _draw_losses(channel, losing.used["parameters"], draw)
        overrides["link.bottleneck.forward.channel"] = given
    return overrides


def _draw_losses(
    channel: dict[str, Any], parameters: Sequence[Mapping[str, Any]], draw: Random
) -> None:
    """Draws the parameters of a loss model from their intervals, on a logarithmic scale."""
    for parameter in parameters:
        key, low, high = parameter["name"], parameter["low"], parameter["high"]
        if key not in channel or not low or not high or parameter["value"] <= 0:
            continue
        deviation = math.log(high / low) / 2 / Z
        value = parameter["value"] * math.exp(draw.gauss(0.0, deviation))
        if parameter["unit"] == "bit/s":
            channel[key] = f"{round(value)} bit/s"
        elif isinstance(channel[key], str):
            channel[key] = time_text(value)
        else:
            channel[key] = min(value, 1.0)


NAMES = {
    "goodput_bit_s": ("goodput", "bit/s"),
    "retransmissions": ("retransmissions", ""),
    "timeouts": ("timeouts", ""),
    "idle_s": ("idle time", "s"),
}
QUANTILES = ("RTT, 5 %", "RTT, median", "RTT, 95 %")


def _figures(fit: CaptureFit, simulated: Sequence[Mapping[str, Any]]) -> Iterator[Figure]:
    own = fit.path["figures"]
    # The delay that the queue does not explain may be too small for a channel of its own.
    has_trace = any(channel["model"] == "trace" for channel in channels(fit))
    delays = sorted(fit.path["beyond_queue"]["delays_s"])
    left_out = delays[len(delays) * 19 // 20] if delays and not has_trace else 0.0
    for key, (name, unit) in NAMES.items():
        yield Figure(name, unit, float(own[key]), [float(it[key]) for it in simulated])
    if all(len(it["rtt_s"]) == len(own["rtt_s"]) for it in simulated):
        for index, value in enumerate(own["rtt_s"]):
            values = [it["rtt_s"][index] for it in simulated]
            least = fit.path["round_trip_s"]["low"] or 0.0
            yield Figure(QUANTILES[index], "s", value, values, left_out, least)


def _reasons(
    fit: CaptureFit, figures: Sequence[Figure], flows: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Differences between the limits of the captured flow and those of the simulated flows."""
    from retx.diagnosing.wording import shares

    outside = [figure for figure in figures if not figure.is_inside]
    if not outside:
        return
    own = dict(shares(fit.flow))
    mean: dict[str, float] = {}
    for flow in flows:
        for words, part in shares(flow):
            mean[words] = mean.get(words, 0.0) + part / len(flows)
    parts = {words: own.get(words, 0.0) - mean.get(words, 0.0) for words in {*own, *mean}}
    for words, more in sorted(parts.items(), key=lambda it: -abs(it[1]))[:2]:
        if abs(more) >= 0.02:
            yield (
                f"the capture was limited {words} for {own.get(words, 0.0):.0%} of its life, the "
                f"simulations for {mean.get(words, 0.0):.0%}"
            )
    losses = fit.losses
    if losses is not None and losses.content["change_points"]:
        change = losses.content["change_points"][0]
        yield (
            f"the losses are not stationary: {change['loss_before']:.2%} before "
            f"{change['time_s']:.3g} s, {change['loss_after']:.2%} after"
        )
    if fit.path["endpoints"]["congestion_control"] is None:
        yield "the sender's congestion control is not known; CUBIC was assumed"
    for key, what in (("rate_bit_s", "rate"), ("queue", "limit of the queue")):
        found = fit.path[key]
        found = found["bytes"] if key == "queue" else found
        if found["value"] is None:
            yield f"the {what} is not known: {found['evidence']}"
