"""Support for former names in results: accepted for one more version, with one notice.

Names are replaced in requests by the user, and in stored tables and summaries when they are read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from retx.errors import warn

if TYPE_CHECKING:
    import polars as pl

KINDS = {"frr": "fast_retransmit"}
"""New name of a kind of episode, by the old name."""
COLUMN = re.compile(r"(?P<before>|episodes_|inferred_)frr(?P<after>_count|_\w+)")
"""Columns whose names contain a kind of episode."""
SAID = re.compile(r"said(?P<after>|_cause|_(?:frr|fast_retransmit|rto)_\w+)")
"""Columns, and a key of summaries, with the causes that senders inferred."""
KEYS = {"packets_in_air": "packets_in_transit"}
"""New names of columns and keys of links, by the old names."""
BY_KIND = ("episodes", "inferred")
"""Keys of a summary with an entry for each kind."""
UNTIL = "0.3"
"""First version that does not read the old names any more."""

_noticed = set[str]()


def current(column: str) -> str:
    """Current name of a column; each former name is reported once per process."""
    found = _column(column)
    if found != column:
        _notice(column, found)
    return found


def accept_attribute(cls: type, old: str, new: str) -> None:
    """Lets an attribute of a class be read under its former name."""

    def read(self: object) -> object:
        _notice(old, new)
        return getattr(self, new)

    setattr(cls, old, property(read, doc=f"Former name of `{new}`."))


def _notice(old: str, new: str) -> None:
    if old not in _noticed:
        _noticed.add(old)
        warn(f"{old} is called {new} now; the old name is read until version {UNTIL}")


def current_table(table: pl.DataFrame) -> pl.DataFrame:
    """Stored table with current names: its columns, and kinds of episodes in `kind` and `cause`."""
    import polars as pl

    table = table.rename({name: _column(name) for name in table.columns})
    for name in ("kind", "cause"):
        if name in table.columns and "frr" in table[name].unique().cast(pl.String):
            table = table.with_columns(pl.col(name).cast(pl.String).replace(KINDS))
    return table


def current_summary(summary: dict[str, Any]) -> dict[str, Any]:
    """Stored summary with current names; the user's scenario in it is unchanged."""
    return {key: value if key == "scenario" else _renamed(value) for key, value in summary.items()}


def _renamed(value: object) -> object:
    if isinstance(value, list):
        return [_renamed(each) for each in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, object] = {_column(key): _renamed(each) for key, each in value.items()}
    for key in BY_KIND:
        by_kind = found.get(key)
        if isinstance(by_kind, dict):
            found[key] = {KINDS.get(kind, kind): each for kind, each in by_kind.items()}
    return found


def _column(name: str) -> str:
    for old, new in KEYS.items():
        if re.fullmatch(rf"(.*\W)?{old}", name):
            return name.removesuffix(old) + new
    if said := SAID.fullmatch(name):
        name = f"inferred{said['after']}"
    match = COLUMN.fullmatch(name)
    if not match or (match["after"] != "_count" and not match["before"]):
        return name
    return f"{match['before']}{KINDS['frr']}{match['after']}"
