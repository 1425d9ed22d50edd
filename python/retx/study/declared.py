"""Named values of a study from its `values.toml`, computed when they are asked for.

    [list]
    rates = { "5" = "1e-5", "6" = "1e-6", "7" = "1e-7" }

    [[values]]
    over = { ber = "rates", tcp = "cases of tcps" }
    of   = "throughput"
    is."gain_{tcp}_{ber}" = { ratio = ["tcps/{tcp} @ ber={ber}", "tcps/none @ ber={ber}"] }

`of` is the quantity of all measures of a block that name none; the measures are those of
`retx.study.measures`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retx.study.data import StudyError, located, read_file
from retx.study.items import Lists, Scope, in_name
from retx.study.measures import Measure

FILE = "values.toml"


@dataclass(frozen=True)
class Block:
    """Measures that repeat over the same lists."""

    is_: dict[str, Measure]
    """Measures by the template of their names."""
    over: dict[str, Any] = field(default_factory=dict)
    of: str | list[str] = ""


@dataclass(frozen=True)
class File:
    """The content of the file."""

    list_: dict[str, Any] = field(default_factory=dict)
    values: list[Block] = field(default_factory=list)


@dataclass(frozen=True)
class Declared:
    """Values of a file, by name: each a measure, and the items over which it repeats."""

    path: Path
    lists: Lists
    values: dict[str, tuple[Measure, Scope]]

    def __bool__(self) -> bool:
        return bool(self.values)


def declared(folder: Path, experiments: Mapping[str, Any]) -> Declared:
    """The values of a study; none without the file.

    Raises:
        StudyError: The file is wrong.
    """
    path = folder / FILE
    file = read_file(File, path, optional=True)
    lists = Lists(file.list_, experiments)
    values: dict[str, tuple[Measure, Scope]] = {}
    for number, block in enumerate(file.values):
        with located(f"{path}: values[{number}]"):
            for template, measure in block.is_.items():
                made = measure.by_default(block.of)
                for scope in lists.scopes(block.over):
                    name = in_name(template, scope)
                    if name in values:
                        raise StudyError(f"{name} is there twice")
                    values[name] = (made, scope)
    return Declared(path, lists, values)
