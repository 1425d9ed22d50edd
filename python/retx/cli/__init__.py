"""The command line. Each command is a few lines over the Python API."""

from __future__ import annotations

import gc
import sys
from typing import NoReturn

__all__ = ["main"]

INTERRUPTED = 130
"""Exit code as a shell gives it for SIGINT: 128 and the number."""
NEW_OBJECTS = 50_000
"""New objects after which the garbage collector looks for cycles."""


def main() -> NoReturn:
    """Runs the command line and ends the process with its exit code."""
    # A start makes thousands of objects and little garbage. To look for it at the usual interval,
    # and in everything at the end, would take a sixth of the time of a short command.
    gc.set_threshold(NEW_OBJECTS)
    try:
        # Imported here, as an interrupt may come while the libraries are imported.
        from retx.cli.entry import main as run
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    try:
        run()
    finally:
        gc.freeze()
