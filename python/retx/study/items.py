"""Lists over which values, tables and figures of a study repeat, and texts with their items.

A list is written in `values.toml` as `[list]`, or where it is used:

    test = ["2", "4"]
    ber  = { "5" = "1e-5", "6" = "1e-6" }                # key in names = value in places
    kind = { wait = { is = "table_1", label = "bursts that wait" } }
    case = "cases of table_1"                            # cases of an experiment, with their labels
    p    = "values of loss/channel.0.p"                  # of the grid of an experiment
    few  = "ber in loss/channel.0.ber"                   # items of a list that are in a grid

`{kind}` is the key in a name, the value (`is`) in a place, and the label in a text; `{kind.key}`,
`{kind.is}`, `{kind.label}` and further keys of an item are possible everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

from retx.study.data import StudyError, located, look_up, same, unknown

if TYPE_CHECKING:
    from retx.study.library import Experiment

CASES_OF, VALUES_OF, IN = "cases of ", "values of ", " in "


@dataclass(frozen=True)
class Item:
    """One item of a list."""

    key: str
    value: str
    label: str
    more: Mapping[str, str] = field(default_factory=dict)
    """Further texts by their keys."""

    def text(self, name: str) -> str | None:
        """The text with a name: `key`, `is`, `label`, or a further one; None if there is none."""
        own = {"key": self.key, "is": self.value, "label": self.label}
        return (dict(self.more) | own).get(name)


Scope = Mapping[str, Item]
"""An item by the name of each list that repeats."""


@dataclass(frozen=True)
class Lists:
    """Lists by name, and the experiments whose cases are lists."""

    known: Mapping[str, Any]
    experiments: Mapping[str, Experiment]

    def items(self, given: Any, *, within: tuple[str, ...] = ()) -> list[Item]:  # noqa: ANN401
        """Items of a list, given by its name or itself.

        Args:
            given: The list.
            within: Names of the lists that are defined by this one.

        Raises:
            StudyError: There is no such list, or it is empty, or an item is there twice.
        """
        if isinstance(given, str) and given.startswith(CASES_OF):
            with located(repr(given)):
                what = look_up("experiment", given.removeprefix(CASES_OF), self.experiments)
            return [Item(case.name, case.name, case.label) for case in what.cases.values()]
        if isinstance(given, str) and given.startswith(VALUES_OF):
            return self.items(self._grid(given.removeprefix(VALUES_OF)))
        if isinstance(given, str) and IN in given:
            name, _, place = given.partition(IN)
            there = self._grid(place)
            return [it for it in self.items(name) if any(matches(one, it.value) for one in there)]
        if isinstance(given, str):
            if given in within:
                raise StudyError(f"list {given!r}: is defined by itself")
            known = look_up("list", given, self.known)
            return self.items(known, within=(*within, given))
        if not given or not isinstance(given, Mapping | list):
            raise StudyError(f"{given!r}: expected a list or table with items, or its name")
        if isinstance(given, Mapping):
            found = [_item(str(key), value) for key, value in given.items()]
        else:
            found = [_item(_text(value), value) for value in given]
        if len({item.key for item in found}) < len(found):
            raise StudyError(f"{given!r}: an item is there twice")
        return found

    def _grid(self, place: str) -> list[Any]:
        """Values of a key in the grid of an experiment: `EXPERIMENT/END OF KEY`."""
        name, _, end = place.partition("/")
        grid = self.experiments[name].grid if name in self.experiments else {}
        found = [it for key, it in _flat(grid) if f".{key}".endswith(f".{end}")]
        if len(found) != 1 or not isinstance(found[0], list):
            raise StudyError(f"{VALUES_OF}{place}: not one list of a grid")
        values: list[Any] = found[0]
        return values

    def scopes(self, over: Mapping[str, Any], outer: Scope | None = None) -> Iterator[Scope]:
        """All combinations of the items of several lists, in the order of the lists."""
        lists = [
            self.items(in_place(given, outer) if outer and isinstance(given, str) else given)
            for given in over.values()
        ]
        for items in product(*lists):
            yield dict(outer or {}) | dict(zip(over, items, strict=True))


def _flat(grid: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Keys of a grid, which may be written as tables within tables, and their values."""
    for key, value in grid.items():
        if key == "zip":
            yield from (it for part in value for it in _flat(part))
        elif isinstance(value, Mapping) and set(value) == {"quick", "full"}:
            yield f"{before}{key}", value["full"]  # as long as the form is not known
        elif isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _item(key: str, value: Any) -> Item:  # noqa: ANN401
    if isinstance(value, Mapping):
        own = _text(value.get("is", key))
        more = {name: _text(it) for name, it in value.items() if name not in ("is", "label")}
        return Item(key, own, str(value.get("label", own)), more)
    return Item(key, _text(value), _text(value))


def _text(value: Any) -> str:  # noqa: ANN401
    """A value as written in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(getattr(value, "text", value))


def matches(value: object, text: str) -> bool:
    """True if a value of a grid is that of a text."""
    if isinstance(value, bool):
        return text == str(value).lower()
    try:
        return same(value, float(text) if isinstance(value, int | float) else text)
    except ValueError:
        return False


def in_text(template: str, scope: Scope) -> str:
    """A text for readers, with labels."""
    return _filled(template, scope, "label")


def in_place(template: str, scope: Scope) -> str:
    """A text for programs, with values."""
    return _filled(template, scope, "is")


def in_name(template: str, scope: Scope) -> str:
    """The name of a value, with keys, in which only letters, digits and `_` are left."""
    return re.sub(r"\W", "_", _filled(template, scope, "key"))


def _filled(template: str, scope: Scope, use: str) -> str:
    def text(place: re.Match[str]) -> str:
        name, _, part = place[1].partition(".")
        found = scope[name].text(part or use) if name in scope else None
        if found is None:
            raise StudyError(f"{template!r}: {unknown('item', place[1], scope)}")
        return found

    return re.sub(r"\{([^{}]*)\}", text, template)
