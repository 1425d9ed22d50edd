"""Readers of measured series. A new reader needs a file, and a line in `READERS`."""

from __future__ import annotations

import codecs
import os
from importlib import import_module
from pathlib import Path

from retx.errors import UsageError
from retx.files.standard_input import seekable
from retx.fitting.series import Series

READERS = {
    "ping": "retx.fitting.inputs.ping:read",
    "iperf3": "retx.fitting.inputs.iperf3:read",
    "trace": "retx.fitting.inputs.trace:read",
    "mahimahi": "retx.fitting.inputs.mahimahi:read",
}
"""Location of each reader: a function that takes the text of a file and its name."""


def read(kind: str, path: str | os.PathLike[str]) -> Series:
    """Reads a file of a kind.

    Raises:
        OSError: The file cannot be read.
        UsageError: The file has another format; the message says where.
    """
    module, _, function = READERS[kind].partition(":")
    file = Path(path)
    try:
        text = _decoded(seekable(file).read_bytes())
    except IsADirectoryError as error:
        raise OSError(error.errno, "is a directory", str(file)) from None
    try:
        series: Series = getattr(import_module(module), function)(text, str(file))
    except ValueError as error:
        raise UsageError(f"{file}: {error}") from None
    return series


def _decoded(content: bytes) -> str:
    """Text of a file in UTF-8, or in UTF-16 with a byte order mark (PowerShell's `>`)."""
    is_utf_16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if is_utf_16 else "utf-8-sig", errors="replace")
