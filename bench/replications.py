"""Measures the speedup by a second core, for replications of a dumbbell of 100 flows.

    python bench/replications.py [SECONDS]

Times are those of the whole command, including the parts on one core: its start and its table. The
two measurements of a pair alternate, because the speed of a machine drifts. The last column is for
two simultaneous, independent processes with half of the replications each.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

SCENARIO = Path(__file__).parents[1] / "scenarios" / "dumbbell.toml"
REPLICATIONS = 8
PAIRS = 5


def main() -> None:
    """Prints a row for each pair, and the medians."""
    seconds = sys.argv[1] if len(sys.argv) > 1 else "1000"
    print(f"{'one core':>10}{'two':>8}{'gain':>7}{'processes':>11}")
    rows = [_pair(seconds) for _ in range(PAIRS)]
    gain, apart = (median(column) for column in zip(*rows, strict=True))
    print(f"median gain {gain:.2f}; of two processes {apart:.2f}")


def _pair(seconds: str) -> tuple[float, float]:
    one = _time(seconds, REPLICATIONS, threads=1)
    two = _time(seconds, REPLICATIONS, threads=2)
    apart = _time(seconds, REPLICATIONS // 2, threads=1, processes=2)
    print(f"{one:>8.2f} s{two:>6.2f} s{one / two:>7.2f}{one / apart:>11.2f}", flush=True)
    return one / two, one / apart


def _time(seconds: str, replications: int, *, threads: int, processes: int = 1) -> float:
    retx = [sys.executable, "-m", "retx", "run", str(SCENARIO), "--set", f"duration={seconds} s"]
    command = [*retx, "--replications", str(replications), "--threads", str(threads)]
    began = time.perf_counter()
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(processes)]
    if any(process.wait() for process in started):
        sys.exit(f"failed: {' '.join(command)}")
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
