"""Files in a sweep's directory, and the lock that reserves it for one sweep at a time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from retx.directory import writing
from retx.errors import UsageError
from retx.locks import take
from retx.sweeps.parts import ASIDE

PLAN, SCENARIO, PARTS, LOCK = "sweep.json", "scenario.toml", "parts", "lock"
TABULATED = "tables"
"""Folder for the tables of all runs, with the columns of the grid."""
PARTIAL = ".partial"


class StoreError(UsageError):
    """A directory cannot be used for the sweep; the message says why, and what to do."""


def check_ours(path: Path) -> None:
    """Refuses a directory with files that are not written by sweeps."""
    if not path.exists():
        return
    if not path.is_dir():
        raise StoreError(f"{path}: exists and is no directory: name another one with --out")
    known = {PLAN, SCENARIO, PARTS, LOCK, ASIDE, TABULATED}
    foreign = sorted(
        entry.name
        for entry in path.iterdir()
        if entry.name not in known and not is_left_behind(entry)
    )
    if (path / PARTS).exists() and not (path / PARTS).is_dir():
        foreign.insert(0, f"a file named {PARTS}")
    if foreign:
        raise StoreError(
            f"{path}: holds {foreign[0]}, which is of no sweep: name another directory with --out"
        )


def is_left_behind(path: Path) -> bool:
    """True for a temporary plan or scenario of a process that was killed."""
    return path.name.startswith((f".{Path(PLAN).stem}.", f".{Path(SCENARIO).stem}.")) and (
        PARTIAL in path.name
    )


def locked(path: Path) -> IO[str]:
    """Lock of a directory; the system releases it when this process ends, for any reason."""
    lock = (path / LOCK).open("a+", encoding="utf-8")
    if not _taken(lock):
        lock.seek(0)
        holder = lock.read().strip()
        lock.close()
        who = f" (process {holder})" if holder else ""
        raise StoreError(
            f"{path}: another sweep{who} is writing there: wait for it, or name another directory "
            "with --out"
        )
    with writing(path / LOCK):
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
    return lock


def is_locked(path: Path) -> bool:
    """True while a sweep runs there."""
    try:
        with (path / LOCK).open(encoding="utf-8") as lock:
            return not _taken(lock, shared=True)
    except FileNotFoundError:
        return False


def _taken(lock: IO[str], *, shared: bool = False) -> bool:
    """True if the lock was acquired; false also on file systems without locks."""
    try:
        return take(lock.fileno(), shared=shared)
    except OSError:
        return False
