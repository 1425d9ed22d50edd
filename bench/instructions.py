"""Counts instructions per delivered data segment, and compares them with bench/results.

    python bench/instructions.py [--record] [--only PART] [--threshold PERCENT]

Each scenario of crates/sim/benches/engine.rs runs once, shortened, under callgrind. All
instructions of its process are counted. The counts are the same on every machine with the same
compiler and profile, so that later changes can be compared: if a count exceeds the record by more
than the threshold (3 %), the status is 1, and the increase must be explained in CHANGELOG.md.
`--record` stores the new counts. Needs valgrind.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "bench" / "results" / "instructions.json"
BUILD = ["cargo", "bench", "--package", "retx-sim", "--bench", "engine", "--no-run", "--locked"]
SCENARIOS = [
    "one flow, 1",
    "of 10 flows, SACK",
    "Linux's TCP",
    "Linux's BBR",
    "beside the peers",
    "of 100 flows",
    "satellite",
    "BBR, 100",
    "download",
    "one station",
    "chain of four",
    "ten stations",
    "with RTS",
    "limited hearing",
]


def main() -> int:
    """Counts instructions and prints a table; the status is 1 if a count has increased."""
    options = _options()
    if shutil.which("valgrind") is None:
        sys.exit("bench/instructions.py needs valgrind (on Debian: apt install valgrind).")
    program = _build()
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    known = {row["name"]: row["instructions_per_segment"] for row in record.get("scenarios", [])}
    found = []
    worse = False
    print(f"{'instructions per delivered segment':<50}{'now':>8}{'record':>9}{'change':>9}")
    for part in (part for part in SCENARIOS if options.only in part):
        row = _count(program, part)
        found.append(row)
        name, now = row["name"], row["instructions_per_segment"]
        change = 100 * (now / known[name] - 1) if name in known else None
        worse |= change is not None and change > options.threshold
        columns = ("new", "") if change is None else (f"{known[name]:.0f}", f"{change:+.1f} %")
        print(f"{name:<50}{now:>8.0f}{columns[0]:>9}{columns[1]:>9}", flush=True)
    if options.record:
        rows = {row["name"]: row for row in record.get("scenarios", [])}
        rows |= {row["name"]: row for row in found}
        compiler = subprocess.run(
            ["rustc", "--version"], capture_output=True, text=True, check=True
        )
        written = {"compiler": compiler.stdout.strip(), "scenarios": list(rows.values())}
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text(json.dumps(written, indent=2) + "\n")
        return 0
    if worse:
        print(f"More than {options.threshold:g} % dearer: mend it, or say why in CHANGELOG.md.")
    return int(worse)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write the counts down")
    parser.add_argument("--only", default="", help="scenarios whose names hold this")
    parser.add_argument("--threshold", type=float, default=3.0, help="percent (3)")
    return parser.parse_args()


def _build() -> str:
    done = subprocess.run(
        [*BUILD, "--message-format", "json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit("The engine's benchmark cannot be built: see above.")
    messages = map(json.loads, done.stdout.splitlines())
    programs = [message["executable"] for message in messages if message.get("executable")]
    return str(programs[-1])


def _count(program: str, part: str) -> dict[str, float | str]:
    callgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(
        [*callgrind, program, "--bench", "count", part], capture_output=True, text=True, check=True
    )
    run = json.loads(done.stdout)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if collected is None:
        sys.exit(f"callgrind has not said what it counted:\n{done.stderr}")
    segments = run["segments"]
    return {
        "name": run["name"],
        "instructions_per_segment": round(int(collected[1]) / segments, 1),
        "events_per_segment": round(run["events"] / segments, 3),
        "segments": segments,
    }


if __name__ == "__main__":
    sys.exit(main())
