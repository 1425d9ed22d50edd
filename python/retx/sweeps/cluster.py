"""Runs on a Dask cluster.

Workers get blocks of runs of about one second each; if a worker is lost, Dask runs its block
elsewhere. Only this process writes files.
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from retx import _native
from retx.errors import UsageError
from retx.errors.extras import install_command
from retx.sweeps.local import Failed
from retx.sweeps.plan import Prepared
from retx.sweeps.remote import Order, RemoteUserError, RunFailedError, UnfitWorkerError, run_block

if TYPE_CHECKING:
    from retx.sweeps.sent_code import SentCode

Future = Any
"""A `distributed.Future`."""

BLOCK_S = 1.0
FIRST_GUESS_S = 0.02
"""Assumed duration of a run, before one has ended."""
RUNS_PER_BLOCK = 5000
AHEAD = 2
"""Number of blocks per thread of the cluster that are running or waiting there."""
CONNECT_S = 15


class ClusterError(_native.RunError):
    """Failure of the cluster; the message says why."""


class Cluster:
    """The executor behind `dask=ADDRESS`.

    Raises:
        UsageError: Dask is not installed, there is no scheduler at the address, or user code
            cannot be sent to the workers.
    """

    def __init__(self, address: str, prepared: Prepared) -> None:
        self._client = _connected(address)
        try:
            self._code = _code(prepared)
        except UsageError:
            self._client.close()
            raise
        self._texts = [scenario.to_toml() for scenario in prepared.scenarios.values()]
        (recording,) = set(prepared.recordings.values())
        self._tables = recording.tables
        self._first: deque[tuple[int, int, int]] = deque()
        """The first run of each point, which shows the cost of its other runs."""
        self._rest: list[tuple[int, int, int]] = []
        self._sorted = True
        self._costs: dict[int, float] = {}
        self._under_way: set[Future] = set()
        self._closed = False
        self._finished: queue.SimpleQueue[Future] = queue.SimpleQueue()

    def submit(self, point: int, first: int, count: int) -> None:
        """See `Executor`."""
        self._first.append((point, first, 1))
        if count > 1:
            self._rest.append((point, first + 1, count - 1))
            self._sorted = False

    def take(self, timeout_s: float) -> tuple[Sequence[_native.Batch], bool, Sequence[Failed]]:
        """See `Executor`."""
        self._fill()
        batches: list[_native.Batch] = []
        try:
            future = self._finished.get(timeout=timeout_s if self._under_way else 0)
            while True:
                self._under_way.discard(future)
                batches += self._found(future)
                future = self._finished.get_nowait()
        except queue.Empty:
            pass
        except RunFailedError as failed:
            point, replication, message, users = failed.args
            error = _native.UserCodeError(message) if users else _native.RunError(message)
            error.__cause__ = RemoteUserError.of(*users) if users else None
            return batches, False, [(point, replication, error)]
        self._fill()
        idle = not (self._under_way or self._first or self._rest)
        return batches, idle, []

    def close(self) -> None:
        """See `Executor`."""
        if self._closed:
            return
        self._closed = True
        self._client.cancel(list(self._under_way))
        self._under_way.clear()
        self._client.close()

    def _fill(self) -> None:
        """Submits the work of the next seconds to the cluster."""
        threads = sum(self._client.nthreads().values()) or 1
        while len(self._under_way) < AHEAD * threads and (self._first or self._rest):
            orders = self._block()
            future = self._client.submit(
                run_block, orders, self._tables, _native.ENGINE, self._code, pure=False
            )
            self._under_way.add(future)
            future.add_done_callback(self._finished.put)

    def _block(self) -> list[Order]:
        """The next runs: at first one run of each point, then the most expensive runs."""
        if not self._first and not self._sorted:
            self._rest.sort(key=lambda rest: self._cost(rest[0]))
            self._sorted = True
        orders, seconds, runs = [], 0.0, 0
        while (self._first or self._rest) and seconds < BLOCK_S and runs < RUNS_PER_BLOCK:
            if self._first:
                point, first, count = self._first.popleft()
            else:
                point, first, left = self._rest.pop()
                affordable = int((BLOCK_S - seconds) / self._cost(point))
                count = max(1, min(left, affordable, RUNS_PER_BLOCK - runs))
                if count < left:
                    self._rest.append((point, first + count, left - count))
            orders.append(Order(point, self._texts[point], first, count))
            seconds += count * self._cost(point)
            runs += count
        return orders

    def _cost(self, point: int) -> float:
        known = self._costs.get(point)
        if known is None and self._costs:
            known = sum(self._costs.values()) / len(self._costs)
        return known or FIRST_GUESS_S

    def _found(self, future: Future) -> list[_native.Batch]:
        """Results of a block.

        Raises:
            RunFailedError: A run failed.
            ClusterError: The cluster has failed.
        """
        try:
            batches, seconds = future.result()
        except RunFailedError:
            raise
        except UnfitWorkerError as error:
            raise ClusterError(str(error)) from None
        except ModuleNotFoundError as error:
            raise ClusterError(f"the workers cannot load retx: {error}") from None
        except Exception as error:
            raise ClusterError(f"the cluster: {type(error).__name__}: {error}") from error
        runs = [run for batch in batches for run in batch.runs()]
        events = sum(cost for _, _, _, cost in runs) or 1
        for point, _, last_events, _ in runs:
            self._costs[point] = seconds * last_events / events
        return list(batches)


def _code(prepared: Prepared) -> SentCode | None:
    if not prepared.has_user_code:
        return None
    from retx.sweeps.sent_code import sent_code

    return sent_code(prepared.classes)


def _connected(address: str) -> Any:  # noqa: ANN401
    try:
        from distributed import Client
        from distributed.comm.addressing import parse_address, parse_host_port
    except ModuleNotFoundError:
        raise UsageError(f"--dask needs Dask: {install_command('dask')}") from None
    try:
        # The address is checked before a client is created: a client that cannot connect would wait
        # for a loop that never runs.
        parse_host_port(parse_address(address)[1])
        connect: Any = Client  # its types are not complete
        return connect(address, timeout=CONNECT_S, name="retx", set_as_default=False)
    except (OSError, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise UsageError(f"--dask {address}: no Dask scheduler answers there: {reason}") from None
