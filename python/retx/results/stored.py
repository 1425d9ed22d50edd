"""Results read back from the directories that runs and sweeps have written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from retx.errors import UsageError
from retx.errors.renamed import current_summary, current_table
from retx.files.earlier import CODE, OF_ALL, OF_MANY, OF_ONE, SCENARIO, SUMMARY, TABLES
from retx.files.regular import read_regular
from retx.results.replications import Replications
from retx.results.result import HOW_TO_RECORD, NotRecordedError, Result, rows_of, write_tables
from retx.scenarios.names import SHOWN

if TYPE_CHECKING:
    import polars as pl


PLAN = "sweep.json"
"""File that identifies the directory of a sweep (see `sweeps.place`)."""


def load_runs(path: Path) -> Result | Replications:
    """Result of `run`, `replicate` or `emulate` from a directory.

    Raises:
        OSError: The directory cannot be read.
        UsageError: The directory is not a result of retx, or is damaged.
    """
    summary = _summary(path)
    return (
        StoredResult(path, summary)
        if summary.keys() >= OF_ONE
        else StoredReplications(path, summary)
    )


class StoredResult(Result):
    """Result of a run from a directory; tables that were not stored raise `NotRecordedError`.

    Args:
        directory: Directory of its files.
        summary: Content of `summary.json`.
        draw: Number of the replication, if the directory holds several.
    """

    def __init__(self, directory: Path, summary: dict[str, Any], draw: int | None = None) -> None:
        self._directory = directory
        self._stored = summary
        self._draw = draw

    @property
    def warning(self) -> str | None:
        """Always None, because the warning was shown after the original run."""
        return None

    @cached_property
    def summary(self) -> dict[str, Any]:
        """See `Result`; the wall-clock time (`engine.wall_s`) is not stored."""
        return self._stored

    @cached_property
    def outline(self) -> dict[str, Any]:
        """See `Result`."""
        return self._stored

    def write_summary(self, file: TextIO) -> None:
        """See `Result`."""
        _write_json(self._stored, file)

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """See `Result`."""
        scenario: dict[str, Any] = self._stored["scenario"]
        return scenario

    def scenario_toml(self) -> str:
        """See `Result`."""
        return read_regular(self._directory / SCENARIO)

    def write(self, directory: Path) -> None:
        """See `Result`."""
        _copy_code(self._directory, directory)
        with (directory / SUMMARY).open("w", encoding="utf-8") as file:
            self.write_summary(file)
        write_tables(directory, self.scenario_toml(), self.tables)

    def _summed_up(self, name: str) -> pl.DataFrame:
        from retx.results.frames import frame_of_rows

        if self._has(name):
            return self._read(name)
        return frame_of_rows(rows_of(self._stored, name))

    def _table(self, name: str) -> pl.DataFrame:
        if not self._has(name):
            raise NotRecordedError(_missing(self._directory, name))
        return self._read(name)

    def _read(self, name: str) -> pl.DataFrame:
        table = _parquet(self._directory, name)
        if self._draw is None:
            return table
        import polars as pl

        return table.filter(pl.col("replication") == self._draw).drop("replication")

    def _has(self, name: str) -> bool:
        return _path(self._directory, name).is_file()


class StoredReplications(Replications):
    """Several replications of one scenario from a directory.

    Args:
        directory: Directory of their files.
        summary: Content of `summary.json`.
    """

    def __init__(self, directory: Path, summary: dict[str, Any]) -> None:
        shared = {key: value for key, value in summary.items() if key not in OF_MANY}
        super().__init__(
            [
                StoredResult(directory, shared | run, run.get("replication", number))
                for number, run in enumerate(summary["runs"])
            ]
        )
        self._directory = directory
        self._stored = summary

    @cached_property
    def summary(self) -> dict[str, Any]:
        """See `Replications`."""
        return self._stored

    def write(self, directory: Path) -> None:
        """See `Replications`."""
        _copy_code(self._directory, directory)
        with (directory / SUMMARY).open("w", encoding="utf-8") as file:
            _write_json(self._stored, file)
        text = read_regular(self._directory / SCENARIO)
        write_tables(directory, text, self.tables)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """See `Replications`."""
        there = (name for name in TABLES if _path(self._directory, name).is_file())
        return {name: self._joined(name) for name in there}

    def _joined(self, name: str) -> pl.DataFrame:
        if _path(self._directory, name).is_file():
            return _parquet(self._directory, name)
        if name in HOW_TO_RECORD:
            raise NotRecordedError(_missing(self._directory, name))
        import polars as pl

        return pl.DataFrame(schema={"replication": pl.UInt32})


def _summary(path: Path) -> dict[str, Any]:
    """Content of `summary.json`.

    Raises:
        UsageError: The file is missing, or is not a summary of retx.
    """
    file = path / SUMMARY
    if not file.is_file():
        raise UsageError(
            f"{path}: holds no result: neither {SUMMARY} of a run nor {PLAN} of a sweep is "
            f"there{_hint(path)}"
        )
    try:
        found = json.loads(read_regular(file))
    except ValueError as error:
        raise UsageError(f"{file}: is damaged ({error}): run it again with --force") from None
    found = current_summary(found) if isinstance(found, dict) else {}
    keys = found.keys()
    if "verdicts" in keys:
        raise UsageError(f"{path}: is the report of a study: open its page, report.html")
    if not (keys >= OF_ALL and (keys >= OF_ONE or keys >= OF_MANY)):
        raise UsageError(f"{file}: is not a result of retx: name another directory")
    summary: dict[str, Any] = found
    return summary


def _hint(path: Path) -> str:
    """Hint for a directory that is not a result, with the names of results within it."""
    try:
        inside = sorted(
            entry.name
            for entry in path.iterdir()
            if (entry / SUMMARY).is_file() or (entry / PLAN).is_file()
        )
    except OSError:
        return ""
    if not inside:
        return ""
    more = f" and {len(inside) - SHOWN} more" if len(inside) > SHOWN else ""
    return f"; there are results in {', '.join(str(path / it) for it in inside[:SHOWN])}{more}"


def _path(directory: Path, name: str) -> Path:
    return directory / f"{name}.parquet"


def _missing(directory: Path, name: str) -> str:
    return f"{directory}: holds no {name}: {HOW_TO_RECORD[name]}"


def _parquet(directory: Path, name: str) -> pl.DataFrame:
    import polars as pl

    with _readable(_path(directory, name)) as path:
        return current_table(pl.read_parquet(path))


@contextmanager
def _readable(path: Path) -> Iterator[Path]:
    """Rephrases errors about a file that is damaged, or is not a Parquet file."""
    from polars.exceptions import PolarsError

    try:
        yield path
    except PolarsError as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"{path}: is damaged ({reason}): run it again with --force") from None


def _copy_code(directory: Path, into: Path) -> None:
    """Copies user code, which the scenario names by its path in the directory."""
    if (directory / CODE).is_dir():
        shutil.copytree(directory / CODE, into / CODE)


def _write_json(summary: dict[str, Any], file: TextIO) -> None:
    json.dump(summary, file, indent=2, ensure_ascii=False, allow_nan=False)
    file.write("\n")
