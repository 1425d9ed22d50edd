"""Errors for want of memory, which libraries report in many ways."""

from __future__ import annotations

import mmap

ROOM_BYTES = 256 << 20
"""A process that cannot get this much is out of memory (crates/py/src/boundary)."""
SENTENCE = (
    "error: out of memory; fewer flows, shorter runs, fewer recorded tables or fewer processes at "
    "once need less"
)
"""Sentence of the engine's allocator, without a number."""


def is_short_of_memory(error: BaseException) -> bool:
    """True if an unexpected error is likely one for want of memory.

    A library that cannot be loaded, or a thread that cannot be started, for want of memory raises
    errors of many kinds, some of which name another reason. Whether more memory can be had is the
    better evidence.
    """
    if isinstance(error, MemoryError):
        return True
    try:
        mmap.mmap(-1, ROOM_BYTES).close()
    except (OSError, MemoryError):
        return True
    return False
