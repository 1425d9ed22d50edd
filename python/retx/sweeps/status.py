"""State of a sweep's directory."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from retx.files.regular import read_regular
from retx.files.removal import foreign_in, remove_own
from retx.sweeps.parts import (
    ASIDE,
    LEFT_BEHIND,
    NAME,
    NOT_AS_WRITTEN,
    DamagedPartError,
    Part,
    check_part,
    is_part,
    is_part_file,
)
from retx.sweeps.place import (
    LOCK,
    PARTS,
    PLAN,
    SCENARIO,
    TABULATED,
    StoreError,
    check_ours,
    is_left_behind,
    is_locked,
)
from retx.sweeps.plan import Plan
from retx.sweeps.tabulated import is_table_file


@dataclass(frozen=True)
class Status:
    """Progress of a sweep."""

    plan: Plan
    parts: list[Part]
    damaged: list[str]
    """Faults, each with the path of the file."""
    running: bool
    tabulated: bool
    """True if the tables of the complete sweep are there."""

    @property
    def runs(self) -> int:
        """Number of completed runs."""
        return len({run for part in self.parts for run in part.each()})

    @property
    def planned(self) -> int:
        """Number of runs known to be needed; with `until`, the first runs of each point."""
        return self.plan.planned

    @property
    def most(self) -> int:
        """Maximum number of runs."""
        return sum(self.plan.most(key) for key in set(self.plan.keys))

    @property
    def bytes(self) -> int:
        """Size on the disk."""
        return sum(part.bytes for part in self.parts)


def sweep_status(directory: str | os.PathLike[str]) -> Status:
    """Reads the state of a sweep's directory without changing it.

    Raises:
        OSError: The directory does not exist.
        UsageError: The directory holds no sweep.
    """
    path = Path(directory)
    plan = read_plan(path)
    parts, damaged = [], []
    for entry in _entries(path):
        try:
            parts.append(check_part(entry))
        except DamagedPartError as fault:
            damaged.append(str(fault))
    tabulated = any((path / TABULATED).glob("*.parquet"))
    return Status(plan, parts, damaged, is_locked(path), tabulated)


def read_plan(path: Path) -> Plan:
    """Plan of a sweep.

    Raises:
        OSError: The directory does not exist.
        StoreError: The plan is missing or damaged.
    """
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, "no such directory", str(path))
    if not (path / PLAN).exists():
        raise StoreError(f"{path}: is not the directory of a sweep: {PLAN} is missing")
    try:
        plan = Plan.from_json(read_regular(path / PLAN))
        base = read_regular(path / SCENARIO) if plan.single else ""
        return replace(plan, base=base)
    except (*NOT_AS_WRITTEN, FileNotFoundError):
        raise StoreError(
            f"{path / PLAN}: is damaged: run the sweep again with this directory, which rewrites "
            "it and keeps the undamaged parts"
        ) from None


def sound_parts(path: Path) -> list[Part]:
    """All parts of a sweep, after a check that they are intact.

    Raises:
        StoreError: A part is damaged.
    """
    try:
        return [check_part(entry) for entry in _entries(path)]
    except DamagedPartError as fault:
        raise StoreError(
            f"{fault}: the part is damaged; run the sweep again with this directory to redo it"
        ) from None


def clear(path: Path) -> None:
    """Removes an earlier sweep.

    Raises:
        StoreError: The directory holds other files, or a sweep runs there.
    """
    check_ours(path)
    if is_locked(path):
        raise StoreError(f"{path}: a sweep is running there")
    if not path.exists():
        return
    foreign = foreign_in(path, _is_own, empty={PARTS, ASIDE, TABULATED})
    if foreign:
        raise StoreError(
            f"{path}: holds {foreign}, which retx did not write: move it away, or name another "
            "directory with --out"
        )
    for folder in (path / PARTS, path / ASIDE, path / TABULATED):
        with suppress(OSError):  # it is not empty, or not there
            folder.rmdir()
    remove_own(path, _is_own)


def _is_own(name: PurePosixPath) -> bool:
    """True for the path of a file of a sweep, relative to its directory."""
    match name.parts:
        case (first,):
            return first in {PLAN, SCENARIO, LOCK} or is_left_behind(Path(first))
        case (folder, file) if folder == TABULATED:
            return is_table_file(PurePosixPath(file))
        case (folder, part, file) if folder in {PARTS, ASIDE}:
            # A number distinguishes damaged parts with the same name.
            named = NAME.match(part) if folder == ASIDE else NAME.fullmatch(part)
            return bool(named or LEFT_BEHIND.fullmatch(part)) and is_part_file(PurePosixPath(file))
    return False


def _entries(path: Path) -> list[Path]:
    return sorted(entry for entry in (path / PARTS).iterdir() if is_part(entry))
