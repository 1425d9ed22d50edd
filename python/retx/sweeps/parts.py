"""Parts of a sweep: each is a folder of Parquet files with a list of their runs and checksums.

Parts are written atomically: under a temporary name, flushed to the disk, and renamed. The name of
a part is a hash of its runs, tables and engine, which also reveals damage to the list.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from retx import _native
from retx.errors.renamed import current_table
from retx.files.directory import new_directory
from retx.files.regular import open_regular, read_regular
from retx.files.removal import move_aside, remove_own
from retx.sweeps.derive import DERIVED

if TYPE_CHECKING:
    import polars as pl

    from retx._native import Table

LIST = "part.json"
NOT_AS_WRITTEN = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Errors from reading JSON that is damaged or was not written by retx."""
RUNS_MAX = 10_000_000
"""Limit for the number of runs of a part, far above any real one."""
ASIDE = "aside"
"""Folder for damaged parts and foreign files, next to the folder of the parts."""
NAME_DIGITS = 32
NAME = re.compile(rf"[0-9a-f]{{{NAME_DIGITS}}}")
"""The name of a part."""
LEFT_BEHIND = re.compile(rf"\.{NAME.pattern}\.[a-z0-9_]{{8}}\.(partial|old)")
"""Pattern of the name of a part that was being written or replaced when its process ended."""

Runs = dict[str, list[list[int]]]
"""Ranges of replications by the key of a point, each as its first replication and its length."""


class DamagedPartError(Exception):
    """The content of a part differs from what was written."""


@dataclass(frozen=True)
class Part:
    """Intact part."""

    path: Path
    runs: Runs
    tables: tuple[str, ...]
    bytes: int
    engine: str

    @property
    def count(self) -> int:
        """Number of runs."""
        return sum(count for ranges in self.runs.values() for _, count in ranges)

    def each(self) -> Iterable[tuple[str, int]]:
        """Key and replication of each run."""
        for key, ranges in self.runs.items():
            for first, count in ranges:
                for replication in range(first, first + count):
                    yield key, replication

    def read(self, table: str) -> pl.DataFrame:
        """Reads one of the part's tables."""
        import polars as pl

        found = pl.read_parquet(self.path / f"{table}.parquet")
        return found if table == DERIVED else current_table(found)


def write_part(folder: Path, tables: Mapping[str, Table], engine: str) -> Part:
    """Writes tables as one part.

    Args:
        folder: Directory of the parts.
        tables: Tables by name, including `runs`.
        engine: Engine that has made the runs.

    Raises:
        OSError: The part cannot be written; no partial files are left.
    """
    runs = {key: [list(part) for part in ranges] for key, ranges in tables["runs"].runs()}
    names = sorted(tables)
    path = folder / _name(runs, names, engine)
    if path.exists():
        # The name of a part depends on its runs and their order.
        with suppress(DamagedPartError):
            return check_part(path)
        move_aside(path, folder.parent / ASIDE)
    with new_directory(path) as directory:
        files: dict[str, dict[str, Any]] = {}
        for name in names:
            # The file is written to memory first, so that the checksum belongs to the intended
            # content.
            content = tables[name].parquet()
            (directory / f"{name}.parquet").write_bytes(content)
            checksum = hashlib.sha256(content).hexdigest()
            files[f"{name}.parquet"] = {"bytes": len(content), "sha256": checksum}
        listed = {"engine": engine, "tables": names, "runs": runs, "files": files}
        (directory / LIST).write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    size = sum(file["bytes"] for file in files.values())
    return Part(path, runs, tuple(names), size, engine)


def is_part(path: Path, name: re.Pattern[str] = NAME) -> bool:
    """True for a folder that only retx can have made: not a link, and with the name of a part."""
    return bool(name.fullmatch(path.name)) and path.is_dir() and not path.is_symlink()


def is_part_file(name: PurePosixPath) -> bool:
    """True for a file that a part may contain, by its path below the part."""
    return len(name.parts) == 1 and (name.name == LIST or name.suffix == ".parquet")


def remove_part(part: Part) -> None:
    """Removes the files of an intact part; other files in its folder are moved aside.

    The folder is renamed first. If the process ends before all files are removed, the rest of them
    is thus recognised as left behind (`LEFT_BEHIND`), and not as a damaged part.
    """
    own = {LIST, *(f"{table}.parquet" for table in part.tables)}
    old = part.path.with_name(f".{part.path.name}.{token_hex(4)}.old")
    part.path.rename(old)
    if not remove_own(old, lambda name: name.as_posix() in own):
        move_aside(old, part.path.parents[1] / ASIDE, part.path.name)


