"""Atomic writing of result directories.

Files are written to a temporary directory next to the target. The temporary directory is renamed
when everything is on the disk. If the process ends before that, the target is unchanged. The next
process that writes to the target removes what a killed process has left (`leftovers`).
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from retx.files.earlier import CODE, foreign_to_result, is_result_file
from retx.files.leftovers import (
    held,
    remove_files_for,
    remove_folders_for,
    short,
    stem_and_suffix,
)
from retx.files.removal import remove_own

LIBRARIES = ("polars.exceptions", "zlib")
"""Modules whose exceptions may concern a file."""
BLOCK_BYTES = 4096
"""Usual size of a block of a file system."""


@contextmanager
def new_directory(target: Path, *, replace: bool | None = None) -> Iterator[Path]:
    """Temporary directory for a `with` block. It becomes `target` when the block succeeds.

    Args:
        target: Final path. Must not exist, or be an empty directory.
        replace: Replace an earlier result there; other directories are never replaced. None if the
            caller offers no replacement.

    Raises:
        OSError: The target exists, or cannot be written.
    """
    import shutil
    import tempfile

    target = target.resolve()
    _check(target, replace=replace)
    remove_folders_for(target, "partial", is_result_file, (CODE,))
    created = _make_parents(target.parent)
    try:
        with _blaming(target):
            prefix = f".{short(target.name)}."
            name = tempfile.mkdtemp(prefix=prefix, suffix=".partial", dir=target.parent)
        partial = Path(name)
        try:
            partial.chmod(0o777 & ~_umask())
            with held(partial), _blaming(target, partial), writing(partial):
                yield partial
                sync(partial)
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
    """Temporary file for a `with` block. It replaces `target` when the block succeeds.

    If the block removes the file, `target` is unchanged. A FIFO or a device, such as `/dev/stdout`,
    is written to and not replaced.

    Raises:
        OSError: The file cannot be written.
    """
    import shutil
    import tempfile

    if target.exists() and not (target.is_file() or target.is_dir()):
        with tempfile.TemporaryDirectory() as folder:
            # The name's extension may determine the format.
            content = Path(folder, target.name)
            yield content
            if content.exists():
                with writing(target), content.open("rb") as made, target.open("wb") as file:
                    shutil.copyfileobj(made, file)
        return
    target = target.resolve()
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a directory", str(target))
    remove_files_for(target)
    stem, suffix = stem_and_suffix(target)
    with _blaming(target):
        handle, name = tempfile.mkstemp(
            prefix=f".{stem}.", suffix=f".partial{suffix}", dir=target.parent
        )
    os.close(handle)
    partial = Path(name)
    try:
        partial.chmod(0o666 & ~_umask())
        with held(partial), _blaming(target, partial), writing(partial):
            yield partial
            if partial.exists():
                sync_path(partial)
                partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Converts system errors during a write, such as a full disk, into OSErrors that name the file.

    Raises:
        OSError: The file cannot be written.
    """
    try:
        yield
    except Exception as error:
        number = _number(error)
        if number == errno.EIO and _is_full(path):
            number = errno.ENOSPC
        if number is None or getattr(error, "filename", None) is not None:
            raise
        raise OSError(number, os.strerror(number), str(path)) from error


def _is_full(path: Path) -> bool:
    """True if the disk has no room left; polars tells no reason for what it could not write."""
    import shutil

    with suppress(OSError):
        return shutil.disk_usage(path if path.is_dir() else path.parent).free < BLOCK_BYTES
    return False


def _number(error: BaseException | None) -> int | None:
    """Number of a system error, even if a library has wrapped it in its own exception."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    ours = isinstance(error, OSError) or type(error).__module__ in LIBRARIES
    if error is None or not ours:
        return None
    said = re.search(r"\(os error (\d+)\)", str(error))
    if "transport error" in str(error):
        return errno.EIO  # at the end of a Parquet file, where polars tells no more
    return int(said[1]) if said else _number(error.__context__)


@contextmanager
def _blaming(target: Path, partial: Path | None = None) -> Iterator[None]:
    """Changes errors so that they name the target instead of the temporary file.

    Args:
        target: Path that the caller asked for.
        partial: Temporary path, once it is known. Errors about other files are not changed.
    """
    try:
        yield
    except OSError as error:
        named = Path(error.filename or "")
        if partial is None:
            named = target
        elif named.is_relative_to(partial):
            named = target / named.relative_to(partial)
        else:
            raise
        raise OSError(error.errno, reason_of(error), str(named)) from None


def reason_of(error: OSError) -> str:
    """Reason of an error, without the number that Rust adds and without the path."""
    return str(error.strerror or error).partition(" (os error")[0]


def check_place(target: Path, *, replace: bool | None) -> None:
    """Refuses a path where `new_directory` could not put a result; `replace` is as there.

    Raises:
        OSError: The target exists.
    """
    _check(target.resolve(), replace=replace)


def _check(target: Path, *, replace: bool | None) -> None:
    if target == Path.cwd():
        # Replacing the current directory would leave the calling process in a removed one.
        reason = "is the current directory, which is not replaced: name another one"
        raise FileExistsError(errno.EEXIST, reason, str(target))
    if replace:
        _check_ours(target)
    else:
        _check_free(target, "" if replace is None else ", or replace it with --force (force=True)")


def _check_free(target: Path, otherwise: str) -> None:
    if _names(target):
        reason = f"exists and is not empty: name another directory{otherwise}"
        raise FileExistsError(errno.EEXIST, reason, str(target))


def _check_ours(target: Path) -> None:
    found = foreign_to_result(target) if _names(target) else None
    if found:
        raise FileExistsError(
            errno.EEXIST,
            f"is not replaced: {found}; name another directory",
            str(target),
        )


def _names(target: Path) -> list[str]:
    """Names of the entries of a directory; an empty list if the directory does not exist."""
    if not target.exists():
        return []
    if not target.is_dir():
        raise FileExistsError(errno.EEXIST, "exists and is not a directory", str(target))
    return sorted(entry.name for entry in target.iterdir())


def _make_parents(parent: Path) -> list[Path]:
    """Creates missing parent directories; returns those created, innermost first."""
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


def sync(directory: Path) -> None:
    """Flushes all files in a directory to the disk."""
    for entry in directory.rglob("*"):
        sync_path(entry)
    sync_path(directory)


def sync_path(path: Path) -> None:
    """Flushes a file, or the entries of a directory, to the disk; not needed on Windows."""
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _take_name(partial: Path, target: Path) -> None:
    if target.exists() and any(target.iterdir()):
        # A directory cannot be renamed to the name of an existing one that contains files, so the
        # existing one is moved away first.
        old = partial.with_suffix(".old")
        target.rename(old)
        try:
            partial.rename(target)
        except BaseException:
            old.rename(target)
            raise
        remove_own(old, is_result_file)
    else:
        if os.name == "nt" and target.exists():
            target.rmdir()  # empty, but in the way
        partial.rename(target)
    sync_path(target.parent)
    remove_folders_for(target, "old", is_result_file)
