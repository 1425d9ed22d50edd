"""Console for output that people read."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from retx.clean_console import CleanConsole
from retx.terminal import WIDTH

BETWEEN = 2
"""Number of blank characters between two columns of a table."""


class _Screen(CleanConsole):
    """Console that prints a table row by row if its columns are too narrow for their words."""

    def print(self, *objects: Any, **options: Any) -> None:  # noqa: ANN401
        """Prints like `Console.print`, with tables fitted to the width."""
        fitting = (_fitted(it, self.width) if isinstance(it, Table) else it for it in objects)
        super().print(*fitting, **options)


def console() -> CleanConsole:
    """Console for the standard output."""
    made = _Screen()
    return made if made.is_terminal else _Screen(width=WIDTH)


def _fitted(table: Table, width: int) -> RenderableType:
    least = sum(_longest_word(column) + BETWEEN for column in table.columns)
    if least <= width or not table.row_count:
        return table
    heads = [str(column.header) for column in table.columns]
    parts: list[RenderableType] = [str(table.title)] if table.title else []
    for row in zip(*(column.cells for column in table.columns), strict=True):
        lines = Table.grid(padding=(0, BETWEEN))
        for _ in range(2):
            lines.add_column(overflow="fold")
        for head, cell in zip(heads, row, strict=True):
            if cell:
                lines.add_row(head, cell)
        parts += [lines, ""]
    return Group(*parts, *([str(table.caption)] if table.caption else []))


def _longest_word(column: Column) -> int:
    texts = (it if isinstance(it, str) else "" for it in (column.header, *column.cells))
    # Thin spaces, as in large numbers, do not separate words.
    words = (word for text in texts for word in Text.from_markup(text).plain.split(" "))
    return max((Text(word).cell_len for line in words for word in line.split("\n")), default=0)
