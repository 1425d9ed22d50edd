"""Removes files that retx wrote, and no others.

All code that removes a folder calls `remove_own`. The caller identifies the paths that belong to
retx. All other paths, links and special files are kept, as are the folders that contain them.
Damaged files may still be useful to their owner, so `move_aside` moves them instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

IsOwn = Callable[[PurePosixPath], bool]
"""Function that is true for files written by retx; the path is relative to the folder."""


def foreign_in(folder: Path, is_own: IsOwn, empty: Collection[str] = ()) -> str | None:
    """The first path below a folder that retx did not write; None if there is none.

    Args:
        folder: Directory to search.
        is_own: Function that recognises files of retx.
        empty: Folders of retx that may be empty; any other empty folder is foreign.
    """
    for path, is_file in _walk(folder):
        name = PurePosixPath(path.relative_to(folder))
        if not (is_own(name) if is_file else name.as_posix() in empty):
            return name.as_posix()
    return None


def remove_own(folder: Path, is_own: IsOwn, empty: Collection[str] = ()) -> bool:
    """Removes the files of retx in a folder, the subfolders that contained them, and the folder.

    Args:
        folder: Directory to remove.
        is_own: Function that recognises files of retx.
        empty: Folders of retx that may be empty; any other empty folder is kept.

    Returns:
        True if the folder is gone. False if it contains other files, which are kept.
    """
    if folder.is_symlink() or not folder.is_dir():
        return False
    held = {folder, *(folder / name for name in empty)}
    for path, is_file in list(_walk(folder)):
        if is_file and is_own(PurePosixPath(path.relative_to(folder))):
            path.unlink(missing_ok=True)
            held |= {parent for parent in path.parents if parent.is_relative_to(folder)}
    for parent in sorted(held, key=lambda path: -len(path.parts)):
        with suppress(OSError):  # something else is in it
            parent.rmdir()
    return not folder.exists()


def move_aside(path: Path, into: Path, name: str | None = None) -> Path:
    """Moves a file or folder into another folder, under an unused name made from its own.

    Args:
        path: The file or folder.
        into: The other folder, which is made if it does not exist.
        name: Name in place of the own one.

    Returns:
        The new path.

    Raises:
        OSError: The path cannot be moved.
    """
    into.mkdir(parents=True, exist_ok=True)
    name = name or path.name
    target, number = into / name, 1
    while os.path.lexists(target):
        number += 1
        target = into / f"{name}.{number}"
    path.rename(target)
    return target


def _walk(folder: Path) -> Iterator[tuple[Path, bool]]:
    """All paths below a folder except non-empty folders, each with a flag for regular files."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False):
            inside = list(_walk(Path(entry.path)))
            yield from inside or [(Path(entry.path), False)]
        else:
            yield Path(entry.path), entry.is_file(follow_symlinks=False)
