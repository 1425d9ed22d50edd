"""Directory of a report and its runs. A report is written completely or not at all.

    DIR/report.html, summary.json, tables/, scenarios/
    DIR/runs/        results of the runs: a sweep's directory, kept when a report is replaced
    DIR/emulations/  results of emulations, if any, likewise
    DIR/searches/    trials of searches, likewise
    DIR/calibration/ trials of joint calibrations, likewise

A report is written into `DIR/.partial`. When all files are on the disk, that folder is renamed to
`DIR/.new`, and its files are moved from there: the old page is removed first and the new one is
moved last, so a page always matches the other files. If the process is killed meanwhile, the next
process moves the rest. `summary.json` lists the files of a report. Other files are never removed:
`check_ours` refuses a directory that contains one.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from retx.files.directory import sync, sync_path
from retx.files.regular import read_regular
from retx.files.removal import IsOwn, foreign_in, remove_own
from retx.study.emulated import EMULATIONS
from retx.study.openings import TRIALS
from retx.study.runs import RUNS
from retx.study.searches import SEARCHES

PAGE = "report.html"
PARTIAL, COMPLETE = ".partial", ".new"
BESIDE = frozenset({RUNS, SEARCHES, EMULATIONS, TRIALS})
SUMMARY, TABLES, SCENARIOS = "summary.json", "tables", "scenarios"
OURS = frozenset({PAGE, SUMMARY, TABLES, SCENARIOS, PARTIAL, COMPLETE}) | BESIDE
OF_SUMMARY = {"study", "form", "verdicts"}
"""Keys of the summary of a report."""

EMPTY = frozenset({TABLES, SCENARIOS})
"""Folders of a report that may be empty."""
KINDS = {(TABLES, ".csv"), (SCENARIOS, ".toml")}


def is_report_file(name: PurePosixPath) -> bool:
    """True if a report may write a file at this path, relative to its directory."""
    folder, kind = str(name.parent), (str(name.parent), name.suffix)
    return name.name in {PAGE, SUMMARY} if folder == "." else kind in KINDS


@contextmanager
def report_directory(folder: Path) -> Iterator[Path]:
    """Directory for a `with` block to write a report into; moved to `folder` if the block succeeds.

    Raises:
        OSError: The report cannot be written.
    """
    partial = folder / PARTIAL
    _take_place(folder)  # left by a process that was killed while it moved files
    _remove_partial(partial)  # left by one that was killed while it wrote them
    partial.mkdir(parents=True)
    try:
        yield partial
        sync(partial)
        partial.rename(folder / COMPLETE)
        _take_place(folder)
    finally:
        _remove_partial(partial)


def _remove_partial(partial: Path) -> None:
    """Removes an incomplete report, whose folders may still be empty."""
    remove_own(partial, is_report_file, EMPTY)


def _take_place(folder: Path) -> None:
    """Moves the files of a complete report in `.new`, if there is one, to their final paths."""
    complete = folder / COMPLETE
    if not complete.is_dir():
        return
    is_own = _of_reports(folder)
    if (complete / PAGE).exists():
        (folder / PAGE).unlink(missing_ok=True)
        sync_path(folder)
    for name in (TABLES, SCENARIOS):
        if (complete / name).is_dir():
            remove_own(folder / name, _below(name, is_own))
            (complete / name).rename(folder / name)
    # The summary follows the files that it lists, and the page follows the summary.
    for name in (SUMMARY, PAGE):
        sync_path(folder)
        if (complete / name).exists():
            (complete / name).rename(folder / name)
    sync_path(folder)
    complete.rmdir()


def check_ours(folder: Path) -> None:
    """Refuses a directory with files that are not written by studies.

    Raises:
        OSError: Such a file is there.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise FileExistsError(errno.EEXIST, "exists and is not a directory", str(folder))
    foreign = _foreign(folder)
    if foreign:
        raise FileExistsError(
            errno.EEXIST,
            f"is not replaced: it holds {foreign}, which retx did not write",
            str(folder),
        )


def _foreign(folder: Path) -> str | None:
    """The first path in a report's directory that retx did not write."""
    is_own = _of_reports(folder)
    for entry in sorted(folder.iterdir()):
        if entry.name in BESIDE:
            continue
        if entry.name not in OURS or entry.is_symlink():
            return entry.name
        if entry.is_dir():
            is_new = entry.name in {PARTIAL, COMPLETE}
            below = foreign_in(
                entry,
                is_report_file if is_new else _below(entry.name, is_own),
                EMPTY,
            )
            if below:
                return f"{entry.name}/{below}"
        elif not is_own(PurePosixPath(entry.name)):
            return entry.name
    return None


def _of_reports(folder: Path) -> IsOwn:
    """Function that recognises the files of the reports in a directory.

    Without a summary of a study there is no report, and any `report.html` is the user's. Summaries
    of earlier versions list no files: theirs are recognised by their folder and ending.
    """
    own: set[str] = set()
    all_kinds = False
    for summary in (folder / SUMMARY, folder / COMPLETE / SUMMARY):
        with suppress(OSError, ValueError, TypeError):
            content = json.loads(read_regular(summary))
            if isinstance(content, dict) and content.keys() >= OF_SUMMARY:
                own |= {PAGE, SUMMARY, *map(str, content.get("files", ()))}
                all_kinds |= "files" not in content
    return lambda name: is_report_file(name) and (all_kinds or name.as_posix() in own)


def _below(top: str, is_own: IsOwn) -> IsOwn:
    """The function `is_own` for paths relative to `top`, one of the folders of a report."""
    return lambda name: is_own(PurePosixPath(top, name))
