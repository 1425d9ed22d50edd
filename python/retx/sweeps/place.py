"""Files in a sweep's directory, and the lock that reserves it for one sweep at a time."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from retx.errors import UsageError
from retx.files.directory import writing
from retx.files.locks import take
from retx.files.regular import open_regular, read_regular, regular_handle
from retx.sweeps.parts import ASIDE, LIST, NOT_AS_WRITTEN, is_part

PLAN, SCENARIO, PARTS, LOCK = "sweep.json", "scenario.toml", "parts", "lock"
TABULATED = "tables"
"""Folder for the tables of all runs, with the columns of the grid."""
PARTIAL = ".partial"
NAMES = (PLAN, SCENARIO, LOCK, ASIDE, TABULATED)
"""Files and folders of a sweep, without its parts, which may be a link to a larger disk."""
FOLDERS = (ASIDE, TABULATED)
OF_PLAN = {"engine", "replications", "keys", "points"}
"""Keys of a plan."""
LOCK_LENGTH_MAX = 32
"""Number of characters of a lock that are read: it contains the number of a process."""


class StoreError(UsageError):
    """A directory cannot be used for the sweep; the message says why, and what to do."""


def check_ours(path: Path) -> None:
    """Refuses a directory with files that are not written by sweeps.

    Raises:
        StoreError: Such a file or a link is there; the message names it.
    """
    if not path.exists():
        return
    if not path.is_dir():
        raise StoreError(f"{path}: exists and is not a directory: name another one with --out")
    foreign = sorted(
        entry.name
        for entry in path.iterdir()
        if entry.name not in {*NAMES, PARTS} and not is_left_behind(entry)
    )
    if (path / PARTS).exists() and not (path / PARTS).is_dir():
        foreign.insert(0, f"a file named {PARTS}")
    _check_kinds(path)
    if not foreign and not _is_lock(path / LOCK):
        foreign = [LOCK]
    if not foreign and not _is_sweep(path):
        # A user's own files may also have names such as tables/ or scenario.toml.
        foreign = [name for name in NAMES if name != LOCK and (path / name).exists()]
    if foreign:
        raise StoreError(
            f"{path}: holds {foreign[0]}, which does not belong to a sweep: "
            "name another directory with --out"
        )


def _check_kinds(path: Path) -> None:
    """Refuses links and special files with names of a sweep."""
    tables = (path / TABULATED).glob("*.parquet")
    for entry in (*(path / name for name in NAMES), *tables):
        if entry.is_symlink():
            raise StoreError(
                f"{entry}: is a link, and a sweep would write to the file behind it: remove the "
                "link, or name another directory with --out"
            )
        if entry.exists() and not (entry.is_dir() if entry.name in FOLDERS else entry.is_file()):
            what = "folder" if entry.name in FOLDERS else "regular file"
            raise StoreError(f"{entry}: is not a {what}: name another directory with --out")


def _is_lock(lock: Path) -> bool:
    """True if a file can be a lock: it is missing, empty, or contains the number of a process."""
    with suppress(FileNotFoundError), open_regular(lock) as file:
        content = file.read(LOCK_LENGTH_MAX).strip()
        return not content or content.isdigit()
    return True


def _is_sweep(path: Path) -> bool:
    """True if a directory has a plan of retx or, if that is missing or damaged, a part."""
    with suppress(OSError, *NOT_AS_WRITTEN):
        content = json.loads(read_regular(path / PLAN))
        if isinstance(content, dict) and content.keys() >= OF_PLAN:
            return True
    parts = (path / PARTS).iterdir() if (path / PARTS).is_dir() else ()
    return any(is_part(entry) and (entry / LIST).is_file() for entry in parts)


def is_left_behind(path: Path) -> bool:
    """True for a temporary plan or scenario of a process that was killed."""
    return path.name.startswith((f".{Path(PLAN).stem}.", f".{Path(SCENARIO).stem}.")) and (
        PARTIAL in path.name
    )


def locked(path: Path) -> IO[str]:
    """Lock of a directory; the system releases it when this process ends, for any reason.

    Raises:
        OSError: The file is a link, or no regular file.
        StoreError: Another sweep holds the lock.
    """
    # A link would lead to a file of the user, which is emptied below.
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    lock = os.fdopen(regular_handle(path / LOCK, flags), "a+", encoding="utf-8")
    taken = _taken(lock)
    if not taken:
        lock.seek(0)
        holder = lock.read(LOCK_LENGTH_MAX).strip()
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
        with open_regular(path / LOCK) as lock:
            return not _taken(lock, shared=True)
    except FileNotFoundError:
        return False


def _taken(lock: IO[Any], *, shared: bool = False) -> bool:
    """True if the lock was acquired; false also on file systems without locks."""
    try:
        return take(lock.fileno(), shared=shared)
    except OSError:
        return False
