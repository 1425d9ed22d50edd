"""Simulations of a scenario, perturbed where random draws change nothing.

What it does: without random draws all simulations are equal, their mean has no interval, and every
emulation differs from it, as its packets are late by tenths of a millisecond. Simulations that are
as good as equal therefore get propagation delays and start times that are greater by small draws
from the seed.
How much: an emulator adds 0.11 ms to each round trip on an idle machine and 0.3 ms on a busy one
(row B of the reference measurements in docs/compare-with-the-kernel.md); each direction of a link
gains 0 to `DELAY_S`, each start 0 to `START_S`.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from retx.errors import UsageError
from retx.replications import Replications
from retx.results import Result
from retx.running import parsed_scenario, replicate, resolve, run_parsed
from retx.source import Scenario

DELAY_S = 0.000_15
START_S = 0.000_3
PROBES = 5
"""So many simulations tell whether draws change anything."""
ALIKE = 0.001
DIRECTIONS = ("forward", "reverse")
UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def simulated(
    scenario: Scenario,
    runs: int,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> tuple[Replications, bool]:
    """Simulations on all cores, and whether they had to be perturbed."""
    probe = replicate(scenario, min(runs, PROBES), seed=seed, overrides=overrides, progress=False)
    if not alike(list(probe)):
        return replicate(scenario, runs, seed=seed, overrides=overrides, progress=False), False
    resolved = resolve(scenario, seed=seed, overrides=overrides)

    def one(number: int) -> Result:
        changed = dict(overrides or {}) | shifts(resolved, number)
        parsed = parsed_scenario(scenario, seed, changed)
        return run_parsed(parsed, replication=number, segments=False, progress=False)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return Replications(list(pool.map(one, range(runs)))), True


def alike(results: Sequence[Result]) -> bool:
    """Whether every flow has as many retransmissions in each, and the same goodput (to 0.1 %)."""
    for flow in zip(*(result.summary["flows"] for result in results), strict=True):
        if len({row["segments_retransmitted"] for row in flow}) > 1:
            return False
        goodputs = [row["goodput_bit_s"] or 0 for row in flow]
        if max(goodputs) > (1 + ALIKE) * min(goodputs):
            return False
    return True


def shifts(resolved: Mapping[str, Any], replication: int) -> dict[str, str]:
    """Overrides with the delays and start times of one simulation."""
    draws = random.Random(f"{resolved['seed']}/{replication}")
    changed = {}
    for link in resolved["link"]:
        for direction in DIRECTIONS:
            delay = link.get(direction, {}).get("delay", link.get("delay"))
            if delay is not None:
                later = duration_s(delay) + DELAY_S * draws.random()
                changed[f"link.{link['name']}.{direction}.delay"] = _text(later)
    for flow in resolved["flow"]:
        later = duration_s(flow["start"]) + START_S * draws.random()
        changed[f"flow.{flow['name']}.start"] = _text(later)
    return changed


def duration_s(text: str) -> float:
    """A duration as resolved scenarios write it, in seconds."""
    found = re.fullmatch(r"([0-9.e+-]+) (\S+)", text)
    if not found or found[2] not in UNITS_S:
        raise UsageError(f"{text!r} is no duration, such as '20 ms'")
    return float(found[1]) * UNITS_S[found[2]]


def _text(seconds: float) -> str:
    return f"{round(1e9 * seconds)} ns"
