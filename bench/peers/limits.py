"""Bounds of retx's speed on this machine: a bare event loop, and writing columns to memory."""

from __future__ import annotations

import re
import resource
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import retx
from peers.measuring import PeerError
from peers.retx_scenarios import scenario_text
from peers.scenarios import Wired, named

__all__ = ["bare_event_loop", "columns", "read_benchmark"]

REPEAT = 5
ROUNDS = 9
COLUMNS_S = 60
"""Simulated seconds with and without sampling."""


def bare_event_loop() -> dict[str, Any]:
    """CPU time of the engine as a multiple of that of loops that do nothing but move events.

    The same number of events passes through a binary heap, and through the queue of the engine.

    Raises:
        PeerError: Without Rust, or when the benchmark fails.
    """
    cargo = shutil.which("cargo")
    if cargo is None:
        raise PeerError("the bare event loop is a benchmark in Rust, and there is no cargo")
    command = [cargo, "bench", "--package", "retx-sim", "--bench", "engine", "--locked", "--"]
    done = subprocess.run([*command, "dumbbell of 100"], capture_output=True, text=True)
    found = read_benchmark(done.stdout)
    if done.returncode != 0 or found is None:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise PeerError(f"cargo bench failed: {lines[-1] if lines else ''}")
    return found


def read_benchmark(text: str) -> dict[str, Any] | None:
    """Row of the engine benchmark's table for the dumbbell of 100 flows; None if it is missing."""
    row = re.search(r"^dumbbell of 100 flows.*?((?:\s+[\d.]+){8})\s*$", text, re.MULTILINE)
    if row is None:
        return None
    # The first two columns are segments and events per second.
    _, _, events, engine, heap, times_heap, bare, times = map(float, row[1].split())
    return {
        "scenario": "dumbbell of 100 flows, NewReno, in the engine's benchmark",
        "events_per_segment": events,
        "engine_ns_per_segment": engine,
        "heap_ns_per_segment": heap,
        "times_heap": times_heap,
        "bare_ns_per_segment": bare,
        "times_bare": times,
    }


def columns() -> dict[str, Any]:
    """Cost of sampling one fast flow, compared with writing as many bytes to memory."""
    scenario = next(each for each in named(["one-flow"]) if isinstance(each, Wired))
    text = scenario_text(replace(scenario, duration_s=COLUMNS_S), 1)
    sizes: dict[str, int] = {}

    def run(name: str, interval: str | None) -> Callable[[], float]:
        overrides = {} if interval is None else {"sample_interval": interval}

        def once() -> float:
            began = time.process_time()
            result = retx.run(
                text, overrides=overrides, tables=True, segments=False, progress=False
            )
            spent = time.process_time() - began
            tables = [result.samples, result.link_samples] if interval else []
            sizes[name] = sum(int(table.estimated_size()) for table in tables)
            return spent

        return once

    measures = {
        "off": run("off", None),
        "each second": run("each second", "1 s"),
        "every ACK": run("every ACK", "every_ack"),
    }
    # The measurements take turns, so that changes in the machine's speed affect all of them.
    rounds = [{name: once() for name, once in measures.items()} for _ in range(ROUNDS)]
    bandwidth = statistics.median(_write_bandwidth() for _ in range(REPEAT))
    return {
        "scenario": f"one flow, 1 Gbit/s × 10 ms, {COLUMNS_S} s",
        "cost": {
            name: statistics.median(each[name] / each["off"] for each in rounds) - 1
            for name in list(measures)[1:]
        },
        "bytes": sizes,
        "off_s": statistics.median(each["off"] for each in rounds),
        "memory_bytes_per_s": bandwidth,
        "memory_s": sizes["every ACK"] / bandwidth,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _write_bandwidth() -> float:
    """Bytes per second written into newly allocated memory, as when columns grow."""
    size = 1 << 28
    began = time.process_time()
    np.full(size // 8, 1.0)
    return size / (time.process_time() - began)
