"""Storage for the results of a sweep: in memory, or in a directory that survives a crash.

    DIR/sweep.json      the plan: points, replications, tables, engine
    DIR/scenario.toml   the scenario, resolved
    DIR/parts/NAME/     see `parts`; while a sweep is under way, one for each few seconds of work
    DIR/aside/NAME/     parts that were found damaged, and files of others that lay in a part
    DIR/tables/*.parquet  tables of all runs with the columns of the grid, for other programs; see
                        `tabulated`
    DIR/lock            held by the sweep that is under way

At the end the parts are written again in the order of the plan. So the files of a sweep are the
same whenever it was broken off, and on however many machines it ran.

Whatever else lies in `DIR/parts` is left alone and never read (see `removal`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from retx import _native
from retx.directory import new_file
from retx.removal import move_aside, remove_own
from retx.sweeps.batches import frame_of
from retx.sweeps.parts import (
    ASIDE,
    LEFT_BEHIND,
    NOT_AS_WRITTEN,
    DamagedPartError,
    Part,
    check_part,
    is_part,
    is_part_file,
    joined,
    ranges_of,
    remove_part,
    write_part,
)
from retx.sweeps.place import PARTS, PLAN, SCENARIO, StoreError, check_ours, locked
from retx.sweeps.plan import Plan
from retx.sweeps.tabulated import clear_tables

if TYPE_CHECKING:
    import polars as pl


RUNS_PER_PART = 20_000
"""Maximum number of runs in a part of a complete sweep."""
RUNS_PER_PART_WITH_TABLES = 500
"""Maximum number of runs in a part that has tables of single packets."""

Done = dict[str, set[int]]
"""Replications by the key of their point."""

Say = Callable[[str], None]
"""Told what a user should know."""


class Memory:
    """Keeps what is found for as long as the process lives."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = list(keys)
        self._pending: list[_native.Batch] = []
        self._joined: dict[str, _native.Table] = {}
        self._frames: dict[str, pl.DataFrame] = {}
        self.done: Done = defaultdict(set)

    def add(self, batches: Iterable[_native.Batch]) -> None:
        """Takes what has been found."""
        self._pending.extend(batches)

    def flush(self) -> None:
        """There is nothing to write."""

    def finish(self) -> None:
        """All runs are there."""

    def table(self, name: str) -> pl.DataFrame | None:
        """A table of all runs, once they are there; None when there is none."""
        if self._pending:
            self._joined = _joined_batches(self._pending, self._keys)
            self._pending = []
        if name in self._joined:
            self._frames[name] = frame_of(self._joined.pop(name))
        return self._frames.get(name)

    def close(self) -> None:
        """There is nothing to close."""


