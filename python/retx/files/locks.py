"""Locks on open files, which the system releases when the process ends for any reason.

On Windows Python has no `fcntl`. Instead, retx locks one byte, at a position beyond the end of any
of its files. Directories, and files that will be renamed, cannot be locked there.
"""

from __future__ import annotations

import errno
import os
import sys

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

RENAMES_HELD = sys.platform != "win32"
"""False on Windows, where an open file cannot be renamed, and a directory cannot be opened."""
FAR = 1 << 30
"""Position of the locked byte on Windows. It is beyond the data, because locked bytes cannot be
read."""
TAKEN = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)


def take(handle: int, *, shared: bool = False) -> bool:
    """Locks an open file without waiting; False if another process holds it.

    Args:
        handle: The descriptor; closing it releases the lock.
        shared: Take a shared lock.

    Raises:
        OSError: The file system does not support locks.
    """
    try:
        if sys.platform == "win32":
            before = os.lseek(handle, 0, os.SEEK_CUR)
            os.lseek(handle, FAR, os.SEEK_SET)
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(handle, before, os.SEEK_SET)
        else:
            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in TAKEN:
            raise
        return False
    return True
