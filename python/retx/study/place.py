"""Directory of a report and its runs. A report is written completely or not at all.

    DIR/report.html, summary.json, tables/, scenarios/
    DIR/runs/        results of the runs: a sweep's directory, kept when a report is replaced
    DIR/emulations/  results of emulations, if any, likewise
    DIR/searches/    trials of searches, likewise
    DIR/calibration/ trials of joint calibrations, likewise

A report is written into `DIR/.partial`. When all files are on the disk, the old page is removed
first and the new one is moved last: a page therefore always matches the other files. Foreign files
are never removed: `check_ours` refuses a directory that contains one.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from retx.directory import sync, sync_path
from retx.removal import IsOwn, foreign_in, remove_own
from retx.study.emulated import EMULATIONS
from retx.study.openings import TRIALS
from retx.study.runs import RUNS
from retx.study.searches import SEARCHES

PAGE = "report.html"
PARTIAL = ".partial"
BESIDE = frozenset({RUNS, SEARCHES, EMULATIONS, TRIALS})
SUMMARY, TABLES, SCENARIOS = "summary.json", "tables", "scenarios"
OURS = frozenset({PAGE, SUMMARY, TABLES, SCENARIOS, PARTIAL}) | BESIDE

KINDS = {(TABLES, ".csv"), (SCENARIOS, ".toml")}


def is_report_file(name: PurePosixPath) -> bool:
    """True if a report may write a file at this path, relative to its directory."""
    folder, kind = str(name.parent), (str(name.parent), name.suffix)
    return name.name in {PAGE, SUMMARY} if folder == "." else kind in KINDS


@contextmanager
def report_directory(folder: Path) -> Iterator[Path]:
    """Directory to write a report into; moved to `folder` if the block ends without an error.

    Raises:
        OSError: The report cannot be written.
    """
    partial = folder / PARTIAL
    remove_own(partial, is_report_file)  # left by a killed process
    partial.mkdir(parents=True)
    try:
        yield partial
        sync(partial)
        _take_place(partial, folder)
    finally:
        remove_own(partial, is_report_file)


def _take_place(partial: Path, folder: Path) -> None:
    (folder / PAGE).unlink(missing_ok=True)
    sync_path(folder)
    names = sorted(path.name for path in partial.iterdir() if path.name != PAGE)
    for name in names:
        remove_own(folder / name, _is_own_below(name))
        (partial / name).rename(folder / name)
    sync_path(folder)
    (partial / PAGE).rename(folder / PAGE)
    sync_path(folder)


def check_ours(folder: Path) -> None:
    """Refuses a directory with files that are not written by studies.

    Raises:
        OSError: Such a file is there.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise FileExistsError(errno.EEXIST, "exists and is no directory", str(folder))
    foreign = _foreign(folder)
    if foreign:
        raise FileExistsError(
            errno.EEXIST,
            f"is not replaced: it holds {foreign}, which retx did not write",
            str(folder),
        )


def _foreign(folder: Path) -> str | None:
    """The first path in a report's directory that retx did not write."""
    for entry in sorted(folder.iterdir()):
        if entry.name not in OURS:
            return entry.name
        if entry.is_dir() and entry.name not in BESIDE:
            top = "" if entry.name == PARTIAL else entry.name
            below = foreign_in(entry, _is_own_below(top), empty={TABLES, SCENARIOS})
            if below:
                return f"{entry.name}/{below}"
    return None


def _is_own_below(top: str) -> IsOwn:
    """Function that recognises the files of a report by their paths below one of its folders."""
    return lambda name: is_report_file(PurePosixPath(top, name))
