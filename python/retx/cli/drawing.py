"""`--plot KIND[=FILE]`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from retx.directory import new_file
from retx.errors import UsageError

if TYPE_CHECKING:
    from retx.results import Result

KINDS = ("cwnd", "sequence", "rtt", "ladder")
ENDINGS = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Drawing:
    """A plot asked for, and where it goes."""

    kind: str
    file: Path
    flow: str | None
    span: tuple[float, float] | None

    @property
    def needs_segments(self) -> bool:
        """True when the table of segments has to be recorded for it."""
        return self.kind != "cwnd"

    def draw(self, result: Result) -> None:
        """Draws the plot and writes its file."""
        if self.kind == "ladder":
            figure = result.plot.ladder(*(self.span or (None, None)), flow=self.flow)
        else:
            figure = getattr(result.plot, self.kind)(flow=self.flow, span=self.span)
        with new_file(self.file) as path:
            figure.save(path)


def drawings(
    words: list[str], directory: Path, flow: str | None, span: tuple[float, float] | None
) -> list[Drawing]:
    """What the `--plot` options ask for.

    Raises:
        UsageError: An unknown kind or ending of a file, an empty span, or options of plots
            without a plot.
    """
    if not words and (flow or span):
        raise UsageError("--flow and --span choose what is plotted: add --plot KIND")
    if span and not span[0] < span[1]:
        raise UsageError(f"--span {span[0]:g} {span[1]:g}: the first time must be the earlier one")
    made = []
    for word in words:
        kind, _, file = word.partition("=")
        if kind not in KINDS:
            raise UsageError(f"--plot {word}: no plot {kind!r}; there are {', '.join(KINDS)}")
        path = Path(file) if file else directory / f"{kind}.png"
        if path.suffix.lower() not in ENDINGS:
            raise UsageError(f"--plot {word}: the file must end in {', '.join(ENDINGS)}")
        made.append(Drawing(kind, path, flow, span))
    return made
