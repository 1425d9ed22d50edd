#!/usr/bin/env python3
"""Compares `retx diagnose` with labels of TCPRS (jswaro/tcprs) for public captures.

    .venv/bin/python tools/tcprs_labels.py DIRECTORY

The directory holds captures NAME.trace and their labels labels/NAME.log. The labels are the verdict
of another tool, not the truth: each difference is printed. Classes by `rtype`: 1, 14 and 15 are
timeouts, the others are fast retransmissions. 0 (unknown) and 5 are not compared: TCPRS assigns 5
to all retransmissions in a recovery, also if a timeout began it.
"""

from __future__ import annotations

import struct
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import retx

TIMEOUTS, NOT_COMPARED = {1, 14, 15}, {0, 5}
OWN = {
    "timeout": "timeout", "syn": "timeout", "fin": "timeout",
    "fast": "fast", "recovery": "fast", "tail_loss_probe": "fast",
}  # fmt: skip
"""Class of each kind: SYN and FIN are also retransmitted by the timer."""


def times_of(capture: Path) -> list[int]:
    """Microseconds of each frame of a classic capture; the first entry is unused."""
    content = capture.read_bytes()
    order = "<" if content[0] in (0xD4, 0x4D) else ">"
    at, times = 24, [0]
    while at + 16 <= len(content):
        seconds, micros, length = struct.unpack_from(f"{order}III", content, at)
        times.append(seconds * 1_000_000 + micros)
        at += 16 + length
    return times


def labels_of(log: Path) -> Iterator[tuple[int, int]]:
    """Time in microseconds and `rtype` of each label."""
    for line in log.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            fields = line.split("\t")
            yield round(float(fields[0]) * 1e6), int(fields[12])


def compared(capture: Path, log: Path) -> Iterator[tuple[str, str, str]]:
    """Class of each label, the class that retx gives the frame, and a line about it."""
    times = times_of(capture)
    said: dict[int, Any] = {
        times[it["packet"]]: it
        for flow in retx.diagnose(capture).flows
        for it in flow["retransmissions"]
    }
    for time_us, rtype in labels_of(log):
        if rtype in NOT_COMPARED:
            continue
        found = next((said[time_us + by] for by in (0, 1, -1) if time_us + by in said), None)
        own = OWN.get(found["kind"], found["kind"]) if found else "no retransmission"
        label = "timeout" if rtype in TIMEOUTS else "fast"
        frame = found["packet"] if found else "-"
        yield label, own, f"{capture.name}: frame {frame}, rtype {rtype} ({label}), retx: {own}"


def main() -> int:
    """Prints every difference, and the table."""
    folder = Path(sys.argv[1])
    counts: Counter[tuple[str, str]] = Counter()
    for log in sorted((folder / "labels").glob("*.log")):
        capture = folder / f"{log.stem}.trace"
        if not capture.is_file():
            continue
        for label, own, line in compared(capture, log):
            counts[label, own] += 1
            if label != own:
                print(line)
    for label in sorted({label for label, _ in counts}):
        of_it = {own: count for (other, own), count in counts.items() if other == label}
        right = sum(count for own, count in of_it.items() if label == own)
        print(f"{label}: {right} of {sum(of_it.values())} agree; {of_it}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
