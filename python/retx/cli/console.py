"""Where people read."""

from __future__ import annotations

from rich.console import Console

WIDTH = 120
"""Columns of tables that go to a file or a pipe, where no terminal says how wide it is."""


def console() -> Console:
    """The standard output."""
    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=WIDTH)
