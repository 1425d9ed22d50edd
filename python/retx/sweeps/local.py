"""Runs on the cores of this machine, in threads without the interpreter's lock."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Thread
from typing import Protocol

from retx import _native
from retx.progress import GRACE_S, interrupt_user_code
from retx.sweeps.batches import Batch
from retx.sweeps.plan import Prepared, Recording

Failed = tuple[int, int, Exception]
"""Point, replication, error."""


class Executor(Protocol):
    """Where runs are made."""

    def submit(self, point: int, first: int, count: int) -> None:
        """Adds replications of a point."""

    def take(self, patience_s: float) -> tuple[Sequence[Batch], bool, Sequence[Failed]]:
        """What has been found since; true when nothing is left to do; what failed.

        It waits until everything is done, something has failed, or `patience_s` have passed; it may
        return earlier.
        """

    def close(self) -> None:
        """Cancels what is left; may be called again."""


class Local:
    """The executor that is used by default.

    A pool of threads records the same of all its runs, so there is one for each recording; they
    have their turn one after another.
    """

    def __init__(self, prepared: Prepared, threads: int) -> None:
        self._scenarios = list(prepared.scenarios.values())
        self._recordings = [prepared.recordings[key] for key in prepared.scenarios]
        self._threads = threads
        self._user_code = prepared.has_user_code
        self._pools: dict[Recording, _native.Pool] = {}
        self._turn = self._recordings[0]
        self._waiting: dict[Recording, list[tuple[int, int, int]]] = {}
        self._pool()  # its threads start while the work is being given out

    def submit(self, point: int, first: int, count: int) -> None:
        """See `Executor`."""
        recording = self._recordings[point]
        if recording == self._turn:
            self._pool().submit(point, self._scenarios[point], first, count)
        else:
            self._waiting.setdefault(recording, []).append((point, first, count))

    def take(self, patience_s: float) -> tuple[Sequence[Batch], bool, Sequence[Failed]]:
        """See `Executor`."""
        batches, idle, failed = self._pool().take(patience_s)
        if idle and self._waiting and not failed:
            self._turn, jobs = self._waiting.popitem()
            for job in jobs:
                self.submit(*job)
            idle = False
        return batches, idle, failed

    def _pool(self) -> _native.Pool:
        """The pool whose turn it is."""
        recording = self._turn
        if recording not in self._pools:
            # Samples come of themselves where the scenario has an interval.
            self._pools[recording] = _native.Pool(
                _native.Control(),
                threads=self._threads,
                tables=list(recording.tables),
                user_code=self._user_code,
            )
        return self._pools[recording]

    def close(self) -> None:
        """See `Executor`; code of the user's own that does not return is interrupted."""
        for pool in self._pools.values():
            closer = Thread(target=pool.close, daemon=True)
            closer.start()
            closer.join(GRACE_S)
            while closer.is_alive():
                interrupt_user_code(closer)
                closer.join(GRACE_S)
