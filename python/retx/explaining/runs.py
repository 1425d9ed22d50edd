"""Runs of variants of a scenario on all cores, until a moment."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from retx import _native
from retx.running import Parsed, parsed_scenario, run_parsed
from retx.source import Scenario

if TYPE_CHECKING:
    from retx.results import Result

TICK_S = 0.05
SAMPLES = 1000
"""Of the window's course."""

Job = tuple[Parsed, int]
"""A scenario and a draw."""


class Runs:
    """Runs variants of one scenario; no table is recorded.

    Args:
        scenario: As `retx.run` takes it.
        seed: Takes the place of the scenario's.
        overrides: Of the user's own.
        threads: Runs at a time; as many as there are cores by default.
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

    def parse(self, overrides: Mapping[str, Any]) -> Parsed:
        """The scenario with these changes.

        Raises:
            ScenarioError: They do not fit the scenario.
        """
        return parsed_scenario(self._scenario, self._seed, self._overrides | dict(overrides))

    def first(self, parsed: Parsed) -> dict[str, Any]:
        """The summary of draw 0."""
        found = dict(self.finished([(parsed, 0)], float("inf")))[0]
        if isinstance(found, Exception):
            raise found
        return found

    def detailed(self, most_segments: int) -> Result:
        """Draw 0 with samples; with the fate of each segment where there are no more than so many.

        Args:
            most_segments: Of all flows together.
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
        self, jobs: Sequence[Job], until: float
    ) -> Iterator[tuple[int, dict[str, Any] | Exception]]:
        """Index of each job that ends before `until` (`time.monotonic`), with its summary or fault.

        What still runs then is cancelled, and not told.
        """
        if not jobs:
            return
        control = _native.Control()
        waiting = iter(range(len(jobs)))
        running: dict[Future[str], int] = {}
        with ThreadPoolExecutor(self._threads) as pool:
            try:
                while True:
                    while len(running) < self._threads and time.monotonic() < until:
                        index = next(waiting, None)
                        if index is None:
                            break
                        parsed, draw = jobs[index]
                        running[pool.submit(_run, parsed, control, draw)] = index
                    if not running:
                        return
                    done, _ = wait(running, TICK_S, FIRST_COMPLETED)
                    for future in done:
                        yield running.pop(future), self._taken(future)
                    if running and time.monotonic() >= until:
                        return
            finally:
                control.cancel()

    def _taken(self, future: Future[str]) -> dict[str, Any] | Exception:
        try:
            text = future.result()
        except _native.RunError as error:
            return error
        self.count += 1
        summary: dict[str, Any] = json.loads(text)
        return summary


def _run(parsed: Parsed, control: _native.Control, draw: int) -> str:
    raw = _native.run(parsed.scenario, control, replication=draw, tables=False, segments=False)
    return raw.summary()
