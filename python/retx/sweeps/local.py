"""Runs on the cores of this machine, in threads without the interpreter's lock."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Thread
from typing import Protocol

from retx import _native
from retx.running.progress import GRACE_S, interrupt_user_code
from retx.sweeps.plan import Prepared

Failed = tuple[int, int, Exception]
"""Point, replication, error."""


class Executor(Protocol):
    """Executor of the runs of a sweep."""

    def submit(self, point: int, first: int, count: int) -> None:
        """Adds replications of a point."""

    def take(self, timeout_s: float) -> tuple[Sequence[_native.Batch], bool, Sequence[Failed]]:
        """Returns completed batches, a flag that is true if no runs remain, and failed runs.

        The batches are those completed since the last call. The call returns at the latest when
        everything is done, a run has failed, or `timeout_s` has passed.
        """

    def close(self) -> None:
        """Cancels the remaining runs; may be called again."""


class Local:
    """Default executor: one queue of runs."""

    def __init__(self, prepared: Prepared, threads: int) -> None:
        self._scenarios = list(prepared.scenarios.values())
        recordings = [prepared.recordings[key] for key in prepared.scenarios]
        kinds = {recording: kind for kind, recording in enumerate(dict.fromkeys(recordings))}
        # Samples are recorded whenever the scenario has an interval.
        self._recorded = [(list(it.tables), kinds[it]) for it in recordings]
        self._pool = _native.Pool(
            _native.Control(), threads=threads, user_code=prepared.has_user_code
        )

    def submit(self, point: int, first: int, count: int) -> None:
        """See `Executor`."""
        tables, kind = self._recorded[point]
        scenario = self._scenarios[point]
        self._pool.submit(point, scenario, first, count, tables=tables, kind=kind)

    def take(self, timeout_s: float) -> tuple[Sequence[_native.Batch], bool, Sequence[Failed]]:
        """See `Executor`."""
        return self._pool.take(timeout_s)

    def close(self) -> None:
        """See `Executor`; user code that does not return is interrupted."""
        closer = Thread(target=self._pool.close, daemon=True)
        closer.start()
        closer.join(GRACE_S)
        while closer.is_alive():
            interrupt_user_code()
            closer.join(GRACE_S)
