"""Runs of variants of a scenario on all cores, until a budget is spent."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from math import inf
from queue import Empty, SimpleQueue
from threading import Thread, current_thread
from typing import TYPE_CHECKING, Any

from retx import _native
from retx.running.progress import GRACE_S, interrupt_user_code
from retx.running.run import run_parsed
from retx.scenarios.parsed import Parsed, parsed_scenario
from retx.scenarios.source import Scenario

if TYPE_CHECKING:
    from retx.results.result import Result

TICK_S = 0.05
SAMPLES = 1000
"""Number of samples of the window over a run."""

AHEAD = 4
"""Number of runs that may start before the costs of earlier runs are known. The number does not
depend on the number of cores, so the answer does not depend on the number of cores either.
"""
PER_RUN = 1000
"""Fixed cost of a run, given as the number of packets that take the same time."""

Job = tuple[Parsed, int]
"""A scenario and the number of a draw."""


@dataclass(frozen=True)
class Limit:
    """Limit on the time and the number of packets of all runs.

    Args:
        moment: Time of `time.monotonic` at which running jobs are cancelled.
        packets: Number of packets of all runs beyond which no further run is started.
    """

    moment: float = inf
    packets: float = inf

    def is_reached(self, packets: float) -> bool:
        """True if the number of packets, or the time, has reached the limit."""
        return packets >= self.packets or time.monotonic() >= self.moment


def packets_of(summary: Mapping[str, Any]) -> int:
    """Number of packets that the links and cells of a run handled, which measures its cost."""
    stages = (*summary["links"], *summary["wlans"])
    return PER_RUN + sum(int(stage["packets_in"]) for stage in stages)


class Runs:
    """Runs variants of one scenario; no table is recorded.

    Args:
        scenario: Scenario, as for `retx.run`.
        seed: Seed, in place of the scenario's.
        overrides: The user's overrides.
        threads: Number of concurrent runs; by default the number of cores.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int | None = None,
        overrides: Mapping[str, Any] | None = None,
        threads: int | None = None,
    ) -> None:
        self._scenario, self._seed, self._overrides = scenario, seed, dict(overrides or {})
        self._threads = threads or os.cpu_count() or 1
        self.count = 0
        self.packets = 0

    def parse(self, overrides: Mapping[str, Any]) -> Parsed:
        """Scenario with these changes.

        Raises:
            ScenarioError: The changes do not fit the scenario.
        """
        values = self._overrides | dict(overrides)
        return parsed_scenario(self._scenario, self._seed, values, warns=False)

    def first(self, parsed: Parsed) -> dict[str, Any]:
        """The summary of draw 0."""
        found = dict(self.finished([(parsed, 0)], Limit()))[0]
        if isinstance(found, Exception):
            raise found
        return found

    def detailed(self, most_segments: int) -> Result:
        """Result of draw 0 with samples, and with each segment's fate unless there are too many.

        Args:
            most_segments: Largest number of segments of all flows whose fates are recorded.
        """
        parsed = self.parse({})
        summary = self.first(parsed)
        interval = {}
        if "sample_interval" not in summary["scenario"]:
            step = summary["engine"]["simulated_s"] / SAMPLES
            interval = {"sample_interval": f"{max(step, 1e-4):.6f} s"}
        sent = sum(flow["segments_sent"] or 0 for flow in summary["flows"])
        return run_parsed(self.parse(interval), segments=sent <= most_segments, progress=False)

    def finished(
        self, jobs: Sequence[Job], limit: Limit
    ) -> Iterator[tuple[int, dict[str, Any] | Exception]]:
        """Yields the index of each job that ends within the limit, with its summary or error.

        Jobs that are still running when the time is over are cancelled, and not yielded.
        """
        control = _native.Control()
        costs: dict[int, int] = {}
        running: dict[Future[str], int] = {}
        finished: SimpleQueue[Future[str]] = SimpleQueue()
        begun, spent = 0, self.packets
        workers: set[Thread] = set()

        def run(parsed: Parsed, draw: int) -> str:
            workers.add(current_thread())
            try:
                raw = _native.run(
                    parsed.scenario, control, replication=draw, tables=False, segments=False
                )
                return raw.summary()
            finally:
                workers.discard(current_thread())

        with ThreadPoolExecutor(self._threads) as pool:
            try:
                while True:
                    while len(running) < self._threads and begun < len(jobs):
                        if not self._may_start(begun, costs, spent, limit):
                            break
                        parsed, draw = jobs[begun]
                        future = pool.submit(run, parsed, draw)
                        running[future] = begun
                        future.add_done_callback(finished.put)
                        begun += 1
                    if not running:
                        return
                    # A simple queue is used instead of `wait`: Ctrl-C within `wait` may leave the
                    # lock of a future released, which then causes "RuntimeError: release unlocked
                    # lock".
                    try:
                        future = finished.get(timeout=TICK_S)
                    except Empty:
                        pass
                    else:
                        index = running.pop(future)
                        found = self._taken(future)
                        costs[index] = 0 if isinstance(found, Exception) else packets_of(found)
                        self.packets += costs[index]
                        yield index, found
                    if running and time.monotonic() >= limit.moment:
                        return
            finally:
                control.cancel()
                _wait_for_end(workers)

    def _may_start(self, index: int, costs: Mapping[int, int], spent: int, limit: Limit) -> bool:
        """True if the budget permits a further job.

        The decision uses only the costs of jobs that are at least `AHEAD` places earlier in the
        order, so it does not depend on the number of cores.
        """
        if limit.packets == inf:
            return not limit.is_reached(0)
        known = range(index - AHEAD + 1)
        if any(it not in costs for it in known):
            return False
        return not limit.is_reached(spent + sum(costs[it] for it in known))

    def _taken(self, future: Future[str]) -> dict[str, Any] | Exception:
        try:
            text = future.result()
        except _native.RunError as error:
            return error
        self.count += 1
        summary: dict[str, Any] = json.loads(text)
        return summary


def _wait_for_end(workers: set[Thread]) -> None:
    """Waits until cancelled runs have ended; interrupts user code that does not return.

    Args:
        workers: Threads with a run. Each leaves this set at the end of its run.
    """
    interrupt_at = time.monotonic() + GRACE_S
    while workers:
        try:
            time.sleep(TICK_S / 10)
        except KeyboardInterrupt:
            # If Python ended now, threads that run user code would crash.
            interrupt_at = 0.0
        if time.monotonic() >= interrupt_at:
            interrupt_user_code(list(workers))
            interrupt_at = time.monotonic() + GRACE_S
