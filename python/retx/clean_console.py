"""A console of rich's that shows control characters in texts as escapes."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from retx.terminal import clean, unfiltered


class CleanConsole(Console):
    """The standard output, or with `stderr` the standard error."""

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        stream = unfiltered(sys.stderr if stderr else sys.stdout)
        super().__init__(file=stream, width=width, highlight=False)

    def on_broken_pipe(self) -> None:
        """Leaves a closed pipe to `main`; rich would end with 1."""
        raise BrokenPipeError

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments, as Console has them."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else clean(text), style, control)
