"""Measures the cost of a sweep beyond its runs: 10,000 high-ber downloads, cut to 200 kB.

    python bench/sweep.py [POINTS]

Prints the CPU time of the runs alone, of the sweep (the first in a process and another), of the
first look at its table, which imports numpy and polars, and how busy it keeps the cores.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SCENARIO = Path(__file__).parents[1] / "studies" / "high-ber" / "download.toml"
RUNS = 10_000

ALONE = """
import os, sys, time
from pathlib import Path
from retx import _native
points, runs = int(sys.argv[1]), int(sys.argv[2])
# The same number of workers as the sweep, because two that share the caches of a processor are
# slower than one.
threads = len(os.sched_getaffinity(0))
text = Path(sys.argv[3]).read_text()
pairs = lambda i: [("flow.download.app.bytes", "200000"), ("sample_interval", "9999 s"),
                   ("link.cloud.channel.p", str(0.02 * i / points))]
scenarios = [_native.parse(text, "", pairs(i)) for i in range(points)]
began = time.process_time()
for scenario in scenarios:
    _native.run_many(scenario, _native.Control(), replications=runs // points, threads=threads,
                     tables=False)
print(time.process_time() - began)
"""

SWEEP = """
import sys, time
import retx
import retx.sweeps.running
points, runs = int(sys.argv[1]), int(sys.argv[2])

def sweep(out):
    began, wall = time.process_time(), time.perf_counter()
    found = retx.sweep(
        sys.argv[3],
        {"link.cloud.channel.p": [0.02 * i / points for i in range(points)]},
        runs // points,
        overrides={"flow.download.app.bytes": 200_000},
        out=out,
    )
    print(time.process_time() - began, time.perf_counter() - wall)
    return found

sweep(sys.argv[4])
print(time.process_time())
found = sweep(sys.argv[4] + "-again")
assert not {"numpy", "polars"} & sys.modules.keys()
began = time.process_time()
assert len(found.flows) == runs
print(time.process_time() - began)
"""


def main() -> None:
    """Prints a table."""
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    cores = len(os.sched_getaffinity(0))
    print(f"{RUNS} runs at {points} points on {cores} cores (best of 3)")
    alone = min(float(_python(ALONE, points)[0]) for _ in range(3))
    found = [_sweep(points) for _ in range(3)]
    first, process, again, wall, look = (min(values) for values in zip(*found, strict=True))
    print(f"runs alone       {alone:6.3f} s of CPU, {1e6 * alone / RUNS:.0f} us each")
    print(f"sweep            {again:6.3f} s of CPU: {100 * (again / alone - 1):+.1f} %")
    print(f"first in process {first:6.3f} s of CPU: {100 * (first / alone - 1):+.1f} %")
    print(f"whole process    {process:6.3f} s of CPU, the start of Python included")
    print(f"first table      {look:6.3f} s of CPU: imports, and reads what was written")
    busy = 100 * again / wall / cores
    print(
        f"wall             {wall:6.3f} s: cores {busy:.0f} % busy (load {os.getloadavg()[0]:.1f})"
    )


def _sweep(points: int) -> tuple[float, float, float, float, float]:
    """CPU times of the first sweep in a process, of the process before it, and of another sweep.

    The last two values are the wall time of the other sweep and the CPU time of the first look at
    a table. All are in seconds.
    """
    with tempfile.TemporaryDirectory() as directory:
        words = _python(SWEEP, points, str(Path(directory) / "sweep"))
    cpu, _, process, again, wall, look = map(float, words)
    return cpu, process, again, wall, look


def _python(code: str, points: int, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", code, str(points), str(RUNS), str(SCENARIO), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split()


if __name__ == "__main__":
    main()
