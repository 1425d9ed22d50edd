"""The directory of a report: the report as a whole or not at all, and beside it the runs.

    DIR/report.html, summary.json, tables/, scenarios/
    DIR/runs/        what the runs found: a sweep's directory, which outlives reports
    DIR/emulations/  what emulations found, where there are any; it outlives reports, too
    DIR/searches/    what searches have tried, likewise

A report is written into `DIR/.partial`. When all is on the disk, the old page goes first and the
new one comes last: where there is a page, everything beside it belongs to it.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from retx.directory import sync, sync_path
from retx.study.emulated import EMULATIONS
from retx.study.runs import RUNS
from retx.study.searches import SEARCHES

PAGE = "report.html"
PARTIAL = ".partial"
BESIDE = frozenset({RUNS, SEARCHES, EMULATIONS})
OURS = frozenset({PAGE, "summary.json", "tables", "scenarios", PARTIAL}) | BESIDE


@contextmanager
def report_directory(folder: Path) -> Iterator[Path]:
    """A directory to write a report into; it comes to stand in `folder` when the block ends well.

    Raises:
        OSError: It cannot be written.
    """
    partial = folder / PARTIAL
    shutil.rmtree(partial, ignore_errors=True)  # what a kill has left
    partial.mkdir(parents=True)
    try:
        yield partial
        sync(partial)
        _take_place(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _take_place(partial: Path, folder: Path) -> None:
    (folder / PAGE).unlink(missing_ok=True)
    sync_path(folder)
    names = sorted(path.name for path in partial.iterdir() if path.name != PAGE)
    for name in names:
        old = folder / name
        if old.is_dir():
            shutil.rmtree(old)
        (partial / name).rename(old)
    sync_path(folder)
    (partial / PAGE).rename(folder / PAGE)
    sync_path(folder)


def check_ours(folder: Path) -> None:
    """Refuses a place that holds what no study writes.

    Raises:
        OSError: It does.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise FileExistsError(errno.EEXIST, "exists and is no directory", str(folder))
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in OURS)
    if foreign:
        raise FileExistsError(
            errno.EEXIST,
            f"is not replaced: it holds {foreign[0]}, which retx did not write",
            str(folder),
        )
