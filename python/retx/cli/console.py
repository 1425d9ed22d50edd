"""Console for output that people read."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

from retx.cli.tables import BOLD, BOLD_END, Table, wrapped
from retx.terminal.streams import WIDTH, unfiltered

if TYPE_CHECKING:
    from retx.terminal.clean_console import CleanConsole

BETWEEN = 2
"""Number of blank characters between two columns of a table."""
DECIDING = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Environment variables by which users tell rich what their terminal can show."""


class Screen:
    """Console for the standard output.

    Texts and tables that fit into the width are printed without rich, whose import would take
    longer than a short run. Tables whose columns are too narrow for their words are printed row by
    row.
    """

    def __init__(self) -> None:
        terminal = sys.stdout.isatty()
        self._bold = ("\x1b[1m", "\x1b[0m") if terminal else ("", "")
        self._width = _terminal_width() if terminal else WIDTH
        self._is_usual = (
            (os.name == "posix" or not terminal)
            and (sys.stdout.encoding or "").lower().startswith("utf")
            and not any(name in os.environ for name in DECIDING)
            and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
        )

    def print(self, item: object, *, soft_wrap: bool = False, style: str | None = None) -> None:
        """Prints a text with rich's markup, a table, or another object that rich can print.

        Args:
            item: The object.
            soft_wrap: Leave long lines to the terminal.
            style: Style of a text, as in rich.
        """
        lines = None
        if self._is_usual and style is None:
            if isinstance(item, Table):
                lines = item.lines(self._width)
            elif isinstance(item, str):
                lines = wrapped(item, len(item) if soft_wrap else self._width)
        if lines is None:
            shown = self._fitted(item) if isinstance(item, Table) else item
            self._rich.print(shown, soft_wrap=soft_wrap, style=style)
            return
        text = "".join(f"{line}\n" for line in lines)
        stream = unfiltered(sys.stdout)
        stream.write(text.replace(BOLD, self._bold[0]).replace(BOLD_END, self._bold[1]))
        stream.flush()

    @cached_property
    def _rich(self) -> CleanConsole:
        from retx.terminal.clean_console import CleanConsole

        made = CleanConsole()
        return made if made.is_terminal else CleanConsole(width=WIDTH)

    def _fitted(self, table: Table) -> object:
        from rich.console import Group
        from rich.table import Table as RichTable

        (heads, *rows), words = table.narrow()
        if sum(words) + BETWEEN * len(words) <= self._rich.width or not rows:
            return table.for_rich()
        parts: list[Any] = [table.title] if table.title else []
        for row in rows:
            lines = RichTable.grid(padding=(0, BETWEEN))
            for _ in range(2):
                lines.add_column(overflow="fold")
            for head, cell in zip(heads, row, strict=True):
                if cell:
                    lines.add_row(head, cell)
            parts += [lines, ""]
        return Group(*parts, *([table.caption] if table.caption else []))


def console() -> Screen:
    """Console for the standard output."""
    return Screen()


def _terminal_width() -> int:
    """Width of the terminal in columns, by the rules of rich."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit():
        return int(columns) or 80
    for stream in range(3):
        try:
            return os.get_terminal_size(stream).columns or 80
        except OSError:
            pass
    return 80
