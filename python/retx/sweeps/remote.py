"""Worker of a cluster."""

from __future__ import annotations

import time
from dataclasses import dataclass

from retx import _native


@dataclass(frozen=True)
class Order:
    """Replications of a point."""

    point: int
    scenario: str
    """Scenario as TOML, resolved."""
    first: int
    count: int


class EngineMismatchError(Exception):
    """A worker has another version of retx, whose results must not be mixed with others."""


def run_block(
    orders: list[Order], tables: tuple[str, ...], engine: str
) -> tuple[list[_native.Batch], float]:
    """Runs a block on one core; returns its results and its duration in seconds.

    Raises:
        EngineMismatchError: The worker's engine differs from the caller's.
        RunError: A run failed.
    """
    if engine != _native.ENGINE:
        raise EngineMismatchError(f"a worker has engine {_native.ENGINE}, this machine {engine}")
    began = time.perf_counter()
    pool = _native.Pool(_native.Control(), threads=1)
    try:
        for order in orders:
            scenario = _native.parse(order.scenario, "")
            pool.submit(order.point, scenario, order.first, order.count, tables=list(tables))
        batches: list[_native.Batch] = []
        idle = False
        while not idle:
            found, idle, failed = pool.take(1.0)
            batches.extend(found)
            for point, replication, error in failed:
                raise RunFailedError(point, replication, str(error))
    finally:
        pool.close()
    return batches, time.perf_counter() - began


class RunFailedError(Exception):
    """A run failed: point, replication and reason."""
