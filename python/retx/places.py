"""Keeps what a command writes apart from what it reads, and from what else it writes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from retx.errors import UsageError
from retx.source import Scenario


def check_places(
    scenario: Scenario,
    files: Iterable[str | os.PathLike[str] | None] = (),
    directory: str | os.PathLike[str] | None = None,
) -> None:
    """Refuses outputs in the place of the scenario's file, of each other, or within the directory.

    Args:
        scenario: As for `retx.run`; only a file is in danger.
        files: Those that will be written; None stands for one that will not.
        directory: One that will be written, or replaced, as a whole.

    Raises:
        UsageError: The message says which.
    """
    read = None
    if isinstance(scenario, os.PathLike) or (isinstance(scenario, str) and "\n" not in scenario):
        read = Path(scenario).resolve()
    whole = None if directory is None else Path(directory).resolve()
    if read and whole in read.parents:
        raise UsageError(f"{directory}: holds the scenario that is read: name another directory")
    seen = {read: "the scenario that is read"}
    for path in (Path(file) for file in files if file is not None):
        place = path.resolve()
        if place in seen:
            raise UsageError(f"{path}: is {seen[place]}, too: write to another file")
        if whole and place.is_relative_to(whole):
            raise UsageError(
                f"{path}: lies in {directory}, which is written as a whole: write it elsewhere"
            )
        seen[place] = "written by another option"
