"""Tables of a complete sweep for other programs: `DIR/tables`, one Parquet file each.

`points` contains the grid: `point`, a column for each key, and `key`, which identifies points in
the files of `DIR/parts`. `runs`, `flows`, `links` and the other summaries contain the columns of
the grid. Tables of single events, such as `segments`, are large: they remain in the parts, and can
be joined by `key`. A sweep that adds or repeats runs there, or changes the plan, first removes the
tables. The command line writes them when the sweep is complete.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from retx.files.directory import new_file
from retx.files.removal import remove_own
from retx.sweeps.place import TABULATED

if TYPE_CHECKING:
    from retx.sweeps.result import Sweep

NAMES = ("points", "runs", "flows", "links", "wlans", "stations", "relays", "derived")
FILE = re.compile(
    rf"(?:({'|'.join(NAMES)})|\.({'|'.join(NAMES)})\.[a-z0-9_]{{8}}\.partial)\.parquet"
)
"""Pattern of the file of a table, including one that was being written when its process ended."""


def is_table_file(name: PurePosixPath) -> bool:
    """True if retx writes a file of this name to the folder of a sweep's tables."""
    return bool(FILE.fullmatch(str(name)))


def clear_tables(directory: Path) -> None:
    """Removes the tables of an earlier state of a sweep."""
    remove_own(directory / TABULATED, is_table_file)


def write_tables(found: Sweep, directory: Path) -> None:
    """Writes the tables of a complete sweep into its directory.

    Raises:
        OSError: The tables cannot be written.
    """
    folder = directory / TABULATED
    folder.mkdir(exist_ok=True)
    tables = {"points": found.points} | found.tables
    for name, table in tables.items():
        if name in NAMES:
            with new_file(folder / f"{name}.parquet") as path:
                table.write_parquet(path, compression="zstd")