class Directory:
    """Keeps what is found in a directory, for one sweep at a time.

    Args:
        path: Becomes the sweep's directory, or is one already.
        plan: What the sweep is to run.
        say: Told of damaged parts, and of runs that give way.
        lasting: Runs that are there already must be among the plan's. Else more replications stay
            for the next time, and what nothing in the plan asks for gives way at the end.

    Raises:
        OSError: The directory cannot be written.
        StoreError: It holds something else, or is in use.
    """

    def __init__(self, path: Path, plan: Plan, say: Say, *, lasting: bool = True) -> None:
        self._lasting = lasting
        self.path = path.resolve()
        self._plan = plan
        self._keys = list(dict.fromkeys(plan.keys))
        self._pending: list[_native.Batch] = []
        check_ours(self.path)
        self._parts_path.mkdir(parents=True, exist_ok=True)
        self._lock = locked(self.path)
        try:
            self._parts = self._opened(say)
        except BaseException:
            self.close()
            raise
        self.done: Done = defaultdict(set)
        for part in self._parts:
            for key, replication in part.each():
                self.done[key].add(replication)

    @property
    def _parts_path(self) -> Path:
        return self.path / PARTS

    @property
    def parts(self) -> list[Part]:
        """The sound parts."""
        return self._parts

    def _opened(self, say: Say) -> list[Part]:
        """The sound parts of the sweep; the plan is written down."""
        earlier = _earlier_plan(self.path)
        if earlier and self._lasting:
            _check_same(self.path, earlier, self._plan)
        parts, damaged, strangers = _survey(self._parts_path)
        if self._lasting:
            _check_planned(self.path, parts, self._plan)
        else:
            parts = _usable(self.path, parts, self._plan, say)
        # From here on the directory is this plan's.
        clear_tables(self.path)
        for stranger in strangers:
            say(f"{stranger}: retx did not write this; it is left alone")
        for path, fault in damaged:
            kept = move_aside(path, self.path / ASIDE)
            say(f"{fault}: the part is damaged and its runs are done again; it is kept in {kept}")
        # A killed sweep leaves parts half written, and parts that were giving way to others.
        for path in self._parts_path.iterdir():
            if is_part(path, LEFT_BEHIND):
                remove_own(path, is_part_file)
        texts = {PLAN: self._plan.to_json()}
        if self._plan.single:
            texts[SCENARIO] = self._plan.base
        for name, text in texts.items():
            with new_file(self.path / name) as file:
                file.write_text(text, encoding="utf-8")
        return parts

    def add(self, batches: Iterable[_native.Batch]) -> None:
        """Takes what has been found; it is on the disk after the next `flush`."""
        self._pending.extend(batches)

    def flush(self) -> None:
        """Writes what has been taken as a part."""
        if not self._pending:
            return
        tables = _joined_batches(self._pending, self._keys)
        self._parts.append(write_part(self._parts_path, tables, self._plan.engine))
        self._pending = []

    def finish(self) -> None:
        """Writes the parts again in the order of the plan, when all runs are there."""
        self.flush()
        self._parts = _merged(self._parts_path, self._parts, self._plan)

    def table(self, name: str) -> pl.DataFrame | None:
        """A table of all runs; None when there is none."""
        return joined(self._parts, name)

    def close(self) -> None:
        """Another sweep may have the directory."""
        self._lock.truncate(0)
        self._lock.close()


def _joined_batches(
    batches: Sequence[_native.Batch], keys: Sequence[str]
) -> dict[str, _native.Table]:
    """Every table of some batches together."""
    names = dict.fromkeys(name for batch in batches for name in batch.names())
    found = {name: _native.joined(batches, keys, name) for name in names}
    return {name: table for name, table in found.items() if table is not None}


def _merged(folder: Path, parts: list[Part], plan: Plan) -> list[Part]:
    """Parts with the same runs, divided in a way that depends on the plan alone."""
    order = {key: index for index, key in enumerate(dict.fromkeys(plan.keys))}
    size = RUNS_PER_PART_WITH_TABLES if plan.tables else RUNS_PER_PART
    if len(parts) == 1 and parts[0].count <= size:
        there = parts[0].runs
        if list(there) == [key for key in order if key in there]:
            return parts  # a part is in the order of the plan that it was written for
    held = {part.path: set(part.each()) for part in parts}
    known = (run for run in set().union(*held.values()) if run[0] in order)
    runs = sorted(known, key=lambda run: (order[run[0]], run[1]))
    merged = []
    for start in range(0, len(runs), size):
        sources = _sources(runs[start : start + size], parts, held)
        tables = {}
        for name in sorted({name for part, _ in sources for name in part.tables}):
            files = [
                (part.path / f"{name}.parquet", wanted)
                for part, wanted in sources
                if name in part.tables
            ]
            table = _native.merged(files, list(order))
            # Where points keep different tables, a part need not have them all.
            if len(table) or name in plan.tables:
                tables[name] = table
        merged.append(write_part(folder, tables, plan.engine))
    kept = {part.path for part in merged}
    for part in parts:
        if part.path not in kept:
            remove_part(part)
    return merged


