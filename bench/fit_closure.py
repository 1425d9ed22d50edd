"""Closure test of `retx fit`: channels of retx lose packets, and the fit must identify them.

For each kind of channel: how often its law is chosen, how often "cannot tell" is said, how often a
95 % interval contains the parameter, and the error of the estimate, relative to the statistical
bound. The bound is that of Cramér and Rao, with the observed information of the series: the
standard error is 1/3.92 of the length of Wald's interval. Outages and policers have no such bound,
because their likelihood is not smooth; their errors are relative to the same share of the interval.

    python bench/fit_closure.py --channels 100 --packets 20000
    python bench/fit_closure.py --own        intervals and errors only: fits no other models
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from retx import _native
from retx.fitting.losses import LossFit, fit_losses

Random = np.random.Generator
Channel = dict[str, Any]
PACKET_BYTES, SPACING_S = 1500.0, 0.001


def log_uniform(random: Random, low: float, high: float) -> float:
    """Draws a number whose logarithm is uniform."""
    return float(np.exp(random.uniform(np.log(low), np.log(high))))


def bernoulli(random: Random) -> tuple[list[Channel], list[float]]:
    """Independent losses."""
    p = log_uniform(random, 0.003, 0.1)
    return [{"model": "bernoulli", "p": p}], [p]


def gilbert(random: Random) -> tuple[list[Channel], list[float]]:
    """Bursts in which everything is lost."""
    r, loss = 1 / random.uniform(1.5, 8), log_uniform(random, 0.01, 0.1)
    p = loss * r / (1 - loss)
    return [{"model": "gilbert_elliott", "p": p, "r": r}], [p, r]


def gilbert_elliott_3(random: Random) -> tuple[list[Channel], list[float]]:
    """Bursts that let packets through."""
    p, r = log_uniform(random, 0.003, 0.02), log_uniform(random, 0.03, 0.2)
    h = random.uniform(0.2, 0.7)
    return [{"model": "gilbert_elliott", "p": p, "r": r, "h": h}], [p, r, h]


def gilbert_elliott_4(random: Random) -> tuple[list[Channel], list[float]]:
    """Two states that both lose packets."""
    p, r = log_uniform(random, 0.001, 0.006), log_uniform(random, 0.01, 0.06)
    k, h = 1 - log_uniform(random, 0.003, 0.01), random.uniform(0.3, 0.7)
    return [{"model": "gilbert_elliott", "p": p, "r": r, "k": k, "h": h}], [p, r, k, h]


def gilbert_time(random: Random) -> tuple[list[Channel], list[float]]:
    """Bursts that last for a time."""
    bad = log_uniform(random, 0.005, 0.05)
    good = bad * random.uniform(10, 40)
    return [{"model": "gilbert_elliott_time", "mean_good": text(good), "mean_bad": text(bad)}], [
        good,
        bad,
    ]


def gilbert_elliott_time(random: Random) -> tuple[list[Channel], list[float]]:
    """Two states in time that both lose packets."""
    bad = log_uniform(random, 0.01, 0.06)
    good = bad * random.uniform(4, 12)
    k, h = 1 - log_uniform(random, 0.003, 0.01), random.uniform(0.3, 0.7)
    channel = {"model": "gilbert_elliott_time", "mean_good": text(good), "mean_bad": text(bad)}
    return [{**channel, "k": k, "h": h}], [good, bad, k, h]


def second_order(random: Random) -> tuple[list[Channel], list[float]]:
    """Losses that depend on the two previous packets."""
    p = [log_uniform(random, 0.005, 0.03), *random.uniform([0.1, 0.1, 0.4], [0.5, 0.4, 0.8])]
    rows = [[1 - p[0], p[0], 0, 0], [0, 0, 1 - p[1], p[1]]]
    rows += [[1 - p[2], p[2], 0, 0], [0, 0, 1 - p[3], p[3]]]
    return [{"model": "markov", "transitions": rows, "loss": [0, 1, 0, 1]}], [float(it) for it in p]


def three_states(random: Random) -> tuple[list[Channel], list[float]]:
    """Received in gaps, received in bursts, lost."""
    p13 = log_uniform(random, 0.003, 0.01)
    p31, p32, p23 = random.uniform([0.1, 0.2, 0.02], [0.3, 0.6, 0.15])
    rows = [[1 - p13, 0, p13], [0, 1 - p23, p23], [p31, p32, 1 - p31 - p32]]
    truth = [p13, float(p31), float(p32), float(p23)]
    return [{"model": "markov", "transitions": rows, "loss": [0, 0, 1]}], truth


def outages(random: Random) -> tuple[list[Channel], list[float]]:
    """Outages on a schedule."""
    every, duration = random.uniform(1, 4), log_uniform(random, 0.02, 0.2)
    start = random.uniform(0, every - duration)
    times = [{"start": text(start), "duration": text(duration)}]
    return [{"model": "outage", "times": times, "every": text(every)}], [every, start, duration, 0]


def policer(random: Random) -> tuple[list[Channel], list[float]]:
    """Token bucket below the offered load."""
    rate = round(random.uniform(0.6, 0.95) * PACKET_BYTES * 8 / SPACING_S)
    bucket = round(log_uniform(random, 6000, 60_000))
    channel = {"model": "policer", "rate": f"{rate} bit/s", "bucket_bytes": bucket}
    return [channel], [rate, bucket, 0]


def text(seconds: float) -> str:
    """Text of a time as in scenarios."""
    return f"{seconds:.9f} s"


KINDS: dict[str, Callable[[Random], tuple[list[Channel], list[float]]]] = {
    function.__name__: function
    for function in (
        *(bernoulli, gilbert, gilbert_elliott_3, gilbert_elliott_4, gilbert_time),
        *(gilbert_elliott_time, second_order, three_states, outages, policer),
    )
}


@dataclass
class Tally:
    """Results of one kind."""

    right: int = 0
    undecided: int = 0
    wrong: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    inside: dict[str, list[bool]] = field(default_factory=dict)
    errors: dict[str, list[float]] = field(default_factory=dict)
    seconds: float = 0


def draw(kind: str, number: int, packets: int, own: bool = False) -> tuple[LossFit, list[float]]:
    """Draws a channel and its losses, and fits all models, or only the channel's own."""
    random = np.random.default_rng([number, *kind.encode()])
    channels, truth = KINDS[kind](random)
    times = np.cumsum(random.exponential(SPACING_S, packets))
    sizes = np.full(packets, PACKET_BYTES)
    lost = _native.channel_losses(json.dumps(channels), times, sizes, seed=number)
    if kind == "outages":  # phases are counted from the first packet
        truth[1] = (truth[1] - times[0]) % truth[0]
    if own:
        return fit_losses(times, lost, sizes, drawn_series=1, laws=[kind]), truth
    return fit_losses(times, lost, sizes, drawn_series=119), truth


