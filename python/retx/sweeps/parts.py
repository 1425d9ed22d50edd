"""Parts of a sweep: a folder of Parquet files with a list of their runs and checksums.

A part is there as a whole or not at all: it is written under another name, put on the disk, and
renamed. Its name is a hash of its runs, tables and engine, so that damage to the list shows, too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retx.directory import new_directory

if TYPE_CHECKING:
    import polars as pl

LIST = "part.json"
NAME_DIGITS = 32

Runs = dict[str, list[list[int]]]
"""By the key of a point: ranges of replications, each as its first one and their number."""


class DamagedPartError(Exception):
    """A part is not what was written."""


@dataclass(frozen=True)
class Part:
    """A part that is sound."""

    path: Path
    runs: Runs
    tables: tuple[str, ...]
    bytes: int
    engine: str

    @property
    def count(self) -> int:
        """How many runs."""
        return sum(count for ranges in self.runs.values() for _, count in ranges)

    def each(self) -> Iterable[tuple[str, int]]:
        """Key and replication of every run."""
        for key, ranges in self.runs.items():
            for first, count in ranges:
                for replication in range(first, first + count):
                    yield key, replication

    def read(self, table: str) -> pl.DataFrame:
        """One of its tables."""
        import polars as pl

        return pl.read_parquet(self.path / f"{table}.parquet")


def write_part(folder: Path, tables: Mapping[str, pl.DataFrame], engine: str) -> Part:
    """Writes the tables as one part.

    Args:
        folder: Where parts are.
        tables: By name, `runs` among them; each begins with `key` and `replication`.
        engine: What has made the runs.

    Raises:
        OSError: It cannot be written; nothing is left of it then.
    """
    runs = _ranges(tables["runs"])
    names = sorted(tables)
    path = folder / _name(runs, names, engine)
    with new_directory(path, replace=True, ours=lambda _: True) as directory:
        files: dict[str, dict[str, Any]] = {}
        for name in names:
            # By way of memory: what the disk says is an OSError then, and the checksum is of what
            # was to be written.
            buffer = BytesIO()
            tables[name].write_parquet(buffer, compression="zstd", statistics=False)
            content = buffer.getbuffer()
            (directory / f"{name}.parquet").write_bytes(content)
            checksum = hashlib.sha256(content).hexdigest()
            files[f"{name}.parquet"] = {"bytes": len(content), "sha256": checksum}
        listed = {"engine": engine, "tables": names, "runs": runs, "files": files}
        (directory / LIST).write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    size = sum(file["bytes"] for file in files.values())
    return Part(path, runs, tuple(names), size, engine)


def check_part(path: Path) -> Part:
    """Reads a part's list and checks all of its files.

    Raises:
        DamagedPartError: Something is not as it was written; the message says what.
    """
    try:
        content = json.loads((path / LIST).read_text(encoding="utf-8"))
        runs, names, engine = content["runs"], content["tables"], content["engine"]
        files = {name: (file["bytes"], file["sha256"]) for name, file in content["files"].items()}
        name = _name(runs, names, engine)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
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
    size = sum(size for size, _ in files.values())
    return Part(path, runs, tuple(names), size, engine)


def _name(runs: Runs, tables: list[str], engine: str) -> str:
    text = json.dumps([engine, tables, runs])
    return hashlib.sha256(text.encode()).hexdigest()[:NAME_DIGITS]


def _checksum(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while chunk := content.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _ranges(runs: pl.DataFrame) -> Runs:
    """The runs of a table, which is in order."""
    found: Runs = {}
    for key, replication in runs.select("key", "replication").iter_rows():
        ranges = found.setdefault(key, [])
        if ranges and sum(ranges[-1]) == replication:
            ranges[-1][1] += 1
        else:
            ranges.append([replication, 1])
    return found
