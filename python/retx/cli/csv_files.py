"""`--csv FILE|DIR`: tables for spreadsheets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from retx.cli.parameters import Option
from retx.errors import UsageError
from retx.files.directory import new_directory, new_file, writing

if TYPE_CHECKING:
    import polars as pl

SUFFIX = ".csv"
FILES = (
    ".dat", ".feather", ".gz", ".html", ".json", ".ods", ".parquet", ".tex", ".toml", ".tsv",
    ".txt", ".xls", ".xlsx", ".zip",
)  # fmt: skip
"""Endings of files, which no directory has; `v1.2` is a directory."""

Csv = Annotated[
    Path | None,
    Option(
        "--csv",
        metavar="FILE|DIR",
        help="Write the main table into a file that ends in .csv, or every table into a new "
        "directory.",
    ),
]


def is_file(place: Path) -> bool:
    """True if the path is for a single table, false if it is a directory for all tables."""
    return place.suffix.lower() == SUFFIX


def check_csv(place: Path | None) -> None:
    """Refuses another kind of file, and a directory that is not empty; called before any run.

    Raises:
        UsageError: The path is none of the two; the message names it.
    """
    if place is None or is_file(place):
        return
    is_other = str(place) == "-" or place.suffix.lower() in FILES or place.exists()
    if is_other and not place.is_dir():
        raise UsageError(f"--csv {place}: the name of the file must end in .csv")
    if place.exists() and any(place.iterdir()):
        raise UsageError(f"--csv {place}: exists and is not empty: name another directory")


def write_csv(
    place: Path, main: Callable[[], pl.DataFrame], all_of: Callable[[], Mapping[str, pl.DataFrame]]
) -> None:
    """Writes the main table into a file, or every table into a directory.

    Raises:
        OSError: A file cannot be written.
    """
    if is_file(place):
        with new_file(place) as path:
            main().write_csv(path)
        return
    with new_directory(place) as directory:
        for name, table in all_of().items():
            path = directory / f"{name}{SUFFIX}"
            with writing(path):
                table.write_csv(path)
