"""Quantities that a user function derives from each run when it is complete.

The function receives the tables of one run, including those of single packets, and returns numbers
by name. Only the numbers are stored, so even a sweep with a million segments per run stays small.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from retx import _native
from retx.errors import UsageError
from retx.files.python_source import parse
from retx.results.result import NotRecordedError

if TYPE_CHECKING:
    import polars as pl

DERIVED = "derived"
"""The table of derived quantities: `point replication quantity value`."""
DIGEST_DIGITS = 32
BY = ("point", "replication")
"""Columns that identify a run."""


class RunTables:
    """Tables of one run as in `Result`, without the columns `point` and `replication`.

    Tables of single events are available if `derive_from` names them.
    """

    def __init__(
        self, tables: Mapping[str, pl.DataFrame], replication: int, scenario: _native.Scenario
    ) -> None:
        self._tables = tables
        self._scenario = scenario
        self.replication = replication

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """Scenario with every value written out."""
        scenario: dict[str, Any] = json.loads(self._scenario.to_json())
        return scenario

    @property
    def flows(self) -> pl.DataFrame:
        """One row per flow."""
        return self._summary("flows")

    @property
    def links(self) -> pl.DataFrame:
        """One row per link and direction."""
        return self._summary("links")

    @property
    def wlans(self) -> pl.DataFrame:
        """One row per wlan."""
        return self._summary("wlans")

    @property
    def stations(self) -> pl.DataFrame:
        """One row per station of a wlan."""
        return self._summary("stations")

    @property
    def relays(self) -> pl.DataFrame:
        """One row per relay."""
        return self._summary("relays")

    @property
    def samples(self) -> pl.DataFrame:
        """Samples of the run; see `Result.samples`."""
        return self._events("samples")

    @property
    def link_samples(self) -> pl.DataFrame:
        """Samples of the links; see `Result.link_samples`."""
        return self._events("link_samples")

    @property
    def segments(self) -> pl.DataFrame:
        """Segments of the run; see `Result.segments`."""
        return self._events("segments")

    @property
    def acks(self) -> pl.DataFrame:
        """ACKs of the run; see `Result.acks`."""
        return self._events("acks")

    @property
    def drops(self) -> pl.DataFrame:
        """Drops of the run; see `Result.drops`."""
        return self._events("drops")

    @property
    def episodes(self) -> pl.DataFrame:
        """Episodes of the run; see `Result.episodes`."""
        return self._events("episodes")

    @property
    def exchanges(self) -> pl.DataFrame:
        """Exchanges of the run; see `Result.exchanges`."""
        return self._events("exchanges")

    @property
    def limits(self) -> pl.DataFrame:
        """Limits of the flows over time; see `Result.limits`."""
        return self._events("limits")

    def _summary(self, name: str) -> pl.DataFrame:
        import polars as pl

        return self._tables.get(name, pl.DataFrame())

    def _events(self, name: str) -> pl.DataFrame:
        if name not in self._tables:
            raise NotRecordedError(f"{name} were not requested: sweep with derive_from=[{name!r}]")
        return self._tables[name]


Function = Callable[[RunTables], Mapping[str, float | None]]
"""Numbers by name, from the tables of one run."""


@dataclass(frozen=True)
class Derive:
    """A function that derives quantities from each run, and the tables that it reads."""

    function: Function
    reads: tuple[str, ...] = ()
    """Tables of single events that the function reads."""

    @cached_property
    def digest(self) -> str:
        """Hash of the function's code: its file, and the files next to it that it imports."""
        return hashlib.sha256(_code(self.function)).hexdigest()[:DIGEST_DIGITS]

    def applied(
        self,
        batch: _native.Batch,
        keep: Sequence[str],
        scenarios: Sequence[_native.Scenario],
        place: Callable[[int, int], str],
    ) -> _native.Batch:
        """Batch with the table of derived quantities, without tables that are not kept.

        Args:
            batch: Results of runs.
            keep: Names of the tables of single events to keep.
            scenarios: Scenarios by point.
            place: Function that names a point and replication.

        Raises:
            UserCodeError: The function failed, or returned something else.
        """
        values: list[tuple[int, int, str, float]] = []
        for point, run in _runs(batch, scenarios):
            try:
                found = self._called(run)
            except Exception as error:
                what = f"{type(error).__name__}: {error}".partition("\n")[0]
                raise _native.UserCodeError(
                    f"{self.function.__name__}: {place(point, run.replication)}: {what}"
                ) from error
            values += [(point, run.replication, name, value) for name, value in found]
        return batch.derived([*{*self.reads} - {*keep}], values)

    def _called(self, run: RunTables) -> list[tuple[str, float]]:
        found = self.function(run)
        if not isinstance(found, Mapping):
            raise TypeError(f"it returned {found!r}: it must return a dict of numbers by name")
        return [(str(name), _number(name, value)) for name, value in found.items()]


