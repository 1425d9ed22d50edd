"""Measures the time of short commands, of importing the module, and of Python alone.

    python bench/startup.py [REPEATS]

The commands run a scenario that ends after a millisecond. The table contains medians of wall-clock
time and of CPU time (user and system), and the least CPU time, which other processes disturb least.
Python alone, with and without the module `site`, is the part of the start that retx cannot shorten.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

REPEATS = 20
RETX = str(Path(sys.executable).parent / "retx")
SCENARIO = """
duration = "1 ms"

[[link]]
name = "link"
ends = ["server", "client"]
rate = "10 Mbit/s"
delay = "10 ms"

[[flow]]
name = "file"
from = "server"
to = "client"
tcp = "sack"
app = { kind = "transfer", bytes = 10_000 }
"""
COMMANDS = {
    "python -I -S -c pass": [sys.executable, "-I", "-S", "-c", "pass"],
    "python -c pass": [sys.executable, "-c", "pass"],
    "import retx._native": [sys.executable, "-c", "import retx._native"],
    "retx --version": [RETX, "--version"],
    "retx run": [RETX, "run", "short.toml"],
    "retx run --json": [RETX, "run", "short.toml", "--json"],
    "retx why": [RETX, "why", "short.toml"],
    "retx list": [RETX, "list"],
    "retx --help": [RETX, "--help"],
}


def cpu_s() -> float:
    """CPU time of all processes that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(command: list[str], folder: str, repeats: int) -> tuple[float, float, float]:
    """Median wall-clock time, median CPU time and least CPU time of a command, in seconds."""
    # Modules are compiled once and kept, as they are where retx is installed.
    environment = {key: it for key, it in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    wall, cpu = [], []
    for _ in range(repeats + 1):
        start, before = time.perf_counter(), cpu_s()
        subprocess.run(command, check=True, capture_output=True, cwd=folder, env=environment)
        wall.append(time.perf_counter() - start)
        cpu.append(cpu_s() - before)
    # The first run also reads the files from the disk.
    return median(wall[1:]), median(cpu[1:]), min(cpu[1:])


def main() -> None:
    """Prints a row for each command."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS
    print(f"{'':<22}{'wall':>10}{'CPU':>10}{'least CPU':>12}")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "short.toml").write_text(SCENARIO)
        for name, command in COMMANDS.items():
            wall, cpu, least = (1e3 * it for it in measure(command, folder, repeats))
            print(f"{name:<22}{wall:>7.1f} ms{cpu:>7.1f} ms{least:>9.1f} ms", flush=True)


if __name__ == "__main__":
    main()