def note(tally: Tally, kind: str, fit: LossFit, truth: list[float]) -> None:
    """Adds a fit to the results for its kind of channel."""
    chosen = fit.content["chosen"]
    tally.right += chosen == kind
    tally.undecided += chosen is None
    if chosen is None:
        tally.reasons.append(fit.content["reason"])
    elif chosen != kind:
        tally.wrong.append(chosen)
    found = [model for model in fit.models if model["name"] == kind]
    if not found:
        return
    for parameter, value in zip(found[0]["parameters"], truth, strict=True):
        name, low, high = parameter["name"], parameter["low"], parameter["high"]
        if low is None:
            continue
        tally.inside.setdefault(name, []).append(low <= value <= high)
        error = (parameter["value"] - value) / max((high - low) / 3.92, 1e-12)
        tally.errors.setdefault(name, []).append(error)


def main() -> None:
    """Runs all kinds of channels and prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--channels", type=int, default=100, help="channels of each kind")
    parser.add_argument("--packets", type=int, default=20_000)
    parser.add_argument("--kinds", default=",".join(KINDS), help="names, with commas")
    parser.add_argument("--first", type=int, default=0, help="number of the first channel")
    parser.add_argument("--own", action="store_true", help="fit only the channel's own model")
    options = parser.parse_args()
    print("kind, right, cannot tell, wrong, s per fit; parameter: inside, root mean square error")
    for kind in options.kinds.split(","):
        tally, begun = Tally(), time.process_time()
        for number in range(options.first, options.first + options.channels):
            note(tally, kind, *draw(kind, number, options.packets, options.own))
        seconds = (time.process_time() - begun) / options.channels
        print(f"{kind}: {tally.right} {tally.undecided} {len(tally.wrong)} {seconds:.2f} s", end="")
        for name, inside in tally.inside.items():
            error = np.sqrt(np.mean(np.square(tally.errors[name])))
            print(f"; {name}: {sum(inside)}/{len(inside)} {error:.2f}", end="")
        print(flush=True)
        for said in sorted({*tally.reasons, *tally.wrong}):
            count = [*tally.reasons, *tally.wrong].count(said)
            print(f"    {count} × {said}")


if __name__ == "__main__":
    main()
