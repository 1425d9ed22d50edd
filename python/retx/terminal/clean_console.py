"""Console of the library rich, which shows control characters in texts as escapes."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from retx.terminal.streams import clean, unfiltered


class CleanConsole(Console):
    """Console for the standard output, or with `stderr` for the standard error."""

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        stream = unfiltered(sys.stderr if stderr else sys.stdout)
        super().__init__(file=stream, width=width, highlight=False)

    def on_broken_pipe(self) -> None:
        """Lets `main` handle a closed pipe; rich would exit with code 1."""
        raise BrokenPipeError

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Segments of a renderable; control characters in its texts are escaped."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else clean(text), style, control)
