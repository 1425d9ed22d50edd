"""Runs scripts of other projects and prints a table; fails if too few pass."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance import adapt, players, scripts
from conformance.scripts import Script


@dataclass(frozen=True)
class Outcome:
    """Results of all scripts with one of the players."""

    way: str
    verdicts: list[players.Verdict]
    seconds: float


def arguments() -> argparse.Namespace:
    """Command-line arguments."""
    parser = argparse.ArgumentParser(prog="conformance", description=__doc__)
    for project in scripts.FOLDERS:
        text = f"checkout with {scripts.FOLDERS[project]}"
        parser.add_argument(f"--{project}", type=Path, metavar="DIR", required=True, help=text)
    parser.add_argument("--packetdrill", type=Path, metavar="FILE", required=True)
    parser.add_argument("--library", type=Path, metavar="FILE", required=True)
    parser.add_argument("--retx", type=Path, metavar="FILE", required=True)
    parser.add_argument("--tcp", default="linux", metavar="PRESET")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the adapted copies here")
    return parser.parse_args()


def copies(all_scripts: Sequence[Script], settings: Path, folder: Path) -> list[Path]:
    """Adapted copies of the scripts, next to the files that they call."""
    files = []
    for script in all_scripts:
        file = folder / script.project / script.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(adapt.adapted(script), encoding="utf-8")
        files.append(file)
        beside = file.parent if script.project == "linux" else file.parent.parent / "common"
        beside.mkdir(exist_ok=True)
        (beside / "defaults.sh").write_bytes(settings.read_bytes())
        (beside / "defaults.sh").chmod(0o755)
        players.write_program(beside / "set_sysctls.py")
    return files


def play(
    ways: dict[str, players.Drill | players.Packetdrill], files: list[Path], scratch: Path
) -> list[Outcome]:
    """Plays everything in every way."""
    outcomes = []
    for way, player in ways.items():
        own = scratch / f"of {way}"
        own.mkdir()
        begin = time.perf_counter()
        verdicts = player.play(files, own)
        outcomes.append(Outcome(way, verdicts, time.perf_counter() - begin))
    return outcomes


def report(all_scripts: Sequence[Script], outcomes: Sequence[Outcome]) -> bool:
    """Prints the table and the failures with their reasons; true if enough scripts passed."""
    names = [f"{script.project} {script.path}" for script in all_scripts]
    width = max(map(len, names))
    print("".ljust(width), *(outcome.way for outcome in outcomes), sep="  ")
    for index, (script, name) in enumerate(zip(all_scripts, names, strict=True)):
        verdicts = [outcome.verdicts[index] for outcome in outcomes]
        if not script.is_receiver or not all(verdict.passed for verdict in verdicts):
            cells = [
                ("passed" if verdict.passed else "FAILED").ljust(len(outcome.way))
                for verdict, outcome in zip(verdicts, outcomes, strict=True)
            ]
            print(name.ljust(width), *cells, sep="  ")
    for outcome in outcomes:
        for name, verdict in zip(names, outcome.verdicts, strict=True):
            if not verdict.passed:
                print(f"\n{outcome.way}, {name}:\n  {verdict.message}")
    print()
    enough = True
    for outcome in outcomes:
        held = counts(all_scripts, outcome)
        enough = enough and held[0] == held[1] and held[2] >= scripts.RECEIVER_MUST_PASS
        print(
            f"{outcome.way}: {held[0]} of {held[1]} that must pass, {held[2]} of "
            f"{scripts.RECEIVER_COUNT} of the receiver ({scripts.RECEIVER_MUST_PASS} must), "
            f"{outcome.seconds:.1f} s"
        )
    return enough


def counts(all_scripts: Sequence[Script], outcome: Outcome) -> tuple[int, int, int]:
    """Required scripts that passed, all required scripts, and receiver scripts that passed."""
    pairs = list(zip(all_scripts, outcome.verdicts, strict=True))
    must = [verdict.passed for script, verdict in pairs if not script.is_receiver]
    receiver = [verdict.passed for script, verdict in pairs if script.is_receiver]
    return sum(must), len(must), sum(receiver)


def main() -> int:
    """Runs the requested scripts; returns 1 if too few pass, 2 if something is missing."""
    options = arguments()
    try:
        all_scripts = scripts.find({name: getattr(options, name) for name in scripts.FOLDERS})
        settings = options.google / scripts.FOLDERS["google"] / "common" / "defaults.sh"
        library = options.library.resolve(strict=True)
        ways: dict[str, players.Drill | players.Packetdrill] = {
            "retx drill": players.Drill(players.found(options.retx), options.tcp),
            "packetdrill": players.Packetdrill(
                players.found(options.packetdrill), library, options.tcp
            ),
        }
        with tempfile.TemporaryDirectory(prefix="conformance-") as scratch:
            folder = options.keep or Path(scratch) / "scripts"
            folder.mkdir(exist_ok=True)
            outcomes = play(ways, copies(all_scripts, settings, folder), Path(scratch))
    except (OSError, scripts.MissingError) as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2
    return 0 if report(all_scripts, outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
