"""Message of an interrupted command that says how to continue."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def print_resume_hint(directory: Path) -> None:
    """Prints the number of completed runs and the command to continue, after an error or Ctrl-C.

    Prints nothing if the directory contains no sweep.
    """
    from retx.sweeps.status import read_plan, sweep_status

    try:
        plan = read_plan(directory)
        runs = sweep_status(directory).runs
    except (OSError, ValueError):
        return
    words = [word for word in sys.argv[1:] if word != "--force"]
    print(
        f"{runs} of {plan.planned} runs are in {directory}; "
        f"go on with: {shlex.join(['retx', *words])}",
        file=sys.stderr,
    )
