"""Storage of the results of a sweep: in memory, or in a directory that survives a crash.

    DIR/sweep.json      the plan: points, replications, tables, engine
    DIR/scenario.toml   the scenario, resolved
    DIR/parts/NAME/     see `parts`; while a sweep runs, one for every few seconds of work
    DIR/aside/NAME/     damaged parts, and foreign files found in a part
    DIR/tables/*.parquet  tables of all runs with the columns of the grid, for other programs; see
                        `tabulated`
    DIR/lock            held by the running sweep

At the end the parts are rewritten in the order of the plan, so that the files of a sweep depend
neither on interruptions nor on the number of machines.

Foreign files in `DIR/parts` are neither read nor removed (see `removal`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from retx import _native
from retx.files.directory import new_file
from retx.files.regular import read_regular
from retx.files.removal import move_aside, remove_own
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
"""Completed replications by the key of their point."""

Say = Callable[[str], None]
"""Function called with messages for the user."""


class Memory:
    """Store in memory, for the lifetime of the process."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = list(keys)
        self._pending: list[_native.Batch] = []
        self._joined: dict[str, _native.Table] = {}
        self._frames: dict[str, pl.DataFrame] = {}
        self.done: Done = defaultdict(set)

    def add(self, batches: Iterable[_native.Batch]) -> None:
        """Adds results."""
        self._pending.extend(batches)

    def flush(self) -> None:
        """Does nothing: memory needs no flush."""

    def finish(self) -> None:
        """Completes the store after the last run."""

    def table(self, name: str) -> pl.DataFrame | None:
        """A table of all runs, for a complete store; None if the table does not exist."""
        if self._pending:
            self._joined = _joined_batches(self._pending, self._keys)
            self._pending = []
        if name in self._joined:
            self._frames[name] = frame_of(self._joined.pop(name))
        return self._frames.get(name)

    def close(self) -> None:
        """Does nothing: memory needs no closing."""


class Directory:
    """Store in a directory, for one sweep at a time.

    Args:
        path: New or existing directory of the sweep.
        plan: Plan of the sweep.
        say: Function called with messages about damaged parts and removed runs.
        lasting: Require that existing runs belong to the plan. Otherwise additional replications
            are kept, and runs of points outside the plan are removed at the end.

    Raises:
        OSError: The directory cannot be written.
        StoreError: The directory holds other files, or is in use.
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
        """Intact parts."""
        return self._parts

    def _opened(self, say: Say) -> list[Part]:
        """Writes the plan; returns the intact parts of the sweep."""
        earlier = _earlier_plan(self.path)
        if earlier and self._lasting:
            _check_same(self.path, earlier, self._plan)
        parts, damaged, strangers = _survey(self._parts_path)
        if self._lasting:
            _check_planned(self.path, parts, self._plan)
        else:
            parts = _usable(self.path, parts, self._plan, say)
        # From this point the directory belongs to this plan.
        texts = {PLAN: self._plan.to_json()}
        if self._plan.single:
            texts[SCENARIO] = self._plan.base
        if damaged or not all(_holds(self.path / name, text) for name, text in texts.items()):
            clear_tables(self.path)
        for stranger in strangers:
            say(f"{stranger}: retx did not write this; it is left alone")
        for path, fault in damaged:
            kept = move_aside(path, self.path / ASIDE)
            say(f"{fault}: the part is damaged and its runs are done again; it is kept in {kept}")
        # A killed sweep leaves incomplete parts, and parts that were being replaced.
        for path in self._parts_path.iterdir():
            if is_part(path, LEFT_BEHIND):
                remove_own(path, is_part_file)
        for name, text in texts.items():
            with new_file(self.path / name) as file:
                file.write_text(text, encoding="utf-8")
        return parts

    def add(self, batches: Iterable[_native.Batch]) -> None:
        """Adds results, which the next `flush` writes to the disk."""
        self._pending.extend(batches)

    def flush(self) -> None:
        """Writes the added results as a part."""
        if not self._pending:
            return
        clear_tables(self.path)
        tables = _joined_batches(self._pending, self._keys)
        self._parts.append(write_part(self._parts_path, tables, self._plan.engine))
        self._pending = []

    def finish(self) -> None:
        """Rewrites the parts in the order of the plan when all runs are complete."""
        self.flush()
        self._parts = _merged(self._parts_path, self._parts, self._plan)

    def table(self, name: str) -> pl.DataFrame | None:
        """A table of all runs; None if it does not exist."""
        return joined(self._parts, name)

    def close(self) -> None:
        """Releases the directory for other sweeps."""
        self._lock.truncate(0)
        self._lock.close()


def _joined_batches(
    batches: Sequence[_native.Batch], keys: Sequence[str]
) -> dict[str, _native.Table]:
    """Every table of several batches, joined."""
    names = dict.fromkeys(name for batch in batches for name in batch.names())
    found = {name: _native.joined(batches, keys, name) for name in names}
    return {name: table for name, table in found.items() if table is not None}


def _merged(folder: Path, parts: list[Part], plan: Plan) -> list[Part]:
    """Redistributes the stored runs over parts; the result depends on the plan alone."""
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
            # Points may keep different tables, so that parts may lack some of them.
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
    """Parts and the runs to take from each; a run in several parts is taken from one of them."""
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
    """Intact parts, damaged parts with their faults, and all other paths."""
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
    """Removes parts whose runs are all in other parts; returns the remaining parts.

    An interrupted merge of parts may leave such duplicates.
    """
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
        return Plan.from_json(read_regular(file))
    except NOT_AS_WRITTEN:
        return None  # it is written again; the parts speak for themselves


def holds_another(path: Path, plan: Plan) -> bool:
    """True if a directory holds a sweep that a plan does not continue. Changes nothing there."""
    from retx.sweeps.status import sweep_status

    try:
        found = sweep_status(path)
    except (OSError, StoreError):
        return False  # nothing is there, or something about which `Directory` says more
    try:
        _check_same(path, found.plan, plan)
        _check_planned(path, found.parts, plan)
    except StoreError:
        return True
    return False


def _holds(file: Path, text: str) -> bool:
    """True if the file has exactly this text."""
    with suppress(OSError, UnicodeError):
        return read_regular(file) == text
    return False


def _shown(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"


def _check_same(path: Path, earlier: Plan, plan: Plan) -> None:
    differing = {
        "was made by another engine": (earlier.engine, plan.engine),
        "keeps other tables": (_shown(earlier.tables), _shown(plan.tables)),
        "derives other quantities": (earlier.derived or "none", plan.derived or "none"),
        "has another `until`": (earlier.until, plan.until),
    }
    for what, (there, here) in differing.items():
        if there != here:
            raise StoreError(
                f"{path}: the sweep there {what} ({there}; here {here}): name another directory "
                "with --out, or start anew with --force"
            )


def _usable(path: Path, parts: list[Part], plan: Plan, say: Say) -> list[Part]:
    """Parts made by this engine; those of other engines are removed, after a message."""
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
    """Checks that all existing runs belong to the plan, so that no run is dropped or mixed in."""
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
            f"{path}: holds runs that are not part of this sweep ({strange} with another scenario, "
            "code, seed or grid, or more replications): name another directory with --out, or "
            "start anew with --force"
        )
