"""Tables of a study from its `tables.toml`.

    [[table]]
    id      = "delays"
    title   = "From satellite to terrestrial delays"
    rows    = { delay = "delays", ber = "rates" }       # a row for each combination
    of      = "throughput"
    command = "delays/fast @ delay={delay}, ber={ber}"  # repeats a row; several as a list
    columns = [
        { key = "rtt", label = "round trip", unit = "ms", is = "{delay}" },
        { key = "none", label = "without", unit = "kbit/s", is = { mean = "delays/none @ …" } },
    ]

A cell is a text or one of these tables:

    a measure (`retx.study.measures`), such as { value = "NAME" } for a named value
    { published = "SERIES/CASE" }, with printed = true for its digits as in the paper
    { setting = "EXPERIMENT/CASE", key = "KEY" }
    { python = "FILE.FUNCTION", with = ["TEXT"] }, a function that returns a cell

A place that is compared with itself has an empty cell. A column with `over` repeats over lists.
With `words = ["no", "yes"]` it has these texts in place of 0 and 1. `asks` is its cell in a first
row, which is labelled `head`. A table of `effects = "EXPERIMENT"` compares its cases with its
reference. Instead of `rows`, a table may have `python = "FILE.FUNCTION"`, a function that yields
each row, a dictionary of cells by the keys of the columns, with the command that repeats it. A
table with `over` is several tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retx.study.data import StudyError, located, read_file
from retx.study.items import CASES_OF, Lists, Scope, in_name
from retx.study.measures import Measure

FILE = "tables.toml"


@dataclass(frozen=True)
class Effects:
    """A table that compares the cases of an experiment with its reference."""

    effects: str


@dataclass(frozen=True)
class PublishedCell:
    """A cell with a number of a published series; empty if the series lacks the case."""

    published: str
    printed: bool = False
    """True for the digits of the paper."""


@dataclass(frozen=True)
class SettingCell:
    """A cell with a setting of a case at the set-up of the report."""

    setting: str
    """The case: `EXPERIMENT/CASE`."""
    key: str


@dataclass(frozen=True)
class PythonCell:
    """A cell that a function of the study returns."""

    python: str
    with_: list[str] = field(default_factory=list)


AnyCell = str | PublishedCell | SettingCell | PythonCell | Measure


@dataclass(frozen=True)
class DeclaredColumn:
    """A column, or several that repeat over lists."""

    key: str
    label: str
    is_: AnyCell | None = None
    """None in a table of Python."""
    unit: str = ""
    digits: int | None = None
    right: bool = False
    over: dict[str, Any] = field(default_factory=dict)
    asks: str = ""
    words: list[str] = field(default_factory=list)
    """Texts in place of the numbers 0, 1, …"""


@dataclass(frozen=True)
class DeclaredTable:
    """A table of the file."""

    id: str
    title: str
    columns: list[DeclaredColumn]
    shows: list[str] = field(default_factory=list)
    """Figures and tables of the paper that it shows."""
    rows: dict[str, Any] = field(default_factory=dict)
    python: str = ""
    """Function that yields the rows."""
    with_: list[str] = field(default_factory=list)
    """Texts for this function."""
    over: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    emulations: str = ""
    """Experiment whose emulations are described at the end of the note."""
    command: str | list[str] = ""
    of: str | list[str] = ""
    head: str = ""
    sort: str = ""
    """Key of a column by which the rows are sorted, the largest first."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w{}]+", self.id):
            raise StudyError(f"id: {self.id!r}: only letters, digits and _ are possible")
        if not (self.columns and (self.rows or self.python)):
            raise StudyError("`columns`, and `rows` or `python`, may not be empty")
        lacking = [column.key for column in self.columns if column.is_ is None]
        if lacking and not self.python:
            raise StudyError(f"columns: {lacking[0]!r} lacks `is`")

    def ids(self, lists: Lists) -> list[str]:
        """Ids of the tables that repeat over lists."""
        return [in_name(self.id, scope) for scope in lists.scopes(self.over)]

    def scoped(self, lists: Lists, outer: Scope) -> Iterator[tuple[DeclaredColumn, Scope]]:
        """The columns of one of the tables, each with the items over which it repeats."""
        for column in self.columns:
            for scope in lists.scopes(column.over, outer):
                yield column, scope


@dataclass(frozen=True)
class File:
    """The content of the file."""

    table: list[Effects | DeclaredTable] = field(default_factory=list)


def declared_tables(folder: Path, lists: Lists) -> list[DeclaredTable]:
    """The tables of a study; none without the file.

    Raises:
        StudyError: The file is wrong.
    """
    path, found = folder / FILE, list[DeclaredTable]()
    for number, content in enumerate(read_file(File, path, optional=True).table):
        with located(f"{path}: table[{number}]"):
            table = _effects(content.effects, lists) if isinstance(content, Effects) else content
            _check_lists(table, lists)
        found.append(table)
    return found


def _effects(name: str, lists: Lists) -> DeclaredTable:
    """A table that compares the cases of an experiment with its reference."""
    what = lists.experiments.get(name)
    if what is None or what.reference is None:
        raise StudyError(f"effects: no experiment {name!r} with a `reference`")
    unit, own = "s" if what.quantity.endswith("_s") else "", f"{name}/{{case}}"
    pair = [own, f"{name}/{what.reference}"]
    columns = [
        DeclaredColumn("case", "case", "{case}"),
        DeclaredColumn("measured", "measured", Measure(mean=own), unit),
        DeclaredColumn("difference", "difference", Measure(difference=pair), unit),
        DeclaredColumn("ratio", "times", Measure(ratio=pair)),
    ]
    label = what.cases[what.reference].label
    note = f"Difference and ratio to “{label}”, run by run with the same draws."
    rows = {"case": f"{CASES_OF}{name}"}
    return DeclaredTable(name, what.title, columns, rows=rows, note=note, command=own)


def _check_lists(table: DeclaredTable, lists: Lists) -> None:
    for scope in lists.scopes(table.over):
        keys = [in_name(column.key, own) for column, own in table.scoped(lists, scope)]
        twice = [key for n, key in enumerate(keys) if key in keys[:n]]
        if twice:
            raise StudyError(f"columns: a key {twice[0]!r} is there twice")
        next(lists.scopes(table.rows, scope))
