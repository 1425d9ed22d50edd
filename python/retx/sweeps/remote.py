"""Worker of a cluster."""

from __future__ import annotations

import time
from dataclasses import dataclass
from traceback import FrameSummary, StackSummary, extract_tb, format_exception_only
from typing import TYPE_CHECKING

from retx import _native

if TYPE_CHECKING:
    from retx.sweeps.sent_code import Loaded, SentCode


@dataclass(frozen=True)
class Order:
    """Replications of a point."""

    point: int
    scenario: str
    """Scenario as TOML, resolved."""
    first: int
    count: int


class UnfitWorkerError(Exception):
    """A worker that would give other results, or none; the message says why."""


class RunFailedError(Exception):
    """Failure of a run: point, replication, reason, and place of an error in user code."""


def run_block(
    orders: list[Order], tables: tuple[str, ...], engine: str, code: SentCode | None
) -> tuple[list[_native.Batch], float]:
    """Runs a block on one core; returns its results and its duration in seconds.

    Raises:
        UnfitWorkerError: The worker's engine differs from the caller's, or it lacks a package.
        RunFailedError: A run failed.
    """
    if engine != _native.ENGINE:
        raise UnfitWorkerError(
            f"a worker has engine {_native.ENGINE}, this machine {engine}: "
            "install the same retx on both"
        )
    began = time.perf_counter()
    find = code.load() if code else None
    pool = _native.Pool(_native.Control(), threads=1, user_code=code is not None)
    try:
        for order in orders:
            scenario = _parsed(order, find)
            pool.submit(order.point, scenario, order.first, order.count, tables=list(tables))
        batches: list[_native.Batch] = []
        idle = False
        while not idle:
            found, idle, failed = pool.take(1.0)
            batches.extend(found)
            for point, replication, error in failed:
                raise _run_failed(point, replication, error)
    finally:
        pool.close()
    return batches, time.perf_counter() - began


def _parsed(order: Order, find: Loaded | None) -> _native.Scenario:
    try:
        return _native.parse(order.scenario, "", [], find)
    except (_native.UserCodeError, _native.ScenarioError) as error:
        # Error in the constructor of a class, which had succeeded on the machine that started the
        # sweep.
        raise _run_failed(order.point, order.first, error) from None


def _run_failed(point: int, replication: int, error: Exception) -> RunFailedError:
    """The error as plain data: the receiver may not know exception classes of user code."""
    cause = error.__cause__ if isinstance(error, _native.UserCodeError) else None
    if cause is None:
        return RunFailedError(point, replication, str(error), None)
    frames = [
        (frame.filename, frame.lineno, frame.name) for frame in extract_tb(cause.__traceback__)
    ]
    return RunFailedError(
        point, replication, str(error), (frames, "".join(format_exception_only(cause)))
    )


class RemoteUserError(Exception):
    """An exception of user code in a worker; the message is its traceback."""

    @classmethod
    def of(cls, frames: list[tuple[str, int, str]], text: str) -> RemoteUserError:
        """The exception, with the lines of code from the files on this machine."""
        lines = StackSummary.from_list([FrameSummary(*frame) for frame in frames]).format()
        return cls("".join(["Traceback (in a worker, most recent call last):\n", *lines, text]))
