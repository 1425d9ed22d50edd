"""The command line. Each command is a few lines over the Python API."""

from __future__ import annotations

import sys
from typing import NoReturn

__all__ = ["main"]

INTERRUPTED = 130
"""Exit code as a shell gives it for SIGINT: 128 and the number."""


def main() -> NoReturn:
    """Runs the command line and ends the process with its exit code."""
    try:
        # Imported here, as an interrupt may come while the libraries are imported.
        from retx.cli.entry import main as run
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    run()
