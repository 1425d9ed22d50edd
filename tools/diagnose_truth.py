#!/usr/bin/env python3
"""Judges `retx diagnose` by captures whose truth is known, because retx made them.

    .venv/bin/python tools/diagnose_truth.py [--quick] [--draws N] [--tshark] [--keep DIRECTORY]
    .venv/bin/python tools/diagnose_truth.py --random N [--first NUMBER]
    .venv/bin/python tools/diagnose_truth.py --short N [--first NUMBER]
    .venv/bin/python tools/diagnose_truth.py --uploads N [--first NUMBER]
    .venv/bin/python tools/diagnose_truth.py --kernel N [--first NUMBER]

Each case is a simulated download, captured at the sender's end, in the middle and at the receiver's
end. The truth comes from the table of segments and from the comments of the capture; the file that
is diagnosed has neither comments nor the simulator's packet numbers: its IP identification counts
per direction, as Linux's does, or is 0 (`--no-ids`). With `--kernel N` the downloads are emulated:
this machine's kernel sends, and the emulator knows the truth. Shares are compared with the
simulator's or the emulator's.

Printed per place, with timestamps and without: retransmissions recognised, originals falsely marked
per retransmission, precision and recall of needless, accuracy of the kind; with `--tshark` the same
by tshark's `tcp.analysis` marks.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import retx
from retx.diagnosing.truth import (
    PLACES,
    Case,
    Kinds,
    Packet,
    captured,
    cases,
    kernel_cases,
    random_cases,
    short_cases,
    upload_cases,
)

KINDS = {
    "fast": "fast_retransmit",
    "recovery": "fast_retransmit",
    "timeout": "rto",
    "tail_loss_probe": "tlp",
}


@dataclass
class Score:
    """Counts of one place."""

    counts: Counter[str] = field(default_factory=Counter)
    confusion: Counter[tuple[str, str]] = field(default_factory=Counter)
    said: list[tuple[float, bool]] = field(default_factory=list)
    """Confidence of a retransmission, and whether kind and needless were right."""
    causes: list[tuple[float | None, str]] = field(default_factory=list)
    """Reported probability of congestion, and the true cause."""
    named: list[tuple[str, float, str]] = field(default_factory=list)
    """Reported cause, its confidence, and the true cause."""

    def add(self, packet: Packet, said: Mapping[str, Any] | None) -> None:
        """Adds a packet with data, and the statement about it."""
        counts = self.counts
        if not packet.is_retransmission:
            counts["originals"] += 1
            counts["falsely marked"] += said is not None
            return
        counts["retransmissions"] += 1
        counts["recognised"] += said is not None
        needless = said is not None and said["needless"] == "yes"
        counts["needless"] += packet.is_needless
        counts["said needless"] += needless
        counts["rightly needless"] += needless and packet.is_needless
        if said is not None and packet.kind and "kind" in said:
            word = KINDS.get(said["kind"], said["kind"])
            self.confusion[packet.kind, word] += 1
            if "confidence" in said:
                is_right = word == packet.kind and needless == packet.is_needless
                self.said.append((said["confidence"], is_right))

    def row(self) -> str:
        """Figures in a line."""
        counts = self.counts
        right = sum(count for (true, said), count in self.confusion.items() if true == said)
        figures = [
            ("recognised", "recognised", "retransmissions"),
            ("falsely marked", "falsely marked", "retransmissions"),
            ("precision", "rightly needless", "said needless"),
            ("recall", "rightly needless", "needless"),
        ]
        texts = [f"{name} {_share(counts[part], counts[of])}" for name, part, of in figures]
        return "  ".join([*texts, f"kind {_share(right, sum(self.confusion.values()))}"])


def _share(part: int, of: int) -> str:
    return f"{part / of:7.2%} of {of:5d}" if of else f"{'–':>7} of {of:5d}"


def said_by_retx(path: Path) -> tuple[dict[int, Any], Mapping[str, Any]]:
    """Retransmissions by frame, and the flow."""
    flow = retx.diagnose(path).flows[0]
    return {it["packet"]: it for it in flow["retransmissions"]}, flow


def said_by_tshark(path: Path) -> dict[int, Any]:
    """Marks of tshark by frame; its "fast" stands for fast retransmissions and recovery."""
    fields = ["retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order"]
    names = [name for it in fields for name in ("-e", f"tcp.analysis.{it}")]
    command = ["tshark", "-r", str(path), "-T", "fields", "-e", "frame.number", *names]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    said = {}
    for line in lines.splitlines():
        number, *marks = line.split("\t")
        again, fast, spurious, _ = (bool(mark) for mark in [*marks, *[""] * (4 - len(marks))])
        if again:
            kind = "fast" if fast else "timeout"
            said[int(number)] = {"needless": "yes" if spurious else "no", "kind": kind}
    return said


def judged(case: Case, folder: Path, *, tshark: bool) -> Iterator[tuple[str, str, Score, float]]:
    """Score by place and tool, and the largest error of the shares."""
    result = case.run(folder / "whole.pcapng")
    kinds: Kinds | None = None
    for place, truth, path in captured(folder, case):
        # The sender's end comes first: it sees every packet.
        kinds = kinds or Kinds(truth, result)
        kinds.set(truth)
        said, flow = said_by_retx(path)
        error = share_error(flow, result)
        for tool in ("retx", "tshark") if tshark else ("retx",):
            if tool == "tshark":
                said = said_by_tshark(path)
            score = Score()
            for packet in truth:
                score.add(packet, said.get(packet.frame))
            if tool == "retx":
                judge_causes(score, flow, truth, kinds)
            yield place, tool, score, error


def judge_causes(score: Score, flow: Mapping[str, Any], truth: list[Packet], kinds: Kinds) -> None:
    """Compares the reported causes with the true ones."""
    packets = {packet.frame: packet for packet in truth}
    for episode in flow["episodes"]:
        trigger = packets.get(episode["trigger"])
        cause = kinds.cause(trigger, episode["kind"]) if trigger else None
        if cause is None:
            continue
        score.named.append((episode["cause"], episode["confidence"], cause))
        if cause in ("congestion", "wireless"):
            score.causes.append((episode["congestion_probability"], cause))


def area(causes: list[tuple[float | None, str]]) -> float:
    """Area under the ROC curve of congestion against losses of the channel."""
    groups = {
        cause: [0.5 if it is None else it for it, true in causes if true == cause]
        for cause in ("congestion", "wireless")
    }
    pairs = [(a > b) + (a == b) / 2 for a in groups["congestion"] for b in groups["wireless"]]
    return sum(pairs) / len(pairs) if pairs else float("nan")


def causes_line(score: Score) -> str:
    """Text with the area, the share of abstentions, and the precision of named causes."""
    named = [it for it in score.named if it[0] != "unknown"]
    right = sum(said == true for said, _, true in named)
    mean = sum(confidence for _, confidence, _ in named) / max(len(named), 1)
    return (
        f"causes: area {area(score.causes):.3f} of {len(score.causes)}, "
        f"named {_share(len(named), len(score.named))}, right {_share(right, len(named))}, "
        f"mean confidence {mean:.2f}"
    )


def calibration_line(said: list[tuple[float, bool]]) -> str:
    """Share of the statements that are right, by the confidence with which they were made."""
    edges = [0.0, 0.75, 0.87, 0.93, 0.975, 1.01]
    texts = []
    for low, high in pairwise(edges):
        here = [(confidence, right) for confidence, right in said if low <= confidence < high]
        if here:
            mean = sum(confidence for confidence, _ in here) / len(here)
            right = sum(right for _, right in here)
            texts.append(f"said {mean:.2f}, right {_share(right, len(here)).strip()}")
    return "; ".join(texts)


def share_error(flow: Mapping[str, Any], result: retx.Result) -> float:
    """Largest difference of a share, with all causes of losses together."""
    of = result.summary["flows"][0]["limited_by"]
    total = lambda value: sum(value.values()) if isinstance(value, Mapping) else value  # noqa: E731
    life = max(sum(total(value) for value in of.values()), 1e-9)
    mine = flow["limited_by"]
    own = max(sum(total(value) for value in mine.values()), 1e-9)
    return max(abs(total(of[key]) / life - total(mine[key]) / own) for key in of)


def _chosen(options: argparse.Namespace) -> Iterator[Case]:
    """Cases that the command line selects."""
    ids, first = not options.no_ids, options.first
    if options.kernel:
        return kernel_cases(options.kernel, first=first)
    if options.uploads:
        return upload_cases(options.uploads, first=first)
    if options.short:
        return short_cases(options.short, first=first)
    if options.random:
        return random_cases(options.random, first=first, ids=ids)
    return cases(1 if options.quick else options.draws, ids=ids)


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="one draw of each case")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--random", type=int, help="so many cases drawn at random instead")
    parser.add_argument("--short", type=int, help="so many short transfers and requests instead")
    parser.add_argument("--uploads", type=int, help="so many of them beside an upload instead")
    parser.add_argument("--kernel", type=int, help="so many of them, emulated: the kernel sends")
    parser.add_argument("--first", type=int, default=0, help="number of the first of them")
    parser.add_argument("--tshark", action="store_true")
    parser.add_argument("--no-ids", action="store_true", help="IP identification 0 everywhere")
    parser.add_argument("--keep", type=Path, help="keep captures here")
    parser.add_argument("--only", help="cases whose name holds this")
    parser.add_argument("--verbose", action="store_true", help="a line per case")
    options = parser.parse_args()
    scores: dict[tuple[str, str, str], Score] = defaultdict(Score)
    errors: dict[str, list[float]] = defaultdict(list)
    for case in _chosen(options):
        if options.only and options.only not in case.name:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = options.keep / case.name if options.keep else Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            for place, tool, score, error in judged(case, folder, tshark=options.tshark):
                stamps = "timestamps" if case.timestamps else "none"
                total = scores[tool, place, stamps]
                total.counts.update(score.counts)
                total.confusion.update(score.confusion)
                total.causes.extend(score.causes)
                total.named.extend(score.named)
                total.said.extend(score.said)
                if tool == "retx":
                    errors[place].append(error)
                if options.verbose:
                    confused = {k: n for k, n in score.confusion.items() if k[0] != k[1]}
                    print(f"{case.name:44} {place:9} {tool:6} {score.row()} {error:.2f} {confused}")
    for (tool, place, stamps), score in sorted(scores.items()):
        print(f"{tool:6} {place:9} {stamps:10} {score.row()}")
        if tool == "retx":
            print(f"{'':27} {causes_line(score)}")
            print(f"{'':27} {calibration_line(score.said)}")
    for place in PLACES:
        found = sorted(errors[place])
        good = sum(error <= 0.03 for error in found)
        if found:
            print(f"shares {place:9} within 3 points in {good} of {len(found)} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
