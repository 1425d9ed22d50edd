"""Several emulations of one scenario, some of them concurrently; invalid ones are repeated."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from retx import _native
from retx.errors import UsageError
from retx.plugins.code_hashes import UserCodeHashes
from retx.results.result import Result
from retx.running.emulation import calibration, check_lateness, check_linux, worker_command
from retx.running.progress import watched

Report = Callable[[str, int, int], None]
"""Callback for progress. Its arguments are the activity, the number of completed steps, and their
total."""


@dataclass(frozen=True)
class Plan:
    """Number of emulations, and their settings."""

    count: int = 10
    retries: int = 2
    """Number of times that an emulation is repeated if it was not valid."""
    jobs: int | None = None
    """Number of emulations at once; `default_jobs()` if None."""
    backend: str = "tun"
    lateness_bound_s: float = 0.001
    first: int = 0
    """Replication number of the first emulation; the others follow."""

    def check(self) -> None:
        """Refuses numbers out of range.

        Raises:
            UsageError: A number is out of range; the message says which.
        """
        for name, value, least in (
            ("emulations", self.count, 2),
            ("retries", self.retries, 0),
            ("jobs", 1 if self.jobs is None else self.jobs, 1),
        ):
            if value < least:
                raise UsageError(f"{name} is {value}: it must be at least {least}")
        check_lateness(self.lateness_bound_s)


@dataclass(frozen=True)
class Emulated:
    """One emulation, with its repetitions."""

    result: Result | None
    """The valid emulation; None if no attempt was valid."""
    faults: list[str]
    """Reasons why the other attempts were not valid."""


def default_jobs() -> int:
    """Default number of concurrent emulations. Each needs one core for links and one for hosts."""
    return max(1, (os.cpu_count() or 1) // 2)


def emulated(
    scenario: _native.Scenario, code: UserCodeHashes, plan: Plan, report: Report | None
) -> list[Emulated]:
    """Makes the emulations of a plan; returns the results in the order of their replications.

    Raises:
        EmulationRefusedError: The kernel cannot run this scenario, or this machine does not permit
            it or lacks something.
        RunError: An emulation failed.
    """
    return watched(lambda control: emulate_each(control, scenario, code, plan, report), False)


def emulate_each(
    control: _native.Control,
    scenario: _native.Scenario,
    code: UserCodeHashes,
    plan: Plan,
    report: Report | None = None,
) -> list[Emulated]:
    """As `emulated`, in this thread; `control` cancels it."""
    check_linux()
    jobs = plan.jobs or default_jobs()
    calibrated = calibration(plan.backend)
    command = worker_command()
    done = 0

    def once(replication: int) -> Result:
        raw = _native.emulate(
            scenario,
            control,
            command=command,
            backend=plan.backend,
            lateness_bound_s=plan.lateness_bound_s,
            # Concurrent emulations share the machine.
            rate_max_bit_s=calibrated["rate_max_bit_s"] / jobs if calibrated else None,
            replication=replication,
            tables=True,
            segments=False,
        )
        return Result(raw, code)

    def until_valid(replication: int) -> Emulated:
        nonlocal done
        faults: list[str] = []
        result = None
        # A repetition uses the same draws, so that leaving out invalid runs does not favour certain
        # draws.
        while result is None and len(faults) <= plan.retries:
            attempt = once(replication)
            said = attempt.summary["emulation"]
            if said["valid"]:
                result = attempt
            else:
                faults.append("; ".join(said["faults"]))
        done += 1
        if report:
            report("emulation", done, plan.count)
        return Emulated(result, faults)

    numbers = range(plan.first, plan.first + plan.count)
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(until_valid, number) for number in numbers]
        try:
            return [future.result() for future in futures]
        except BaseException:
            # If one emulation fails, all are cancelled.
            control.cancel()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
