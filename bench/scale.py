"""What a delivered segment costs as flows, hops, the window or samples become more.

    python bench/scale.py [--axis AXIS] [--figure FILE] [--record]

Runs crates/sim/benches/scale.rs at each point, as a process of its own: once under callgrind, which
counts its instructions, and three times without, for the least user CPU time and the peak memory.
`--record` writes bench/results/scale.json; `--figure` draws it. Needs valgrind.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "bench" / "results" / "scale.json"
BUILD = ["cargo", "bench", "--package", "retx-sim", "--bench", "scale", "--no-run", "--locked"]
CALLGRIND = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
AXES: dict[str, tuple[str, list[str], int]] = {
    "flows": ("flows", ["1", "10", "100", "1000", "10000"], 2),
    "shares": ("flows with 10 Mbit/s each", ["1", "10", "100", "1000"], 2),
    "hops": ("links on the way", ["1", "2", "4", "8", "16", "32"], 2),
    "window": ("segments in the window", ["10", "100", "1000", "10000"], 2),
    "lossy_window": ("segments in the window, with losses", ["10", "100", "1000", "10000"], 10),
    "sampling": ("ms between samples", ["off", "1000", "100", "10", "0"], 2),
}
REPEATS = 3
LABELS = {
    "flows": "1 Gbit/s in all",
    "shares": "SACK, 10 Mbit/s each",
    "window": "no loss",
    "lossy_window": "SACK, losses",
}


def main() -> None:
    """Measures and prints a table."""
    options = _options()
    if shutil.which("valgrind") is None:
        sys.exit("bench/scale.py needs valgrind (on Debian: apt install valgrind).")
    rows = {
        axis: [_point(axis, value) for value in AXES[axis][1]]
        for axis in AXES
        if options.axis in ("", axis)
    }
    if options.record:
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text(json.dumps(rows, indent=2) + "\n")
    if options.figure:
        _draw(rows, options.figure)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Cost of a segment as one thing grows.")
    parser.add_argument("--axis", default="", choices=["", *AXES], help="this axis alone")
    parser.add_argument("--figure", type=Path, help="draw the curves into this file")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name}")
    return parser.parse_args()


_programs: list[str] = []


def _program() -> str:
    if not _programs:
        done = subprocess.run(
            [*BUILD, "--message-format", "json"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        messages = map(json.loads, done.stdout.splitlines())
        _programs.extend(it["executable"] for it in messages if it.get("executable"))
    return _programs[-1]


def _point(axis: str, value: str) -> dict[str, Any]:
    command = [_program(), axis, value, str(AXES[axis][2])]
    counted = subprocess.run([*CALLGRIND, *command], capture_output=True, text=True, check=True)
    instructions = re.search(r"Collected : (\d+)", counted.stderr)
    if instructions is None:
        sys.exit(f"callgrind has not said what it counted:\n{counted.stderr}")
    timed = [_timed(command) for _ in range(REPEATS)]
    run = timed[0][1]
    segments = run["segments"]
    row = {
        "value": value,
        "segments": segments,
        "events_per_segment": round(run["events"] / segments, 3),
        "instructions_per_segment": round(int(instructions[1]) / segments, 1),
        "cpu_ns_per_segment": round(1e9 * min(seconds for seconds, _ in timed) / segments, 1),
        "peak_kib": run["peak_kib"],
    }
    told = "  ".join(f"{name} {number}" for name, number in row.items() if name != "value")
    print(f"{axis:<13}{value:>8}  {told}", flush=True)
    return row


def _timed(command: list[str]) -> tuple[float, dict[str, Any]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with status {process.returncode}")
    return usage.ru_utime, json.loads(output)


def _draw(rows: dict[str, list[dict[str, Any]]], file: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from retx.plots.style import RC

    mpl.rcParams.update(RC)
    figure, axes = plt.subplots(1, 4, sharey=True, figsize=(10, 3.0), layout="constrained")
    panels = [["flows", "shares"], ["hops"], ["window", "lossy_window"], ["sampling"]]
    for panel, names in zip(axes, panels, strict=True):
        for axis in (name for name in names if name in rows):
            found = rows[axis]
            label = LABELS.get(axis)
            costs = [row["instructions_per_segment"] for row in found]
            if axis == "sampling":
                places = ["none", "1 s", "100 ms", "10 ms", "each ACK"]
                panel.plot(places, costs, "o-")
                panel.tick_params(axis="x", labelsize=7)
                continue
            panel.plot([int(row["value"]) for row in found], costs, "o-", label=label)
            panel.set_xscale("linear" if axis == "hops" else "log")
        panel.set_xlabel("samples" if names == ["sampling"] else AXES[names[0]][0])
        panel.set_ylim(bottom=0)
        if len(names) > 1:
            panel.legend(loc="upper left")
    axes[0].set_ylabel("instructions per delivered segment")
    figure.savefig(file)


if __name__ == "__main__":
    main()
