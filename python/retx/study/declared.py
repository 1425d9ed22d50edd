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

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retx.study.data import StudyError, located, look_up, read_file
from retx.study.items import Lists, Scope, in_name
from retx.study.measures import Found, Measure, Measuring

if TYPE_CHECKING:
    from retx.study.measured import Measured

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

    def computed(self, measured: Measured, names: Iterable[str] | None = None) -> dict[str, Found]:
        """Values by name: those that are named, or all.

        Raises:
            StudyError: A place, a quantity or a value does not exist.
        """
        found: dict[str, Found] = {}
        begun: set[str] = set()

        def named(name: str) -> Found:
            if name in found:
                return found[name]
            own = look_up("value", name, self.values, listed=False)
            if name in begun:
                raise StudyError(f"{name!r} is computed from itself")
            begun.add(name)
            try:
                found[name] = measuring.found(*own)
            except StudyError as error:
                if str(error).startswith(str(self.path)):
                    raise
                raise StudyError(f"{self.path}: {name}: {error}") from None
            return found[name]

        measuring = Measuring(measured, self.lists, named)
        return {name: named(name) for name in (self.values if names is None else names)}


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
        where = f"{path}: values[{number}]"
        for name, made in _expanded(block, lists, where):
            if name in values:
                raise StudyError(f"{where}: {name} is there twice")
            values[name] = made
    return Declared(path, lists, values)


def _expanded(
    block: Block, lists: Lists, where: str
) -> Iterator[tuple[str, tuple[Measure, Scope]]]:
    for template, measure in block.is_.items():
        with located(where):
            made = measure.by_default(block.of)
            scopes = list(lists.scopes(block.over))
            names = [in_name(template, scope) for scope in scopes]
        for name, scope in zip(names, scopes, strict=True):
            yield name, (made, scope)
