"""Cost of a delivered segment by number of flows, hops, window, sampling, or length of a transfer.

    python bench/scale.py [--axis AXIS] [--figure FILE] [--record]

Runs crates/sim/benches/scale.rs at each point in separate processes: once under callgrind, which
counts its instructions, unless it is too long for that; once for the peak memory; and five times
for the minimum CPU time (user and system). A timed process repeats the run of the same plan for
half a second. `--record` writes the results into bench/results/scale.json and keeps the other axes
there; `--figure` draws all axes. Needs valgrind.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "bench" / "results" / "scale.json"
BUILD = ["cargo", "bench", "--package", "retx-sim", "--bench", "scale", "--no-run", "--locked"]
CALLGRIND = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]


class Axis(NamedTuple):
    """A varied quantity, its values, and the simulated seconds of each run."""

    grows: str
    values: list[str]
    seconds: int


AXES = {
    "flows": Axis("flows", ["1", "10", "100", "1000", "10000", "100000"], 2),
    "shares": Axis("flows with 10 Mbit/s each", ["1", "10", "100", "1000", "10000"], 2),
    "hops": Axis("links on the way", ["1", "2", "4", "8", "16", "32"], 2),
    "window": Axis("segments in flight", ["10", "100", "1000", "10000"], 10),
    "lossy_window": Axis("segments in flight, with losses", ["10", "100", "1000", "10000"], 10),
    "sampling": Axis("ms between samples", ["off", "1000", "100", "10", "0"], 2),
    "segments": Axis("segments of a transfer", ["100000", "1000000", "10000000", "100000000"], 0),
}
REPEATS = 5
# Minimum CPU seconds of a timed process: the system counts in hundredths of a second.
LONG_ENOUGH = 0.5
# Maximum number of segments of a run under callgrind, which is fifty times slower.
COUNTED = 20_000_000
# Seconds that a segment takes on the link of the axes `window` and `lossy_window`.
ON_THE_WIRE = 12_304e-9
TICKS = [1_000, 2_000, 5_000, 10_000, 20_000, 50_000]
LABELS = {
    "flows": "1 Gbit/s in all",
    "shares": "SACK, 10 Mbit/s each",
    "window": "no loss",
    "lossy_window": "SACK, losses",
}


def main() -> None:
    """Measures and prints a table."""
    options = _options()
    axes = [axis for axis in AXES if options.axis in ("", axis)]
    program = _program()
    points = [Point(program, axis, value) for axis in axes for value in AXES[axis].values]
    counts = [_counted(point) for point in points]
    timed = _timed(points)
    rows: dict[str, list[dict[str, Any]]] = {axis: [] for axis in axes}
    for point, count, run in zip(points, counts, timed, strict=True):
        per_segment = 1e9 * run.cpu_s / run.runs / count["segments"]
        time = {"cpu_ns_per_segment": round(per_segment, 1), "timed_runs": run.runs}
        row = {"value": point.value, **count, **time, "timed_cpu_s": round(run.cpu_s, 3)}
        rows[point.axis].append(row)
        _print_row(point, row)
    merged = _recorded() | rows
    merged = {axis: merged[axis] for axis in AXES if axis in merged}
    if options.record:
        RECORD.write_text(json.dumps(merged, indent=2) + "\n")
    if options.figure:
        _draw(merged, options.figure)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Cost of a segment as one thing grows.")
    parser.add_argument("--axis", default="", choices=["", *AXES], help="this axis alone")
    parser.add_argument("--figure", type=Path, help="draw the curves into this file")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name}")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("bench/scale.py needs valgrind (on Debian: apt install valgrind).")
    if options.figure and not options.figure.absolute().parent.is_dir():
        sys.exit(f"There is no folder {options.figure.parent} for {options.figure.name}: make it.")
    return options


def _recorded() -> dict[str, list[dict[str, Any]]]:
    if not RECORD.exists():
        return {}
    rows: dict[str, list[dict[str, Any]]] = json.loads(RECORD.read_text())
    return rows


def _program() -> str:
    done = subprocess.run(
        [*BUILD, "--message-format", "json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    messages = map(json.loads, done.stdout.splitlines())
    programs: list[str] = [it["executable"] for it in messages if it.get("executable")]
    return programs[-1]


class Point(NamedTuple):
    """Point of an axis, and the program that runs it."""

    program: str
    axis: str
    value: str

    @property
    def command(self) -> list[str]:
        """One run."""
        return [self.program, self.axis, self.value, str(AXES[self.axis].seconds)]


class Run(NamedTuple):
    """A process that has simulated a point several times, with its output for the last run."""

    cpu_s: float
    runs: int
    counts: dict[str, Any]


def _run(point: Point, runs: int) -> Run:
    command = [*point.command, str(runs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with status {process.returncode}")
    return Run(usage.ru_utime + usage.ru_stime, runs, json.loads(output))


def _counted(point: Point) -> dict[str, Any]:
    """Measurements that do not depend on the load of the machine: counts and peak memory."""
    counts = _run(point, runs=1).counts
    segments = counts["segments"]
    count: dict[str, Any] = {
        "segments": segments,
        "events_per_segment": round(counts["events"] / segments, 3),
        "instructions_per_segment": None,
        "peak_kib": counts["peak_kib"],
    }
    if point.axis in ("window", "lossy_window"):
        round_trips = AXES[point.axis].seconds / (int(point.value) * ON_THE_WIRE)
        count["segments_in_flight"] = round(segments / round_trips, 1)
    if segments <= COUNTED:
        count["instructions_per_segment"] = round(_instructions(point) / segments, 1)
    _print_row(point, count)
    return count


def _instructions(point: Point) -> int:
    counted = subprocess.run(
        [*CALLGRIND, *point.command], capture_output=True, text=True, check=True
    )
    instructions = re.search(r"Collected : (\d+)", counted.stderr)
    if instructions is None:
        sys.exit(f"callgrind has not said what it counted:\n{counted.stderr}")
    return int(instructions[1])


def _timed(points: list[Point]) -> list[Run]:
    """The fastest process of each point; the points take turns, since the load may vary."""
    best = [_long_enough(point) for point in points]
    for _ in range(REPEATS - 1):
        for index, point in enumerate(points):
            again = _run(point, best[index].runs)
            best[index] = min(best[index], again, key=lambda run: run.cpu_s)
    return best


def _long_enough(point: Point) -> Run:
    run = _run(point, runs=1)
    while run.cpu_s < LONG_ENOUGH:
        # Twice the necessary time, because another process may be faster.
        more = math.ceil(2 * LONG_ENOUGH / max(run.cpu_s, 0.01))
        run = _run(point, run.runs * more)
    return run


def _print_row(point: Point, row: dict[str, Any]) -> None:
    text = "  ".join(f"{name} {number}" for name, number in row.items() if name != "value")
    print(f"{point.axis:<13}{point.value:>9}  {text}", flush=True)


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
            found = [row for row in rows[axis] if row["instructions_per_segment"] is not None]
            costs = [row["instructions_per_segment"] for row in found]
            if axis == "sampling":
                names_of = {"off": "none", "1000": "1 s", "0": "each ACK"}
                places = [names_of.get(row["value"], row["value"] + " ms") for row in found]
                panel.plot(places, costs, "o-")
                panel.tick_params(axis="x", labelsize=7)
                continue
            numbers = [row.get("segments_in_flight", int(row["value"])) for row in found]
            panel.plot(numbers, costs, "o-", label=LABELS.get(axis))
            panel.set_xscale("linear" if axis == "hops" else "log")
        panel.set_xlabel("samples" if names == ["sampling"] else AXES[names[0]].grows)
        if len(names) > 1 and panel.lines:
            panel.legend(loc="upper left")
    # A segment of 100,000 flows costs twenty times as much as one of a single flow.
    axes[0].set_yscale("log")
    axes[0].set_ylim(bottom=700)
    axes[0].set_yticks(TICKS, [f"{tick:,}" for tick in TICKS])
    axes[0].set_ylabel("instructions per delivered segment")
    figure.savefig(file)


if __name__ == "__main__":
    main()
