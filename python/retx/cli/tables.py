"""Tables on the terminal, in the layout of rich's `SIMPLE_HEAD`.

Importing rich takes longer than a short run. Therefore most tables are laid out here. Rich lays out
those in which several columns have to be narrowed, or which contain characters of unknown width. A
test compares the two layouts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table as RichTable

MOST_ROWS = 20
BOLD, BOLD_END = "[bold]", "[/bold]"
"""Markup of bold text, as in rich."""
NARROW = dict.fromkeys(map(ord, "–−×±µ·…→≤≥≈√\u202f"))
"""Characters that occur in our texts and take one column each."""
FIRST_OF_UNKNOWN_WIDTH = "\u0250"
"""Printable characters below this one, which are Latin, take one column each."""


def plain(text: str) -> str:
    """Text that rich prints unchanged; control characters are escaped."""
    shown = (repr(it)[1:-1] if unicodedata.category(it) == "Cc" else it for it in text)
    text = "".join(shown)
    if not _has_markup(text):
        return text
    from rich.markup import escape

    return escape(text)


def _has_markup(text: str) -> bool:
    return "[" in text or "\\" in text


def width_of(text: str) -> int | None:
    """Number of columns that a line takes; None if only rich knows.

    Args:
        text: The line, with the markup of bold text.
    """
    text = text.replace(BOLD, "").replace(BOLD_END, "")
    rest = text if text.isascii() else text.translate(NARROW)
    known = rest.isprintable() and max(rest, default="") < FIRST_OF_UNKNOWN_WIDTH
    return len(text) if known and not _has_markup(rest) else None


class Table:
    """Table with a title above and a caption below it.

    Args:
        title: Title; empty for none.
        columns: Headings; columns whose headings start with `>` contain right-aligned numbers.
    """

    def __init__(self, title: str, *columns: str) -> None:
        self.title = title
        self.caption = ""
        self._right = [column.startswith(">") for column in columns]
        self._rows = [[column.lstrip(">") for column in columns]]
        self._ends_of_sections: set[int] = set()

    @property
    def row_count(self) -> int:
        """Number of rows without the headings."""
        return len(self._rows) - 1

    def add_row(self, *cells: str) -> None:
        """Adds a row; missing cells are empty."""
        self._rows.append([*cells, *[""] * (len(self._right) - len(cells))])

    def add_section(self) -> None:
        """Ends a section, which an empty line separates from the next one."""
        self._ends_of_sections.add(self.row_count)

    def lines(self, width: int) -> list[str] | None:
        """Lines of the table; None if only rich can lay it out in this width."""
        columns = self._widths(width)
        if columns is None:
            return None
        whole = sum(columns) + 2 * len(columns)
        title = wrapped(self.title, whole) if self.title else []
        caption = wrapped(self.caption, whole) if self.caption else []
        if title is None or caption is None:
            return None
        blank = " " * whole
        found = [line.ljust(whole) for line in title] + [blank]
        for number, row in enumerate(self._rows):
            cells = [wrapped(cell, room) for cell, room in zip(row, columns, strict=True)]
            for height in range(max(len(cell or ()) for cell in cells)):
                parts = []
                for cell, room, right in zip(cells, columns, self._right, strict=True):
                    if cell is None:
                        return None
                    part = cell[height] if height < len(cell) else ""
                    space = " " * (room - (width_of(part) or 0))
                    parts.append(space + part if right else part + space)
                line = f" {'  '.join(parts)} "
                found.append(line if number else f"{BOLD}{line}{BOLD_END}")
            if number == 0:
                found.append(f" {'─' * (whole - 2)} ")
            elif number in self._ends_of_sections and number < self.row_count:
                found.append(blank)
        return found + [blank] + [line.ljust(whole) for line in caption]

    def _widths(self, width: int) -> list[int] | None:
        """Widths of the columns; None if only rich can find them.

        If the table is too wide, the widest column of texts gives way while it remains the widest.
        """
        columns = []
        for column in zip(*self._rows, strict=True):
            sizes = [width_of(cell) for cell in column]
            known = [size for size in sizes if size is not None]
            if len(known) < len(sizes):
                return None
            columns.append(max(known))
        columns[-1] = columns[-1] or 1
        # An empty column at each edge, and two columns between cells.
        excess = sum(columns) + 2 * len(columns) - width
        if excess > 0:
            widest = columns.index(max(columns))
            columns[widest] -= excess
            others = columns[:widest] + columns[widest + 1 :]
            # Rich counts the space behind a column, except the last one, as part of its width.
            least = max(*others, len(self._rows[0][widest]), 0) + 1
            if self._right[widest] or columns[widest] <= least:
                return None
        return columns

    def narrow(self) -> tuple[list[list[str]], list[int]]:
        """The rows, of which the first has the headings, and the longest word of each column."""
        from rich.text import Text

        def longest_word(texts: Iterable[str]) -> int:
            # Thin spaces, as in large numbers, do not separate words.
            words = (word for text in texts for word in Text.from_markup(text).plain.split(" "))
            lines = (line for word in words for line in word.split("\n"))
            return max((Text(line).cell_len for line in lines), default=0)

        return self._rows, [longest_word(column) for column in zip(*self._rows, strict=True)]

    def for_rich(self) -> RichTable:
        """Table in the form of rich."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable

        made = RichTable(
            title=self.title,
            title_justify="left",
            title_style="",
            caption=self.caption,
            caption_justify="left",
            box=SIMPLE_HEAD,
            pad_edge=False,
            collapse_padding=True,
        )
        for heading, right in zip(self._rows[0], self._right, strict=True):
            made.add_column(heading, justify="right" if right else "left", overflow="fold")
        for number, row in enumerate(self._rows[1:], 1):
            made.add_row(*row, end_section=number in self._ends_of_sections)
        return made


def wrapped(text: str, width: int) -> list[str] | None:
    """Lines of a text, broken between words as by rich; None if only rich can break it."""
    found = []
    for line in text.split("\n"):
        size = width_of(line)
        if size is None:
            return None
        start = 0
        if size > width:
            if BOLD in line:
                return None
            for word in re.finditer(r"\s*\S+\s*", line):
                if len(word[0].rstrip()) > width:
                    return None
                if word.start() + len(word[0].rstrip()) - start > width:
                    found.append(line[start : word.start()][:width])
                    start = word.start()
        found.append(line[start:][:width] if start or size > width else line)
    return found


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
    return made
