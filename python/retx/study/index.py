"""The page that lists all reports of `retx study all`."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import retx
from retx.files.directory import new_file
from retx.study.page import environment
from retx.study.reproduction import Report
from retx.study.verdicts import Verdict

NAME = "index.html"
MARK = '<meta name="generator" content="retx study">'
"""Text that identifies a page written by retx."""
MARK_WITHIN = 2000


def check_index(folder: Path) -> None:
    """Refuses a directory whose page was not written by a study.

    Raises:
        OSError: Such a page exists.
    """
    path = folder / NAME
    if not path.exists():
        return
    if path.is_file():
        with path.open(encoding="utf-8", errors="replace") as file:
            if MARK in file.read(MARK_WITHIN):
                return
    raise FileExistsError(errno.EEXIST, "is not replaced, because retx did not write it", str(path))


def write_index(folder: Path, reports: Sequence[Report]) -> Path:
    """Writes the page; an earlier one is replaced.

    Args:
        folder: Directory of the page, from which its links to the reports start.
        reports: Reports in the order of the page.

    Raises:
        OSError: The page cannot be written, or a foreign file is in its place.
    """
    check_index(folder)

    def link(report: Report) -> str:
        return Path(os.path.relpath(report.page, folder.resolve())).as_posix()

    page = environment().get_template("index.html")
    text = page.render(
        entries=[(report, link(report)) for report in reports],
        verdicts=Verdict,
        version=retx.__version__,
        mark=MARK,
    )
    path = folder / NAME
    with new_file(path) as file:
        file.write_text(text, encoding="utf-8")
    return path