def _number(name: object, value: object) -> float:
    if value is None:
        return float("nan")
    if isinstance(value, int | float) or hasattr(value, "__float__"):
        return float(value)
    raise TypeError(f"{name!r} is {value!r}: it must be a number or None")


def _runs(
    batch: _native.Batch, scenarios: Sequence[_native.Scenario]
) -> Sequence[tuple[int, RunTables]]:
    """Tables of each run of a batch, with its point."""
    from retx.results.frames import frame

    native = {name: batch.table(name) for name in batch.names()}
    whole = {name: frame(columns) for name, columns in native.items() if columns}
    parts = {name: _by_run(table) for name, table in whole.items()}
    empty = {name: table.drop(*BY).clear() for name, table in whole.items()}
    found = []
    for point, replication in whole["runs"].select(*BY).iter_rows():
        tables = {name: parts[name].get((point, replication), empty[name]) for name in parts}
        found.append((point, RunTables(tables, replication, scenarios[point])))
    return found


def _by_run(table: pl.DataFrame) -> dict[tuple[int, int], pl.DataFrame]:
    """Rows of each run. Runs are written one after the other, so each is a slice of the table."""
    import numpy as np

    if table.is_empty():
        return {}
    point, replication = (table[name].to_numpy() for name in BY)
    new = (point[1:] != point[:-1]) | (replication[1:] != replication[:-1])
    starts = [0, *(np.flatnonzero(new) + 1).tolist()]
    rest = table.drop(*BY)
    found = {
        (int(point[start]), int(replication[start])): rest.slice(start, end - start)
        for start, end in zip(starts, [*starts[1:], table.height], strict=True)
    }
    if len(found) != len(starts):
        raise RuntimeError("the rows of a run are not next to each other")
    return found


def _code(function: Callable[..., Any]) -> bytes:
    """Code of a function: its text, or the bytecode if the text is not available.

    Raises:
        UsageError: The function is not written in Python.
    """
    try:
        file = inspect.getsourcefile(function)
        if file and Path(file).is_file() and function.__module__ != "__main__":
            return b"\0".join(path.read_bytes() for path in _files(Path(file)))
        return inspect.getsource(function).encode()
    except (OSError, TypeError):
        # The text of a function that was typed at a prompt is not available.
        code = getattr(function, "__code__", None)
    if code is None:
        raise UsageError(f"derive: {function!r} is not a function written in Python")
    return repr(_compiled(code)).encode()


def _compiled(code: CodeType) -> tuple[object, ...]:
    """Bytecode of a function, without its position in the file."""
    constants = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            constants.append(_compiled(constant))
        elif isinstance(constant, frozenset):
            constants.append(tuple(sorted(map(repr, constant))))  # it has no order of its own
        else:
            constants.append(constant)
    return (code.co_code, code.co_names, *constants)


def _files(first: Path) -> list[Path]:
    """A file of code, and the files in its folder that it imports, recursively."""
    found, todo = [first], [first]
    while todo:
        path = todo.pop()
        for node in ast.walk(parse(path.read_bytes())):
            if not isinstance(node, ast.ImportFrom) or node.level != 1:
                continue
            # Two forms: `from .windows import grown`, and `from . import windows`.
            names = [node.module] if node.module else [alias.name for alias in node.names]
            for name in names:
                beside = path.parent / f"{name.partition('.')[0]}.py"
                if beside.is_file() and beside not in found:
                    found.append(beside)
                    todo.append(beside)
    return [first, *sorted(found[1:])]
