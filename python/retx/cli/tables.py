"""Tables on the terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

MOST_ROWS = 20


def plain(text: str) -> str:
    """Text that rich prints unchanged; control characters are escaped."""
    from rich.markup import escape

    shown = (repr(it)[1:-1] if unicodedata.category(it) == "Cc" else it for it in text)
    return escape("".join(shown))


def table(title: str, *columns: str) -> Table:
    """Table without rows; columns whose names start with `>` contain right-aligned numbers."""
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


class First:
    """List of the first rows of a table; rows beyond `MOST_ROWS` are counted, but not stored."""

    def __init__(self) -> None:
        self._rows: list[Any] = []
        self.total = 0
        """Number of rows, with those that are not stored."""

    def append(self, row: Any) -> None:  # noqa: ANN401
        """Adds a row."""
        self.total += 1
        if self.total <= MOST_ROWS:
            self._rows.append(row)

    def __len__(self) -> int:
        return self.total

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


def shortened(
    made: Table, rows: list[Any] | First, add: Callable[[Any], None], most: int = MOST_ROWS
) -> Table:
    """The table `made` with the first `most` rows, and with the number of further rows below it."""
    for row in islice(rows, most):
        add(row)
    if len(rows) > most:
        made.caption = f"and {len(rows) - most} more: see --json or --out"
        made.caption_justify = "left"
    return made
