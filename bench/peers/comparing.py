"""Runs the simulators in turn and compares their results."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from peers.measuring import PeerError, Usage, costs_of_all, instructions
from peers.scenarios import Scenario, Sweep, Wired, named
from peers.simulators import Job, Outcome, Simulator

__all__ = ["COUNTED", "GRACE", "Plan", "compare", "count_instructions"]

REFERENCE = "retx"
GRACE = 1.2
"""A peer that exceeds its limit by this factor is terminated."""

COUNTED = {
    "instructions_linux": "linux-10",
    "instructions_linux_bbr": "linux_bbr-10",
    "instructions": "dumbbell-10",
}
"""Scenarios whose instructions are counted, by the keys of the results."""

COUNTED_S = {"ns2": 12.0, "ns2-lean": 12.0, "ns3": 4.0, "ns3-native": 4.0}
"""Simulated seconds under valgrind, which slows a program down by a factor of fifty. retx runs the
whole scenario."""

Say = Callable[[str], None]
Measured = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """Plan of a comparison.

    Attributes:
        simulators: The available simulators.
        repeat: Runs of each scenario by each simulator; their seeds are 1, 2, …
        limit_s: Limit on the CPU seconds of a run of a peer.
        folder: For scenario files and sweeps.
    """

    simulators: Sequence[Simulator]
    repeat: int
    limit_s: float
    folder: Path

    def job(self, scenario: Scenario, seed: int, simulator: Simulator) -> Job:
        """Job of a simulator; retx has practically no limit on its CPU time."""
        limit_s = 1e6 if simulator.name == REFERENCE else self.limit_s
        return Job(scenario, seed, limit_s, self.folder)


def compare(plan: Plan, scenario: Scenario, say: Say) -> dict[str, Any]:
    """Runs all simulators in turn, as often as planned; returns the figures of a scenario."""
    runs: dict[str, list[dict[str, Any]]] = {each.name: [] for each in plan.simulators}
    refused: dict[str, str] = {}
    for seed in range(1, plan.repeat + 1):
        for simulator in plan.simulators:
            if simulator.name in refused:
                continue
            try:
                run = _run(plan, plan.job(scenario, seed, simulator), simulator)
            except PeerError as failure:
                refused[simulator.name] = str(failure)
                say(f"{scenario.name}: {simulator.name} {failure}")
                continue
            runs[simulator.name].append(run)
            say(f"{scenario.name}: {simulator.name} {_line(run)}")
    measured = {name: _summary(found) for name, found in runs.items() if found}
    compared = {
        "name": scenario.name,
        "title": scenario.title,
        "parameters": asdict(scenario),
        "measured": measured,
        "not_measured": refused,
    }
    if REFERENCE in measured:
        compared |= _beside(plan, scenario, measured)
    return compared


def _run(plan: Plan, job: Job, simulator: Simulator) -> dict[str, Any]:
    commands = simulator.commands(job)
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    if simulator.name == REFERENCE:
        outputs, usage = costs_of_all(commands, 1e6, 1)
    else:
        outputs, usage = costs_of_all(commands, GRACE * plan.limit_s + 2, cores)
    outcome = simulator.outcome(job, outputs)
    if outcome.segments == 0 and simulator.name != REFERENCE:
        raise PeerError(f"had delivered nothing after {usage.user_s:.0f} CPU seconds")
    return {
        "seed": job.seed,
        "complete": _is_complete(job.scenario, outcome, len(outputs) == len(commands)),
        "load": load,
        **asdict(outcome),
        **asdict(usage),
        "segments_per_cpu_s": outcome.segments / max(usage.user_s, 1e-6),
    }


def _is_complete(scenario: Scenario, outcome: Outcome, all_run: bool) -> bool:
    if isinstance(scenario, Sweep):
        return all_run
    if isinstance(scenario, Wired) and scenario.transfer:
        return outcome.segments >= scenario.transfer
    return outcome.simulated_s >= 0.999 * scenario.duration_s


def _summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    keys = ["segments_per_cpu_s", "user_s", "wall_s", "peak_bytes", "segments", "simulated_s"]
    medians = {key: statistics.median(run[key] for run in runs) for key in keys}
    setups = [run["setup_s"] for run in runs if run["setup_s"] is not None]
    medians["setup_s"] = statistics.median(setups) if setups else None
    return {"runs": runs, "complete": all(run["complete"] for run in runs), "median": medians}


def _beside(plan: Plan, scenario: Scenario, measured: dict[str, Any]) -> dict[str, Any]:
    """Speed of retx relative to each peer, and goodput of each peer relative to retx."""
    retx = next(each for each in plan.simulators if each.name == REFERENCE)
    reference = measured[REFERENCE]
    if not isinstance(scenario, Sweep):
        # Cost of starting retx, reading the scenario, and setting it up.
        start = replace(scenario, duration_s=1e-6)
        reference["median"]["setup_s"] = _run(plan, plan.job(start, 1, retx), retx)["user_s"]
    speed, delivered = {}, {}
    for name, found in measured.items():
        if name == REFERENCE:
            continue
        rate = found["median"]["segments_per_cpu_s"]
        speed[name] = reference["median"]["segments_per_cpu_s"] / rate
        delivered[name] = _delivered(plan, scenario, retx, (found, reference))
    return {"retx_is_faster": speed, "delivered_beside_retx": delivered}


def _delivered(
    plan: Plan, scenario: Scenario, retx: Simulator, measured: tuple[Measured, Measured]
) -> float | None:
    """A peer's goodput as a multiple of retx's over the same simulated time; means over seeds.

    None if a comparison is impossible because a peer could not finish a sweep.
    """
    found, reference = measured
    if isinstance(scenario, Sweep) and not found["complete"]:
        return None
    theirs: list[float] = []
    ours: list[float] = []
    for run, full in zip(found["runs"], reference["runs"], strict=False):
        other = full
        if not run["complete"] and not isinstance(scenario, Sweep):
            shorter = replace(scenario, duration_s=run["simulated_s"])
            other = _run(plan, plan.job(shorter, run["seed"], retx), retx)
        theirs.append(run["segments"] / run["simulated_s"])
        ours.append(other["segments"] / other["simulated_s"])
    return statistics.mean(theirs) / statistics.mean(ours)


def count_instructions(plan: Plan, name: str, say: Say) -> dict[str, Any]:
    """Instructions per delivered segment in the scenario with this name.

    They are the difference between two runs of different length, so that the start does not count.
    The additional cost of the beginning is reported separately. Both together give the cost of the
    whole scenario.
    """
    scenario = named([name])[0]
    assert isinstance(scenario, Wired)
    found: dict[str, Any] = {}
    for simulator in plan.simulators:
        spans_s = 2.0, COUNTED_S.get(simulator.name, scenario.duration_s)
        try:
            short, long = (
                _instructions(plan, replace(scenario, duration_s=seconds), simulator)
                for seconds in spans_s
            )
        except PeerError as failure:
            say(f"instructions of {name}: {simulator.name} {failure}")
            continue
        each = (long[1] - short[1]) / (long[0] - short[0])
        beginning = short[1] - each * short[0]
        per_second = (long[0] - short[0]) / (spans_s[1] - spans_s[0])
        segments = long[0] + per_second * (scenario.duration_s - spans_s[1])
        found[simulator.name] = {
            "per_segment": each,
            "beginning": beginning,
            "segments": long[0],
            "whole_scenario_s": scenario.duration_s,
            "whole_process_per_segment": each + beginning / segments,
        }
        say(f"instructions of {name}: {simulator.name} {each:,.0f} for each delivered segment")
    return found


def _instructions(plan: Plan, scenario: Wired, simulator: Simulator) -> tuple[int, int]:
    # Under valgrind the clock says nothing.
    job = replace(plan.job(scenario, 1, simulator), limit_s=1e6)
    (command,) = simulator.commands(job)
    output, count = instructions(command)
    return simulator.outcome(job, [output]).segments, count


def _line(run: dict[str, Any]) -> str:
    usage = Usage(**{key: run[key] for key in ("user_s", "system_s", "wall_s", "peak_bytes")})
    text = (
        f"{run['segments']:,} segments in {usage.user_s:.2f} CPU s, "
        f"{run['segments_per_cpu_s']:,.0f} a second, {usage.peak_bytes / 1e6:.0f} MB"
    )
    return text if run["complete"] else f"{text}; reached {run['simulated_s']:.3g} s"