def check_part(path: Path) -> Part:
    """Reads a part's list and checks all of its files.

    Raises:
        DamagedPartError: A file differs from what was written; the message says which.
    """
    try:
        content = json.loads(read_regular(path / LIST))
        runs, names, engine = content["runs"], content["tables"], content["engine"]
        files = {name: (file["bytes"], file["sha256"]) for name, file in content["files"].items()}
        name = _name(runs, names, engine)
        count = _count(runs)
        if not all(re.fullmatch(r"[a-z_]+", table) for table in names):
            raise ValueError("names a file outside of the part")
    except (OSError, *NOT_AS_WRITTEN) as error:
        raise DamagedPartError(f"{path / LIST}: {error}") from None
    if name != path.name or sorted(files) != [f"{table}.parquet" for table in names]:
        raise DamagedPartError(f"{path / LIST}: is not what was written")
    for name, (size, checksum) in files.items():
        file = path / name
        try:
            found = file.stat().st_size
            if found != size:
                raise DamagedPartError(f"{file}: {found} bytes instead of {size}")
            if _checksum(file) != checksum:
                raise DamagedPartError(f"{file}: its checksum is not the one that was written")
        except OSError as error:
            raise DamagedPartError(f"{file}: {error.strerror}") from None
    _check_rows(path / "runs.parquet", count)
    size = sum(size for size, _ in files.values())
    return Part(path, runs, tuple(names), size, engine)


def _count(runs: Any) -> int:  # noqa: ANN401
    """Number of runs in a list.

    Raises:
        ValueError: The value is not a list of runs.
    """
    ranges = [range_ for ranges in runs.values() for range_ in ranges]
    for first, count in ranges:
        if not (type(first) is type(count) is int and first >= 0 and count > 0):
            raise ValueError(f"[{first}, {count}] is no range of replications")
    total = sum(int(count) for _, count in ranges)
    if total > RUNS_MAX:
        raise ValueError(f"names {total} runs: a part holds at most {RUNS_MAX}")
    return total


def _check_rows(file: Path, count: int) -> None:
    """Checks a list of runs against the table: a forged list could name 10¹² runs.

    Raises:
        DamagedPartError: The table of runs is unreadable, or has another number of rows.
    """
    try:
        rows = _native.parquet_rows(file)
    except OSError as error:
        raise DamagedPartError(str(error)) from None
    if rows != count:
        raise DamagedPartError(f"{file}: {rows} rows for {count} runs")


def joined(parts: Sequence[Part], name: str) -> pl.DataFrame | None:
    """A table of several parts, with each run once; None if no part has the table."""
    import polars as pl

    frames, seen = [], set[tuple[str, int]]()
    for part in sorted(parts, key=lambda part: -part.count):
        runs = set(part.each())
        if name in part.tables and not runs <= seen:
            frame = part.read(name)
            frames.append(_without(frame, runs & seen) if runs & seen else frame)
        seen |= runs
    return pl.concat(frames) if frames else None


def _without(frame: pl.DataFrame, runs: set[tuple[str, int]]) -> pl.DataFrame:
    """A table without the given runs, which another part also contains."""
    import polars as pl

    schema = {"key": pl.String, "replication": pl.UInt32}
    there = pl.DataFrame(list(runs), schema=schema, orient="row")
    return frame.join(there, on=["key", "replication"], how="anti")


def _name(runs: Runs, tables: list[str], engine: str) -> str:
    text = json.dumps([engine, tables, runs])
    return hashlib.sha256(text.encode()).hexdigest()[:NAME_DIGITS]


def _checksum(file: Path) -> str:
    digest = hashlib.sha256()
    with open_regular(file) as content:
        while chunk := content.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def ranges_of(runs: Iterable[tuple[str, int]]) -> Runs:
    """Ranges of runs, given in order by key and replication."""
    found: Runs = {}
    for key, replication in runs:
        ranges = found.setdefault(key, [])
        if ranges and sum(ranges[-1]) == replication:
            ranges[-1][1] += 1
        else:
            ranges.append([replication, 1])
    return found
