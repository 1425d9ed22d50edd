"""Simulations of a scenario. They are perturbed if random draws have no effect.

Without random draws all simulations are equal, so their mean has no interval. Emulations differ
from each other and from the simulations, because their packets are late by up to some tenths of a
millisecond. This lateness may decide which of two packets finds the queue full. If simulations are
nearly equal, their links therefore delay each packet by a random time, which follows from the seed.
Packets keep their order.

The mean delay is 0.1 ms per round trip over one link, because the emulator adds 0.11 ms on an idle
machine (row B of the reference measurements in docs/compare-with-the-kernel.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from retx.replications import Replications
from retx.results import Result
from retx.running import replicate, resolve
from retx.source import Scenario

LATE = {"model": "jitter", "law": "uniform", "max": "0.1 ms"}
"""Channel model that is appended to each direction of a link."""
PROBES = 5
"""Number of simulations that show whether draws change anything."""
ALIKE = 0.001
"""Maximum relative difference of two goodputs that count as equal."""
DIRECTIONS = ("forward", "reverse")
REPAIRS = ("arq", "fec")
"""Keys of a link that repairs losses. Its channel may only lose frames, not delay them."""


def simulated(
    scenario: Scenario,
    runs: int,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> tuple[Replications, bool]:
    """Makes simulations on all cores. The second result is true if they had to be perturbed."""
    probe = replicate(scenario, min(runs, PROBES), seed=seed, overrides=overrides, progress=False)
    perturbed = alike(list(probe))
    if perturbed:
        resolved = resolve(scenario, seed=seed, overrides=overrides)
        overrides = dict(overrides or {}) | late(resolved)
    return replicate(scenario, runs, seed=seed, overrides=overrides, progress=False), perturbed


def alike(results: Sequence[Result]) -> bool:
    """True if the results have equal retransmissions, and goodputs within 0.1 %, for each flow."""
    for flow in zip(*(result.summary["flows"] for result in results), strict=True):
        if len({row["segments_retransmitted"] for row in flow}) > 1:
            return False
        goodputs = [row["goodput_bit_s"] or 0 for row in flow]
        if max(goodputs) > (1 + ALIKE) * min(goodputs):
            return False
    return True


def late(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """Overrides with which the links of a resolved scenario delay packets."""
    changed = {}
    for link in resolved["link"]:
        for direction in DIRECTIONS:
            keys = link | link.get(direction, {})
            channel = keys.get("channel") or []
            if not any(repair in keys for repair in REPAIRS):
                stages = channel if isinstance(channel, list) else [channel]
                changed[f"link.{link['name']}.{direction}.channel"] = [*stages, LATE]
    return changed
