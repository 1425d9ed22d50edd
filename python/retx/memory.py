"""Detection of exhausted memory, which libraries report in many ways."""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Sequence
from types import ModuleType

ROOM_BYTES = 256 << 20
"""A process that cannot allocate this many bytes is out of memory (crates/py/src/boundary)."""
SENTENCE = (
    "error: out of memory; fewer flows, shorter runs, fewer recorded tables or fewer processes at "
    "once need less"
)
"""Message of the engine's allocator, without the number of bytes."""

NEEDED_BYTES = {"polars": 448 << 20, "numpy": 128 << 20, "scipy": 320 << 20}
"""Address space for a library: 390, 80 and 150 MB, measured with one thread of BLAS, and room for
what threads take later."""


class _Room:
    """Entry of `sys.meta_path` that refuses libraries without room, and finds no modules itself."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        """Raises `MemoryError` where there is no room."""
        if fullname in NEEDED_BYTES and not _has_room(NEEDED_BYTES[fullname]):
            raise MemoryError


def guard_imports() -> None:
    """Ends imports that have no room, where the address space is limited (`ulimit -v`).

    OpenBLAS, a part of NumPy and SciPy, ends in an endless loop if it gets no memory for its
    threads, and answers no signal any more; polars prints lines of its own.
    """
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limits
        return
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        # Memory for a thread of each core, while we have small tables only.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        sys.meta_path.insert(0, _Room())


def is_short_of_memory(error: BaseException) -> bool:
    """True if an unexpected error is probably due to exhausted memory.

    If memory is exhausted, libraries cannot be loaded and threads cannot be started. The errors
    are of many kinds, and some name another reason. The better evidence is whether more memory
    can be allocated.
    """
    if isinstance(error, MemoryError):
        return True
    return not _has_room(ROOM_BYTES)


def _has_room(wanted_bytes: int) -> bool:
    try:
        mmap.mmap(-1, wanted_bytes).close()
    except (OSError, MemoryError):
        return False
    return True
