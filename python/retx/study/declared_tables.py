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

A cell is a text, a measure (`retx.study.measures`), `{ value = "NAME" }` for a named value,
`{ published = "SERIES/CASE" }`, or a measure with `single = true` for the range of single runs. A
column with `over` repeats over lists. `asks` is its cell in a first row, which is labelled
`head`. A table of `effects = "EXPERIMENT"` compares its cases with its reference.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retx.study.data import StudyError, build, read_toml

FILE = "tables.toml"


@dataclass(frozen=True)
class DeclaredColumn:
    """A column, or several that repeat over lists."""

    key: str
    label: str
    is_: str | dict[str, Any]
    """Text or table of a cell."""
    unit: str = ""
    digits: int | None = None
    right: bool = False
    over: dict[str, Any] = field(default_factory=dict)
    asks: str = ""


@dataclass(frozen=True)
class DeclaredTable:
    """A table of the file."""

    id: str = ""
    title: str = ""
    rows: dict[str, Any] = field(default_factory=dict)
    columns: list[dict[str, Any]] = field(default_factory=list)
    note: str = ""
    command: str | list[str] = ""
    of: str | list[str] = ""
    head: str = ""
    effects: str = ""

    def __post_init__(self) -> None:
        if not self.effects and not (self.id and self.title and self.rows and self.columns):
            raise StudyError("needs `effects`, or `id`, `title`, `rows` and `columns`")


def declared_tables(folder: Path) -> list[DeclaredTable]:
    """The tables of a study; none without the file.

    Raises:
        StudyError: The file is wrong.
    """
    path = folder / FILE
    content = read_toml(path) if path.is_file() else {}
    unknown = sorted(content.keys() - {"table"})
    if unknown:
        raise StudyError(f"{path}: {unknown[0]}: unknown key (keys here: table)")
    return [
        build(DeclaredTable, table, f"{path}: table[{number}]")
        for number, table in enumerate(content.get("table", []))
    ]
