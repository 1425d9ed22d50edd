"""Measures the time until the command line and the module are ready."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

REPEATS = 7
RETX = Path(sys.executable).parent / "retx"
TARGETS = {
    "retx --help": ([RETX, "--help"], 0.3),
    "import retx": ([sys.executable, "-c", "import retx"], 0.5),
}


def measure(command: list[str | Path]) -> float:
    """The shortest of several runs, in seconds: the one with the least disturbance."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    for name, (command, target) in TARGETS.items():
        print(f"{name}: {measure(command):.3f} s (target: under {target} s)")
