"""Standard input as a file: `-` on the command line, and pipes in general.

A pipe can be read once only. What needs its content several times, or needs to seek, reads it from
the memory (`content`), or from a temporary file (`seekable`).
"""

from __future__ import annotations

import os
import sys
from atexit import register
from functools import cache
from pathlib import Path

NAME = "-"
"""Name of a file that stands for the standard input."""


def is_standard_input(path: str | os.PathLike[str]) -> bool:
    """True if a name stands for the standard input."""
    return os.fspath(path) == NAME


@cache
def content(most_bytes: int) -> bytes:
    """Bytes of the standard input, which is read once.

    Args:
        most_bytes: Number of bytes after which the reading stops.
    """
    return sys.stdin.buffer.read(most_bytes)


def seekable(path: Path) -> Path:
    """A path, or a temporary copy if it is the standard input or a pipe.

    The copy is removed at the end of the process.

    Raises:
        OSError: The input cannot be read, or the copy cannot be written.
    """
    return _copied(path) if is_standard_input(path) or path.is_fifo() else path


def shown(path: Path) -> str:
    """Name of a file for people: not that of a temporary copy; bytes that are not UTF-8 escaped."""
    return os.fsencode(_originals.get(path, path)).decode("utf-8", "backslashreplace")


def with_names_shown(message: str) -> str:
    """A message with the names of originals in place of those of temporary copies."""
    for copy, original in _originals.items():
        name = "standard input" if is_standard_input(original) else shown(copy)
        message = message.replace(os.fspath(copy), name)
    return message


_originals: dict[Path, Path] = {}
"""The standard input, or a pipe, by its temporary copy."""


@cache
def _copied(path: Path) -> Path:
    # Loaded only here: most commands read no pipes.
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="retx-"))
    register(shutil.rmtree, folder, ignore_errors=True)
    copy = folder / ("standard-input" if is_standard_input(path) else path.name)
    with copy.open("wb") as file:
        if is_standard_input(path):
            shutil.copyfileobj(sys.stdin.buffer, file)
        else:
            with path.open("rb") as pipe:
                shutil.copyfileobj(pipe, file)
    _originals[copy] = path
    return copy
