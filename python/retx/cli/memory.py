"""Detection of exhausted memory, which libraries report in many different ways."""

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

NEEDED_BYTES = {"polars": 1152 << 20, "numpy": 128 << 20, "scipy": 320 << 20}
"""Address space that must be free to import a library. The measured need is 390, 80 and 150 MB,
with one thread of BLAS; the rest is for memory that threads take later. For each thread of polars,
glibc may reserve 128 MB; without this memory it aborts the process with messages of its own, or
hangs. A figure was drawn in each of 16 tries with 1.3 or 1.4 GB in all, but not in each with
1.05 GB.
"""


class _Room:
    """Entry of `sys.meta_path` that refuses libraries for which there is not enough memory."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        """Raises `MemoryError` if memory is too short for the library; otherwise finds nothing."""
        if fullname in NEEDED_BYTES and not _has_room(NEEDED_BYTES[fullname]):
            raise MemoryError


def guard_imports() -> None:
    """Refuses imports for which memory is too short, if the address space is limited (`ulimit -v`).

    If OpenBLAS, a part of NumPy and SciPy, gets no memory for its threads, it loops forever and
    ignores signals. polars would print messages of its own instead of raising an error.
    """
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limits
        return
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        # Each thread of a library takes memory, and by default there is one for each core. One is
        # sufficient for our small tables.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        os.environ.setdefault("POLARS_MAX_THREADS", "1")
        sys.meta_path.insert(0, _Room())


def is_short_of_memory(error: BaseException) -> bool:
    """True if an unexpected error is probably due to exhausted memory.

    If memory is exhausted, libraries cannot be loaded and threads cannot be started. The errors are
    of many kinds, and some of them name another reason. An attempt to allocate more memory is
    better evidence.
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
