"""Detection of exhausted memory, which libraries report in many ways."""

from __future__ import annotations

import mmap

ROOM_BYTES = 256 << 20
"""A process that cannot allocate this many bytes is out of memory (crates/py/src/boundary)."""
SENTENCE = (
    "error: out of memory; fewer flows, shorter runs, fewer recorded tables or fewer processes at "
    "once need less"
)
"""Message of the engine's allocator, without the number of bytes."""


def is_short_of_memory(error: BaseException) -> bool:
    """True if an unexpected error is probably due to exhausted memory.

    If memory is exhausted, libraries cannot be loaded and threads cannot be started. The errors
    are of many kinds, and some name another reason. The better evidence is whether more memory
    can be allocated.
    """
    if isinstance(error, MemoryError):
        return True
    try:
        mmap.mmap(-1, ROOM_BYTES).close()
    except (OSError, MemoryError):
        return True
    return False