def _sources(
    runs: Sequence[tuple[str, int]],
    parts: Sequence[Part],
    held: Mapping[Path, set[tuple[str, int]]],
) -> list[tuple[Part, list[tuple[str, list[tuple[int, int]]]]]]:
    """Sources of the runs: parts, and the runs to take from each; a run may be in several parts."""
    wanted = set(runs)
    found = []
    for part in sorted(parts, key=lambda part: -part.count):
        taken = wanted & held[part.path]
        if taken:
            ranges = ranges_of(sorted(taken))
            chosen = [(key, [(first, n) for first, n in each]) for key, each in ranges.items()]
            found.append((part, chosen))
            wanted -= taken
    return found


def _survey(folder: Path) -> tuple[list[Part], list[tuple[Path, str]], list[Path]]:
    """The sound parts, the damaged ones with their faults, and all that is no part."""
    parts, damaged, strangers = [], [], []
    for path in sorted(folder.iterdir()):
        if not is_part(path):
            if not path.name.startswith("."):
                strangers.append(path)
            continue
        try:
            parts.append(check_part(path))
        except DamagedPartError as fault:
            damaged.append((path, str(fault)))
    return _needed(parts), damaged, strangers


def _needed(parts: list[Part]) -> list[Part]:
    """The parts less those that others have all runs of: a sweep was broken off as it merged."""
    needed, seen = [], set[tuple[str, int]]()
    for part in sorted(parts, key=lambda part: (-part.count, part.path.name)):
        runs = set(part.each())
        if runs <= seen:
            remove_part(part)
        else:
            needed.append(part)
            seen |= runs
    return needed


def _earlier_plan(path: Path) -> Plan | None:
    file = path / PLAN
    if not file.exists():
        return None
    try:
        return Plan.from_json(file.read_text(encoding="utf-8"))
    except NOT_AS_WRITTEN:
        return None  # it is written again; the parts speak for themselves


def _check_same(path: Path, earlier: Plan, plan: Plan) -> None:
    differing = {
        "was made by another engine": (earlier.engine, plan.engine),
        "keeps other tables": (earlier.tables, plan.tables),
        "derives other quantities": (earlier.derived, plan.derived),
        "has another `until`": (earlier.until, plan.until),
    }
    for what, (there, here) in differing.items():
        if there != here:
            raise StoreError(
                f"{path}: the sweep there {what} ({there}; here {here}): name another directory "
                "with --out, or start anew with --force"
            )


def _usable(path: Path, parts: list[Part], plan: Plan, say: Say) -> list[Part]:
    """The parts that this engine has made; what is of no use is named."""
    others = [part for part in parts if part.engine != plan.engine]
    if others:
        count = sum(part.count for part in others)
        say(
            f"{path}: {count} runs there were made by another engine ({others[0].engine}; here "
            f"{plan.engine}): they are made again"
        )
    for part in others:
        remove_part(part)
    ours = [part for part in parts if part.engine == plan.engine]
    known = set(plan.keys)
    strange = sum(key not in known for part in ours for key, _ in part.each())
    if strange:
        say(
            f"{path}: {strange} runs there are of another seed, or of an earlier state of the "
            "scenarios or quantities: they give way when this is done"
        )
    return ours


def _check_planned(path: Path, parts: list[Part], plan: Plan) -> None:
    """Every run that is there belongs to the plan: none is dropped, and none is mixed in."""
    for part in parts:
        if part.engine != plan.engine:
            raise StoreError(
                f"{path}: runs there were made by another engine ({part.engine}; here "
                f"{plan.engine}): name another directory with --out, or start anew with --force"
            )
    most = {key: plan.most(key) for key in plan.keys}
    strange = sum(
        replication >= most.get(key, 0) for part in parts for key, replication in part.each()
    )
    if strange:
        raise StoreError(
            f"{path}: holds {strange} runs that are not part of this sweep (another scenario, "
            "code, seed or grid, or more replications): name another directory with --out, or "
            "start anew with --force"
        )
