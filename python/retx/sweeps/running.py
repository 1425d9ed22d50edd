"""`retx.sweep`: plans and runs a sweep, and continues an interrupted one."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retx import _native
from retx.errors import UsageError, warn, warn_of_unmeasured
from retx.errors.checks import checked_integer, name_list, optional_path
from retx.plugins.code_hashes import unhashable_message
from retx.running.progress import Progress
from retx.scenarios.places import check_places
from retx.scenarios.source import Scenario
from retx.scenarios.trust import trusting
from retx.sweeps.derive import Derive, Function
from retx.sweeps.grid import Case
from retx.sweeps.local import Executor, Failed, Local
from retx.sweeps.parts import joined
from retx.sweeps.plan import Plan, Prepared, Wanted, prepare
from retx.sweeps.result import Reader, Sweep
from retx.sweeps.store import Directory, Memory

if TYPE_CHECKING:
    from retx.sweeps.display import Display
    from retx.sweeps.precision import Precision

TICK_S = 0.2
PART_S = 5.0
"""Interval between two parts: a killed sweep loses at most the results of this time."""

Store = Memory | Directory


def sweep(
    scenario: Scenario,
    grid: Mapping[str, Any] | None = None,
    replications: int | None = None,
    *,
    until: Mapping[str, Any] | None = None,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    tables: str | Sequence[str] = (),
    cases: Mapping[str, Mapping[str, Any]] | None = None,
    derive: Function | None = None,
    derive_from: str | Sequence[str] = (),
    threads: int | None = None,
    dask: str | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    code: bool = True,
    files_anywhere: bool = False,
    progress: Progress = None,
) -> Sweep:
    """Runs a scenario at every point of a grid, each several times, on all cores or a cluster.

    Runs of the same replication share their random draws at every point, so that points can be
    compared run by run. The result depends neither on the number of threads or machines nor on
    interruptions.

    Args:
        scenario: As for `run`.
        grid: Varied values, which replace the scenario's `[sweep]`: keys with lists or ranges,
            `zip`, `latin_hypercube`.
        replications: Number of runs of each point; 30 if the scenario has no number either. With
            `until`: number of runs before the first decision about more.
        until: Run each point until a mean is precise enough: `{"metric": "goodput_bit_s",
            "relative_half_width": 0.05, "confidence": 0.95, "max_replications": 500}`.
        seed: Seed that replaces the scenario's.
        overrides: Values by their key in the scenario, at every point.
        tables: Additional tables to keep of every run: `samples` (with `link_samples` and
            `limits`), `segments` (with `acks`), `drops`, `episodes` (with `exchanges`).
        cases: Named points, each with values of several keys, crossed with the other varied values;
            they replace the scenario's `[[sweep.case]]`.
        derive: Function from the tables of one run to numbers by name, which become the table
            `derived`. It is called when a run is complete.
        derive_from: Tables that `derive` reads in addition to the summaries; they are not kept.
        threads: Number of cores to use; all by default.
        dask: Address of the scheduler of a Dask cluster to run on; user code can run there, too.
        out: Directory for the results. An interrupted sweep there is continued; values or
            replications are added to a complete one.
        force: Replace an earlier sweep at `out`.
        code: False refuses a scenario that names user code, before any code is loaded.
        files_anywhere: Data files that the scenario names may lie outside its folder.
        progress: True shows a bar with the confidence intervals so far, False none; by default a
            bar is shown on a terminal. A function is called with the fraction done.

    Raises:
        OSError: A file cannot be read or written.
        ScenarioError: The scenario, the grid or one of its points is invalid.
        UsageError: An argument is invalid, or the directory holds another sweep.
        RunError: A run failed; the message names it. Earlier results are kept.
        UserCodeError: User code failed; its exception is the `__cause__`.
    """
    named = None if cases is None else [Case(name, values) for name, values in cases.items()]
    made = Derive(derive, tuple(name_list(derive_from))) if derive else None
    wanted = Wanted(grid, replications, until, seed, overrides, name_list(tables), named, made)
    check_places(scenario, directory=optional_path("out", out), overrides=overrides)
    with trusting(code=code, files_anywhere=files_anywhere):
        prepared = prepare(scenario, wanted)
    return sweep_prepared(
        prepared,
        threads=threads,
        dask=dask,
        out=out,
        force=force,
        progress=progress,
    )


def sweep_prepared(
    prepared: Prepared,
    *,
    threads: int | None = None,
    dask: str | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress = None,
    metric: str | None = None,
    tabulate: bool = False,
) -> Sweep:
    """Runs a sweep of resolved points; see `sweep`.

    A `metric` that no run will have is refused before the first run. `tabulate` writes the tables
    of `tabulated` into the directory.
    """
    threads, target = _checked_threads(threads, dask), optional_path("out", out)
    plan = prepared.plan
    if target and prepared.unhashable:
        raise UsageError(f"out: {unhashable_message(prepared.unhashable)}, or leave out `out`")
    named = (metric, plan.until.metric if plan.until else None)
    for text in (text for text in named if text is not None):
        from retx.sweeps.precision import Metric

        Metric.read(text).check(prepared.scenarios.values())
    with _executor(prepared, threads, dask) as executor, _store(plan, target, force) as store:
        run_course(prepared, store, executor, progress)
        found = Sweep(plan, tables_of(store))
        if tabulate and isinstance(store, Directory):
            from retx.sweeps.tabulated import write_tables

            write_tables(found, store.path)
        return found


def run_study(
    prepared: Prepared, out: Path | None, threads: int | None, progress: Progress
) -> Reader:
    """Runs the points of several scenarios in one queue; returns a reader of the tables.

    Args:
        prepared: All points.
        out: Directory in which results are kept, also for later calls.
        threads: As for `sweep`.
        progress: As for `sweep`.
    """
    keys = tuple(prepared.scenarios)
    store = Directory(out, prepared.plan, warn, lasting=False) if out else Memory(keys)
    with closing(store), _executor(prepared, threads, None) as executor:
        run_course(prepared, store, executor, progress)
        return tables_of(store)


def run_course(prepared: Prepared, store: Store, executor: Executor, progress: Progress) -> None:
    """Runs missing replications, and completes the store."""
    execution = Execution(prepared, store, executor)
    with _display(prepared.plan, progress) as display:
        execution.run(display)
    store.finish()
    if prepared.warms_up:
        from retx.sweeps.unmeasured import unmeasured

        warn_of_unmeasured(unmeasured(store.table, prepared.plan), execution.done)


def _checked_threads(threads: int | None, dask: str | None) -> int | None:
    if threads is not None and dask is not None:
        raise UsageError("threads and dask exclude each other: a cluster's workers have their own")
    return None if threads is None else checked_integer("threads", threads, 1)


@contextmanager
def _executor(prepared: Prepared, threads: int | None, dask: str | None) -> Iterator[Executor]:
    executor: Executor
    if dask is None:
        executor = Local(prepared, threads or os.cpu_count() or 1)
    else:
        from retx.sweeps.cluster import Cluster

        executor = Cluster(dask, prepared)
    try:
        yield executor
    finally:
        executor.close()


@contextmanager
def _store(plan: Plan, path: Path | None, force: bool) -> Iterator[Store]:
    if path is None:
        yield Memory(tuple(dict.fromkeys(plan.keys)))
        return
    if force:
        from retx.sweeps.status import clear

        clear(path)
    store = Directory(path, plan, warn)
    try:
        yield store
    finally:
        store.close()


def tables_of(store: Store) -> Reader:
    """Reader of the tables, for use after the store is closed."""
    if isinstance(store, Directory):
        parts = store.parts
        return lambda name: joined(parts, name)
    return store.table


@contextmanager
def _display(plan: Plan, progress: Progress) -> Iterator[Display]:
    from retx.sweeps.display import Display

    with Display.shown(plan, progress) as display:
        yield display


class Execution:
    """Execution of a sweep: completed runs, runs in progress, and the next ones."""

    def __init__(self, prepared: Prepared, store: Store, executor: Executor) -> None:
        plan = prepared.plan
        self._plan = plan
        self._scenarios = list(prepared.scenarios.values())
        self._recordings = list(prepared.recordings.values())
        self._store = store
        self._executor = executor
        self.keys = tuple(dict.fromkeys(plan.keys))
        self.precision = _precision(plan, store, self.keys)
        self._targets = [plan.first(key) for key in self.keys]
        self._fixed = [plan.most(key) == plan.first(key) for key in self.keys]
        self._left = [0] * len(self.keys)
        self.events: dict[int, int] = {}
        """Number of events of the latest run of each point."""
        self.done = 0
        self.fresh = 0
        """Number of completed runs that were not in the store before."""
        self.fresh_events = 0

    @property
    def planned(self) -> int:
        """Number of runs known to be needed."""
        return sum(self._targets)

    def left(self) -> list[int]:
        """Number of runs in progress or still to be made, by point."""
        return list(self._left)

    def run(self, display: Display) -> None:
        """Runs missing replications; results are stored even after an early end."""
        try:
            for point in range(len(self.keys)):
                self._submit(point, 0, self._targets[point])
                self._decide(point)
            self._loop(display)
        except BaseException:
            self._executor.close()
            self._store.flush()
            raise

    def _loop(self, display: Display) -> None:
        flushed = time.monotonic()
        while any(self._left):
            batches, idle, failed = self._executor.take(TICK_S)
            self._take(batches, display)
            if failed:
                raise self._located(min(failed, key=_own_fault_first))
            assert not (idle and any(self._left) and not batches), "runs are missing"
            display.update(self)
            if time.monotonic() - flushed > PART_S:
                self._store.flush()
                flushed = time.monotonic()

    def _take(self, batches: Sequence[_native.Batch], display: Display) -> None:
        self._store.add([self._derived(batch) for batch in batches])
        touched = set()
        for batch in batches:
            for point, runs, last_events, events in batch.runs():
                self._left[point] -= runs
                self.events[point] = last_events
                self.done += runs
                self.fresh += runs
                self.fresh_events += events
                touched.add(point)
            for watching in (self.precision, display.precision):
                if watching:
                    watching.add(batch)
        for point in touched:
            self._decide(point)

    def _derived(self, batch: _native.Batch) -> _native.Batch:
        """Batch with the quantities derived from its runs."""
        first, *_ = batch.runs()
        # All runs of a batch record the same tables.
        recording = self._recordings[first[0]]
        if recording.derive is None:
            return batch
        return recording.derive.applied(batch, recording.keep, self._scenarios, self._place)

    def _decide(self, point: int) -> None:
        """Adds runs if a point is not yet precise enough."""
        until = None if self._fixed[point] else self._plan.until
        while until and self.precision and not self._left[point]:
            count = self._targets[point]
            wanted = self.precision.wanted(point, count, until)
            if wanted == count:
                return
            self._submit(point, count, wanted)
            self._targets[point] = wanted

    def _submit(self, point: int, first: int, end: int) -> None:
        """Submits the runs from `first` up to, but not including, `end`, except completed ones."""
        there = self._store.done.get(self.keys[point], ()) if _has_runs(self._store) else ()
        start = first
        for replication in (*sorted(there), end):
            if not start <= replication <= end:
                continue
            if replication > start:
                self._executor.submit(point, start, replication - start)
                self._left[point] += replication - start
            start = replication + 1
            self.done += replication != end

    def _located(self, failed: Failed) -> Exception:
        """Error of a run, prefixed with the scenario and replication that reproduce it."""
        point, replication, error = failed
        if isinstance(error, _native.RunError):
            error.args = (f"{self._place(point, replication)}: {error}",)
        return error

    def _place(self, point: int, replication: int) -> str:
        index = self._plan.keys.index(self.keys[point])
        values = zip(self._plan.grid.keys, self._plan.grid.points[index], strict=True)
        where = ", ".join(f"{key} = {value}" for key, value in values if value is not None)
        return f"{where}, replication {replication}" if where else f"replication {replication}"


def _own_fault_first(failed: Failed) -> tuple[bool, int, int]:
    point, replication, error = failed
    return str(error) == "cancelled", point, replication


def _has_runs(store: Store) -> bool:
    return bool(store.done)


def _precision(plan: Plan, store: Store, keys: Sequence[str]) -> Precision | None:
    if plan.until is None:
        return None
    from retx.sweeps.precision import Metric, Precision

    metric = Metric.read(plan.until.metric)
    precision = Precision(metric, plan.until.confidence)
    stored = store.table(metric.table) if _has_runs(store) else None
    if stored is not None:
        precision.add_stored(stored, {key: label for label, key in enumerate(keys)})
    return precision
