#!/usr/bin/env python3
"""Runs the tests of a crate against a random sample of its mutants (cargo-mutants).

    cargo install cargo-mutants --locked
    tools/mutants.py --of channel --count 60 --seed 1

A mutant is one small change of the code, such as `<` instead of `<=`; a test should fail on it. All
mutants of `tcp` alone would take a day. cargo-mutants finds files by `mod`, and therefore misses
the modules of a registry (`retx_units::registry!`). In its copy of the sources each such module is
named again by a `mod` that the compiler ignores. Only the tests of the crate itself run, with 300
cases of each property; drills and the tests of `sim` and Python catch more. Prints the survivors,
and the share of viable mutants that were caught with its 95 % interval (Wilson).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
AREAS = {
    "tcp": ("tcp", "crates/tcp/src/"),
    "truth": ("record", "crates/record/src/truth/"),
    "channel": ("link", "crates/link/src/channel/"),
    "queue": ("link", "crates/link/src/queue/"),
    "engine": ("sim", "crates/sim/src/engine/"),
    "diagnose": ("diagnose", "crates/diagnose/src/"),
}
"""Crate and folder of each part of the code."""
CAUGHT = ("CaughtMutant", "Timeout")
Z95 = 1.959964
"""Quantile of the normal distribution for an interval of 95 %."""


def main() -> int:
    """Draws, runs and reports; returns 1 if less than `--least` of viable mutants were caught."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--of", choices=AREAS, required=True)
    arguments.add_argument("--count", type=int, default=60)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--least", type=float, default=0.95)
    asked = arguments.parse_args()
    crate, folder = AREAS[asked.of]
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place) / "retx"
        _copy(tree)
        _name_registered_modules(tree / "crates" / crate / "src")
        found = [it for it in _mutants(tree, crate) if it["file"].startswith(folder)]
        drawn = random.Random(f"{asked.seed} {asked.of}").sample(
            found, min(asked.count, len(found))
        )
        outcomes = _run(tree, crate, drawn)
    viable = [it for it in outcomes if it["summary"] in (*CAUGHT, "MissedMutant")]
    caught = sum(it["summary"] in CAUGHT for it in viable)
    for it in viable:
        if it["summary"] == "MissedMutant":
            print("survived:", it["scenario"]["Mutant"]["name"])
    low, high = wilson(caught, len(viable))
    print(
        f"{asked.of}: {caught} of {len(viable)} viable mutants caught ({low:.1%} to {high:.1%}); "
        f"{len(drawn)} drawn from {len(found)}"
    )
    return 0 if caught >= asked.least * len(viable) else 1


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Interval of 95 % of a share."""
    if not of:
        return 0.0, 1.0
    share, square = hits / of, Z95**2 / of
    middle = (share + square / 2) / (1 + square)
    half = Z95 * math.sqrt(share * (1 - share) / of + square / (4 * of)) / (1 + square)
    return middle - half, middle + half


def _copy(tree: Path) -> None:
    """Copies what git knows."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def _name_registered_modules(folder: Path) -> None:
    for path in folder.rglob("mod.rs"):
        text = path.read_text(encoding="utf-8")
        if "registry!" not in text:
            continue
        beside = {it.stem for it in path.parent.glob("*.rs")} - {"mod"}
        beside |= {it.parent.name for it in path.parent.glob("*/mod.rs")}
        for name in sorted(beside):
            if not re.search(rf"\bmod {name}\b", text):
                text += f"\n#[cfg(any())]\nmod {name};\n"
        path.write_text(text, encoding="utf-8")


def _mutants(tree: Path, crate: str) -> list[dict[str, Any]]:
    command = ["cargo", "mutants", "--list", "--json", "--package", f"retx-{crate}"]
    done = subprocess.run(command, cwd=tree, check=True, capture_output=True, text=True)
    return list(json.loads(done.stdout))


def _run(tree: Path, crate: str, drawn: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Outcomes of the drawn mutants."""
    names = [f"--re=^{re.escape(it['name'])}$" for it in drawn]
    command = ["cargo", "mutants", "--in-place", "--package", f"retx-{crate}", "--jobs=1", *names]
    command += ["--test-package", f"retx-{crate}", "--minimum-test-timeout=60", "--no-shuffle"]
    # Deletions of fields ignore `--re` (version 27.1): the others are excluded by their files, and
    # below.
    command += [f"--file={name}" for name in sorted({it["file"] for it in drawn})]
    command += ["--profile=develop", "--cargo-arg=--locked", "--", "--tests"]
    environment = os.environ | {"RETX_PROPERTY_CASES": "300"}
    environment.setdefault("CARGO_TARGET_DIR", str(ROOT / "target" / "mutants"))
    subprocess.run(command, cwd=tree, env=environment, check=False)
    report = json.loads((tree / "mutants.out" / "outcomes.json").read_text(encoding="utf-8"))
    wanted = {it["name"] for it in drawn}
    mutants = [it for it in report["outcomes"] if it["scenario"] != "Baseline"]
    return [it for it in mutants if it["scenario"]["Mutant"]["name"] in wanted]


if __name__ == "__main__":
    sys.exit(main())
