"""Reading of regular files only, in directories that may come from a stranger.

A directory of results, or the folder of a study, may contain a FIFO or a device in place of a file.
Opening a FIFO blocks until a writer appears; in native code, the process then does not even respond
to signals. Reading a device may never end.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

REASON = "is not a regular file"


def regular_handle(path: Path, flags: int = os.O_RDONLY) -> int:
    """Descriptor of a regular file, opened without waiting.

    Args:
        path: The file.
        flags: Flags of `os.open`.

    Raises:
        OSError: The file cannot be opened, or is not regular.
    """
    waiting = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags | waiting, 0o666)
    except OSError as error:
        if error.errno in {errno.ENXIO, errno.ENODEV}:  # a socket, or a device without a driver
            raise OSError(errno.EINVAL, REASON, str(path)) from None
        raise
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise OSError(errno.EINVAL, REASON, str(path))


def open_regular(path: Path) -> BinaryIO:
    """Regular file, opened for reading.

    Raises:
        OSError: The file cannot be opened, or is not regular.
    """
    return os.fdopen(regular_handle(path), "rb")


def read_regular(path: Path) -> str:
    """Text of a regular file.

    Raises:
        OSError: The file cannot be read, or is not regular.
        UnicodeDecodeError: The file is not UTF-8.
    """
    with open_regular(path) as file:
        text = file.read().decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")
