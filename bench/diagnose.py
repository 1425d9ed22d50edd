#!/usr/bin/env python3
"""Measures the packets per CPU second that `retx diagnose` reads and diagnoses, and its memory.

    .venv/bin/python bench/diagnose.py [--gigabytes 10]

The capture contains ten simulated downloads of 20 MB with losses, recorded at the sender. It is
passed to the program repeatedly through a pipe, so that a large capture needs no disk space: pcapng
files may be concatenated. The peak memory for one copy and for all copies shows whether it grows
with the file.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import retx

ROOT = Path(__file__).parents[1]
BUILD = ["cargo", "build", "--release", "--locked", "-p", "retx-diagnose", "--example", "speed"]
REPEATS = 5
TARGETS = {"read": 5.0, "decode": None, "diagnose": 1.0}
"""Million packets per second."""
SCENARIO = {
    "duration": "100 s",
    "tcp": {"tcp": {"like": "linux"}},
    "link": [
        {
            "name": "net",
            "ends": ["server", "client"],
            "rate": "100 Mbit/s",
            "delay": "20 ms",
            "queue": {"discipline": "droptail", "packets": 200},
            "forward": {"channel": {"model": "bernoulli", "p": 0.001}},
        }
    ],
    "flow": [
        {
            "name": f"download{number}",
            "from": "server",
            "to": "client",
            "tcp": "tcp",
            "app": {"kind": "transfer", "bytes": 20_000_000},
        }
        for number in range(10)
    ],
}


def program() -> Path:
    """The compiled example, in release."""
    subprocess.run(BUILD, cwd=ROOT, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    return Path(target) / "release" / "examples" / "speed"


def rate(command: list[str | Path]) -> float:
    """Million packets per second of CPU time of the whole process."""
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert started.stdout
    printed = started.stdout.read()
    _, status, used = os.wait4(started.pid, 0)
    found = re.search(r"(\d+) packets", printed)
    if status or not found:
        sys.exit(f"{command} ended with {status}: {printed}")
    return int(found[1]) / (used.ru_utime + used.ru_stime) / 1e6


def peak(speed: Path, capture: Path, copies: int) -> tuple[str, float]:
    """Output of the diagnosis of this number of copies, and its peak memory in megabytes."""
    pipe = capture.with_name(f"{copies}.pcapng")
    os.mkfifo(pipe)
    started = subprocess.Popen([speed, pipe, "diagnose"], stdout=subprocess.PIPE, text=True)
    content = capture.read_bytes()
    with pipe.open("wb") as file:
        for _ in range(copies):
            file.write(content)
    printed, _ = started.communicate()
    if started.returncode:
        sys.exit(f"the diagnosis of {copies} copies ended with {started.returncode}")
    return printed.strip(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--gigabytes", type=float, default=10.0, help="size of the large capture")
    gigabytes = parser.parse_args().gigabytes
    speed = program()
    with tempfile.TemporaryDirectory() as temporary:
        capture = Path(temporary) / "ten.pcapng"
        retx.run(SCENARIO, seed=1, pcap=capture, pcap_at=["net@server"])
        size = capture.stat().st_size
        for step, target in TARGETS.items():
            found = median(rate([speed, capture, step]) for _ in range(REPEATS))
            aim = f" (target: {target})" if target else ""
            print(f"{step}: {found:.2f} million packets in a CPU second{aim}, median of {REPEATS}")
        for copies in sorted({1, 4, max(round(gigabytes * 1e9 / size), 1)}):
            command = [sys.executable, __file__, "--peak", str(speed), str(capture), str(copies)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        # A separate process, because the system reports only the joint peak of all children.
        _, _, speed, capture, copies = sys.argv
        printed, memory = peak(Path(speed), Path(capture), int(copies))
        size = Path(capture).stat().st_size * int(copies)
        print(f"{size / 1e9:.2f} GB: {printed}, peak memory {memory:.1f} MB")
    else:
        main()
