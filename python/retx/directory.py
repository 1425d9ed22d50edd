"""A result directory, which is there as a whole or not at all.

Files go into a temporary directory beside the target; it takes the target's name when everything is
on the disk. Whatever ends the process before that leaves the target as it was.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

OURS = ("summary.json", "scenario.toml", "capture.pcapng")
"""The files of a result directory that have a fixed name; tables and plots go by their endings."""
OUR_ENDINGS = (".parquet", ".png", ".svg", ".pdf")


@contextmanager
def new_directory(target: Path, *, replace: bool = False) -> Iterator[Path]:
    """A directory to write into, which becomes `target` when the block ends well.

    Args:
        target: Where it is to be. Must not exist, or be an empty directory.
        replace: An earlier result directory there gives way; any other never does.

    Raises:
        OSError: The target is taken, or cannot be written.
    """
    target = target.resolve()
    _check_free(target, replace=replace)
    created = _make_parents(target.parent)
    try:
        partial = Path(
            tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
        )
        try:
            partial.chmod(0o777 & ~_umask())
            yield partial
            _sync(partial)
            _take_name(partial, target)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    except BaseException:
        for parent in created:
            with suppress(OSError):
                parent.rmdir()
        raise


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """A file to write, which becomes `target`, in place of what is there, when the block ends well.

    Raises:
        OSError: It cannot be written.
    """
    target = target.resolve()
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a directory", str(target))
    handle, name = tempfile.mkstemp(
        prefix=f".{target.stem}.", suffix=f".partial{target.suffix}", dir=target.parent
    )
    os.close(handle)
    partial = Path(name)
    try:
        partial.chmod(0o666 & ~_umask())
        yield partial
        _sync_path(partial)
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _check_free(target: Path, *, replace: bool) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise FileExistsError(errno.EEXIST, "exists and is no directory", str(target))
    names = sorted(entry.name for entry in target.iterdir())
    if not names:
        return
    if not replace:
        raise FileExistsError(
            errno.EEXIST,
            "exists and is not empty: name another directory, or replace it with --force "
            "(force=True)",
            str(target),
        )
    foreign = [name for name in names if not _is_ours(name)]
    if foreign or "summary.json" not in names:
        found = f"it holds {foreign[0]}" if foreign else "it has no summary.json"
        raise FileExistsError(
            errno.EEXIST, f"is not replaced: {found}, so it is no result of retx", str(target)
        )


def _is_ours(name: str) -> bool:
    return name in OURS or name.endswith(OUR_ENDINGS)


def _make_parents(parent: Path) -> list[Path]:
    """Makes what is missing of a path; the directories made, innermost first."""
    missing = []
    while not parent.exists():
        missing.append(parent)
        parent = parent.parent
    for directory in reversed(missing):
        directory.mkdir()
    return missing


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current


def _sync(directory: Path) -> None:
    for entry in directory.iterdir():
        _sync_path(entry)
    _sync_path(directory)


def _sync_path(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _take_name(partial: Path, target: Path) -> None:
    if target.exists() and any(target.iterdir()):
        # A directory cannot be renamed onto one with files in it.
        old = partial.with_suffix(".old")
        target.rename(old)
        try:
            partial.rename(target)
        except BaseException:
            old.rename(target)
            raise
        shutil.rmtree(old)
    else:
        partial.rename(target)
    _sync_path(target.parent)
