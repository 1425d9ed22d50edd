"""Cost of a process: CPU time, wall time, memory, instructions."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PeerError", "Usage", "costs_of_all", "instructions", "measured"]

LAUNCH = Path(__file__).with_name("launch.py")

Command = Sequence[str | Path]


class PeerError(Exception):
    """A program failed; the message is one sentence."""


@dataclass(frozen=True)
class Usage:
    """Resources that a process has used, including its children's CPU time."""

    user_s: float
    system_s: float
    wall_s: float
    peak_bytes: int


def measured(command: Command, cpu_limit_s: float) -> tuple[str, Usage]:
    """Runs a command; returns its standard output and its resource usage.

    Raises: PeerError: The command failed, or was terminated because it exceeded this CPU time.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "usage.json"
        # The launcher runs isolated and without site-packages, so that it is small.
        launch = [sys.executable, "-I", "-S", str(LAUNCH), str(report), str(int(cpu_limit_s))]
        done = subprocess.run([*launch, *map(str, command)], capture_output=True, text=True)
        if not report.exists():
            raise PeerError(f"{command[0]} could not be started: {_last_line(done.stderr)}")
        usage = Usage(**json.loads(report.read_text(encoding="utf-8")))
    if done.returncode != 0:
        took = f"after {usage.user_s:.0f} CPU seconds and {usage.peak_bytes / 1e6:.0f} MB"
        raise PeerError(f"ended {took}: {_reason(done, cpu_limit_s)}")
    return done.stdout, usage


def costs_of_all(
    commands: Sequence[Command], cpu_limit_s: float, workers: int
) -> tuple[list[str], Usage]:
    """Runs several commands, `workers` at a time: CPU times are summed, memory is the highest.

    No further commands are started once all together have exceeded the limit.
    """
    spent: list[float] = []

    def one(command: Command) -> tuple[str, Usage] | None:
        if sum(spent) > cpu_limit_s:
            return None
        found = measured(command, cpu_limit_s)
        spent.append(found[1].user_s)
        return found

    began = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        found = [each for each in pool.map(one, commands) if each is not None]
    usages = [usage for _, usage in found]
    total = Usage(
        user_s=sum(usage.user_s for usage in usages),
        system_s=sum(usage.system_s for usage in usages),
        wall_s=time.perf_counter() - began,
        peak_bytes=max(usage.peak_bytes for usage in usages),
    )
    return [text for text, _ in found], total


def instructions(command: Command) -> tuple[str, int]:
    """Standard output and instructions of a process and its children, as callgrind counts them.

    Raises:
        PeerError: Without valgrind, or when the command fails.
    """
    if shutil.which("valgrind") is None:
        raise PeerError("instructions are counted by valgrind, which is not installed")
    prefix = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    # Otherwise dicts and sets of Python differ between processes.
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [*prefix, "--trace-children=yes", *map(str, command)],
        capture_output=True,
        text=True,
        env=environment,
    )
    counted = [int(count) for count in re.findall(r"Collected\s*:\s*(\d+)", done.stderr)]
    if done.returncode != 0 or not counted:
        raise PeerError(f"{command[0]} failed under valgrind: {_last_line(done.stderr)}")
    return done.stdout, sum(counted)


def _reason(done: subprocess.CompletedProcess[str], cpu_limit_s: float) -> str:
    if done.returncode == 128 + signal.SIGXCPU:
        return f"it had not ended itself at the limit of {cpu_limit_s:.0f} CPU seconds"
    return _last_line(done.stderr) or f"exit status {done.returncode}"


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""
