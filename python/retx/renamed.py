"""Former names in results: accepted for one more version, with one notice.

Columns are renamed where a user names them and where a stored table or summary is read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from retx.errors import warn

if TYPE_CHECKING:
    import polars as pl

KINDS = {"frr": "fast_retransmit"}
"""Kinds of episodes: the old name, the new one."""
COLUMN = re.compile(r"(?P<before>|episodes_|inferred_)frr(?P<after>_count|_\w+)")
"""Columns that were named after a kind."""
SAID = re.compile(r"said(?P<after>|_cause|_(?:frr|fast_retransmit|rto)_\w+)")
"""Columns, and the key of a summary, that hold the causes that a sender inferred."""
KEYS = {"packets_in_air": "packets_in_transit"}
"""Columns and keys of links: the old name, the new one."""
BY_KIND = ("episodes", "inferred")
"""Keys of a summary with an entry for each kind."""
UNTIL = "0.3"
"""First version that does not read the old names any more."""

_noticed = set[str]()


def current(column: str) -> str:
    """Current name of a column; a former name is reported once in a process."""
    found = _column(column)
    if found != column and column not in _noticed:
        _noticed.add(column)
        warn(f"{column} is called {found} now; the old name is read until version {UNTIL}")
    return found


def current_table(table: pl.DataFrame) -> pl.DataFrame:
    """Stored table with current names: its columns, and kinds of episodes in `kind` and `cause`."""
    import polars as pl

    table = table.rename({name: _column(name) for name in table.columns})
    for name in ("kind", "cause"):
        if name in table.columns and "frr" in table[name].unique().cast(pl.String):
            table = table.with_columns(pl.col(name).cast(pl.String).replace(KINDS))
    return table


def current_summary(summary: dict[str, Any]) -> dict[str, Any]:
    """Stored summary with current names; its scenario is the user's and stays unchanged."""
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
