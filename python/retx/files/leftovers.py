"""Finds and removes temporary files and folders that killed runs have left behind.

A process that writes a temporary file holds a lock on it, which the system releases when the
process ends for any reason. A temporary file without a lock is left over from a killed process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from retx.files.locks import RENAMES_HELD, take
from retx.files.removal import IsOwn, remove_own

RANDOM = r"[a-z0-9_]{8}"
"""Pattern of the random part of a name created by `tempfile`."""
NAME_BYTES, SUFFIX_BYTES = 180, 20
"""Longest part of a name that temporary names contain. Most file systems permit 255 bytes."""


def short(name: str) -> str:
    """A name, or its hash if a temporary name made from it would be too long for a file system."""
    content = os.fsencode(name)
    if len(content) <= NAME_BYTES:
        return name
    # Loading OpenSSL would take a tenth of the start of `retx run`.
    from hashlib import sha256

    return sha256(content).hexdigest()


def stem_and_suffix(target: Path) -> tuple[str, str]:
    """Stem and suffix of temporary names for a file; the suffix may determine its format."""
    if len(os.fsencode(target.suffix)) > SUFFIX_BYTES:
        return short(target.name), ""
    return short(target.stem), target.suffix


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Holds a lock on a temporary file or folder of this process while the block runs."""
    if not RENAMES_HELD:  # nothing there is ever removed
        yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # file systems without locks: as above
            take(handle)
        yield
    finally:
        os.close(handle)


def remove_files_for(target: Path) -> None:
    """Removes files that killed processes left while they wrote `target`."""
    stem, suffix = map(re.escape, stem_and_suffix(target))
    # The native writer of captures also creates a temporary file, next to this one.
    ours = re.compile(rf"\.?\.{stem}\.{RANDOM}\.partial{suffix}(\.\d+-\d+\.tmp)?")
    for path in _named(target.parent, ours):
        if path.is_file() and not path.is_symlink() and _is_free(path):
            path.unlink(missing_ok=True)


def remove_folders_for(
    target: Path, ending: str, is_own: IsOwn, empty: Collection[str] = ()
) -> None:
    """Removes folders that killed processes left while they wrote `target`.

    Args:
        target: The directory that was to be written.
        ending: `partial` for new directories, `old` for replaced ones.
        is_own: Function that recognises files of retx; folders with other files are kept.
        empty: Folders of retx that may be empty.
    """
    ours = re.compile(rf"\.{re.escape(short(target.name))}\.{RANDOM}\.{ending}")
    for path in _named(target.parent, ours):
        if path.is_dir() and not path.is_symlink() and _is_free(path):
            remove_own(path, is_own, empty)


def _named(folder: Path, name: re.Pattern[str]) -> list[Path]:
    with suppress(OSError):
        return [Path(entry.path) for entry in os.scandir(folder) if name.fullmatch(entry.name)]
    return []


def _is_free(path: Path) -> bool:
    """True if no process holds the lock on the file."""
    if not RENAMES_HELD:
        return False
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    try:
        return take(handle)
    except OSError:
        return False
    finally:
        os.close(handle)
