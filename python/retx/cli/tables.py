"""Tables on the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

MOST_ROWS = 20


def plain(text: str) -> str:
    """Text that rich takes as it is."""
    from rich.markup import escape

    return escape(text)


def table(title: str, *columns: str) -> Table:
    """A table whose first columns, up to one that starts with `>`, hold texts."""
    made = Table(
        title=title,
        title_justify="left",
        title_style="",
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for column in columns:
        right = column.startswith(">")
        made.add_column(column.lstrip(">"), justify="right" if right else "left", overflow="fold")
    return made


def shortened(made: Table, rows: list[Any], add: Callable[[Any], None]) -> Table:
    """The first rows, and how many more there are."""
    for row in rows[:MOST_ROWS]:
        add(row)
    if len(rows) > MOST_ROWS:
        made.caption = f"and {len(rows) - MOST_ROWS} more: see --json or --out"
        made.caption_justify = "left"
    return made
