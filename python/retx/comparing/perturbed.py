"""Simulations of a scenario. They are perturbed if random draws have no effect.

Without random draws all simulations are equal, so their mean has no interval. Emulations differ
from each other and from the simulations for two reasons, which perturbed simulations imitate. All
random numbers follow from the seed.

- Packets of an emulation are late by up to some tenths of a millisecond, which may decide which of
  two packets finds the queue full. The links of a perturbed simulation delay each packet by a
  random time; packets keep their order. The mean delay is 0.1 ms per round trip over one link,
  because the emulator adds 0.11 ms on an idle machine (row B of the reference measurements in
  docs/compare-with-the-kernel.md).
- An emulation begins at any time between two ticks of the kernel's clocks. With an RTT of 41.2 ms,
  for example, the clock of timestamps advances by 41 or by 42 ms during a round trip. Simulated
  clocks tick at the multiples of a tick, so the flows of a perturbed simulation begin later by a
  random part of the longest tick.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from retx.fitting.scenario import time_text
from retx.results.replications import Replications
from retx.results.result import Result
from retx.running.run import replicate, run
from retx.scenarios.parsed import resolve
from retx.scenarios.source import Scenario
from retx.scenarios.units import seconds_of

LATE = {"model": "jitter", "law": "uniform", "max": "0.1 ms"}
"""Channel model that is appended to each direction of a link."""
TICK_S = 0.004
"""Longest tick of the kernel's clocks: that of timers (HZ = 250). Timestamps have ticks of 1 ms."""
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
    """Makes simulations. The second result is true if they had to be perturbed."""
    probe = replicate(scenario, min(runs, PROBES), seed=seed, overrides=overrides, progress=False)
    if not alike(list(probe)):
        return replicate(scenario, runs, seed=seed, overrides=overrides, progress=False), False
    resolved = resolve(scenario, seed=seed, overrides=overrides)
    same = dict(overrides or {}) | late(resolved)
    results = [
        run(
            scenario,
            seed=seed,
            overrides=same | begun_between_ticks(resolved, number),
            replication=number,
            segments=False,
            progress=False,
        )
        for number in range(runs)
    ]
    return Replications(results), True


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


def begun_between_ticks(resolved: Mapping[str, Any], number: int) -> dict[str, str]:
    """Overrides with which all flows of a replication begin later by the same part of a tick."""
    phase = random.Random(f"{resolved['seed']} {number}").uniform(0, TICK_S)
    flows = {flow["name"]: seconds_of(flow["start"]) for flow in resolved["flow"]}
    return {f"flow.{name}.start": time_text(start + phase) for name, start in flows.items()}
