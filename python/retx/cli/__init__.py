"""The command line. Each command is a few lines over the Python API."""

from __future__ import annotations

import gc
import sys
from typing import NoReturn

from retx.cli.codes import INTERRUPTED

__all__ = ["main"]

NEW_OBJECTS = 50_000
"""Number of new objects after which the garbage collector looks for cycles."""


def main() -> NoReturn:
    """Runs the command line and ends the process with its exit code."""
    # The start of the program creates thousands of objects, but little garbage. Garbage collection
    # at the usual intervals, and over all objects at the end, would take a sixth of the time of a
    # short command.
    gc.set_threshold(NEW_OBJECTS)
    try:
        # The import is within `try`, because Ctrl-C may be pressed while libraries are imported.
        from retx.cli.entry import main as run
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    try:
        run()
    finally:
        gc.freeze()
