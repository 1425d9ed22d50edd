#!/usr/bin/env python3
"""Kills sweeps at random times, in directories that also contain foreign files.

    .venv/bin/python tools/kills.py --count 30 --seed 1

Each sweep is killed by SIGKILL, up to `--repeated` times, and then run to its end. The case fails
if the sweep does not end, if its tables differ from those of an undisturbed sweep, if a foreign
file or link is changed or missing, or if a temporary file remains. For a failure the seed of the
case is printed, and the status is 1.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

SCENARIO = """
duration = "30 s"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "10 Mbit/s"
delay = "10 ms"
forward.channel = { model = "bernoulli", p = 0.01 }
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = "sack"
app = { kind = "transfer", bytes = 2_000_000 }
[sweep]
replications = 40
"link.l.forward.channel.p" = [0.001, 0.01, 0.03]
"""
CODE = (
    "import retx.sweeps.running as r; r.PART_S = 0.1; r.TICK_S = 0.02\n"
    "import sys; sys.argv[0] = 'retx'\n"
    "from retx.cli.entry import main; main()"
)
"""The command line with a part every tenth of a second, so that kills occur during the writing of
parts."""
FOREIGN = {
    "parts/notes.txt": b"a plain file",
    "parts/mine/deep/thesis.tex": b"years of work",
    "parts/.mine.partial/draft": b"a hidden folder",
    f"parts/.{'a' * 32}.abcdefgh.partial/data.csv": b"a name like retx's own",
    "aside/mine.txt": b"beside damaged parts",
}
"""Files that a user might put into the directory of a sweep."""
WAIT_S = 300.0


def main() -> int:
    """Kills as often as requested; returns 1 if something was lost."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--count", type=int, default=30, help="kills")
    arguments.add_argument("--repeated", type=int, default=3, help="kills of one sweep at most")
    arguments.add_argument("--seed", type=int, default=1)
    asked = arguments.parse_args()
    failures, killed, number, seen = [], 0, 0, Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "s.toml"
        scenario.write_text(SCENARIO)
        began = time.monotonic()
        whole = Path(folder) / "whole"
        subprocess.run(_command(scenario, whole), check=True, capture_output=True)
        lasts = time.monotonic() - began
        while killed < asked.count:
            draws = random.Random(f"{asked.seed} {number}")
            out = Path(folder) / f"out-{number}"
            times = min(draws.randint(1, asked.repeated), asked.count - killed)
            killed += times
            faults = _attack(scenario, out, _tables(whole), [draws] * times, lasts, seen)
            failures += [f"case {number} of seed {asked.seed}: {fault}" for fault in faults]
            number += 1
    print("\n".join(failures), end="\n" if failures else "")
    print(f"{killed} kills of {number} sweeps: {dict(seen)}; {len(failures)} failures")
    return 1 if failures else 0


def _attack(
    scenario: Path,
    out: Path,
    tables: dict[str, str],
    kills: list[random.Random],
    lasts: float,
    seen: Counter[str],
) -> list[str]:
    """Kills a sweep several times, then lets it end.

    Args:
        scenario: The sweep.
        out: Its directory.
        tables: The files that it must have at its end, with their hashes.
        kills: Random source of the time of each kill.
        lasts: Duration of an undisturbed sweep in seconds.
        seen: Counters of the states at the kills, which are updated.

    Returns: Descriptions of the faults; empty if there are none.
    """
    elsewhere = out.with_name(f"{out.name}-elsewhere")
    elsewhere.mkdir()
    (elsewhere / "data.parquet").write_bytes(b"behind a link")
    for draws in kills:
        run = subprocess.Popen(
            _command(scenario, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        # A directory with foreign files and without a sweep would be refused.
        while not (out / "sweep.json").exists() and run.poll() is None:
            time.sleep(0.01)
        if not (out / "parts" / "notes.txt").exists():
            _put_foreign(out, elsewhere)
        time.sleep(draws.uniform(0.0, lasts))
        run.kill()
        seen["died running" if run.wait() < 0 else "ended before"] += 1
        seen["temporary files"] += len(_temporary(out))
    done = subprocess.run(
        _command(scenario, out), capture_output=True, text=True, check=False, timeout=WAIT_S
    )
    faults = [] if done.returncode == 0 else [f"status {done.returncode}: {done.stderr}"]
    if _tables(out) != tables:
        faults.append("the tables are not those of an undisturbed sweep")
    for name, content in FOREIGN.items():
        if not (out / name).exists() or (out / name).read_bytes() != content:
            faults.append(f"{name} is not as it was")
    if not (out / "parts" / ("f" * 32)).is_symlink() or not (elsewhere / "data.parquet").exists():
        faults.append("a link, or what is behind it, is gone")
    faults += [f"{path} stays" for path in _temporary(out)]
    return faults


def _put_foreign(out: Path, elsewhere: Path) -> None:
    for name, content in FOREIGN.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(content)
    (out / "parts" / ("f" * 32)).symlink_to(elsewhere)


def _command(scenario: Path, out: Path) -> list[str]:
    return [sys.executable, "-c", CODE, "sweep", str(scenario), "--out", str(out)]


def _tables(out: Path) -> dict[str, str]:
    """Hash of each file of each part."""
    files = [path for path in out.glob("parts/*/*") if len(path.parent.name) == 32]
    own = [path for path in files if not path.parent.is_symlink()]
    return {
        path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in own
    }


def _temporary(out: Path) -> list[Path]:
    """Temporary files and folders of retx, without the foreign ones, which look similar."""
    mine = {(out / name).parent for name in FOREIGN} | {out / name for name in FOREIGN}
    found = [*out.rglob("*.partial*"), *out.rglob("*.old"), *out.rglob("*.tmp")]
    return [path for path in found if path not in mine]


if __name__ == "__main__":
    sys.exit(main())
