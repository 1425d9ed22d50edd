"""`--plot KIND[=FILE]`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retx.errors import UsageError
from retx.errors.meant import choice
from retx.files.directory import new_file, writing
from retx.files.earlier import FIGURES as KINDS
from retx.results.result import HOW_TO_RECORD, NotRecordedError
from retx.scenarios.names import flow_names, listed

if TYPE_CHECKING:
    from retx.plots.chooser import Plotted
    from retx.plots.style import Figure

SAMPLED = ("cwnd", "rtt", "queue", "goodput", "fairness", "why")
OF_SEGMENTS = ("sequence", "rtt", "ladder", "bursts")
OF_ALL_FLOWS, OF_ALL_TIME = ("queue", "fairness"), ("confusion",)
WIDTHS = ("page", "column")
PICTURES, DATA = (".png", ".svg", ".pdf"), (".csv", ".parquet")


class Drawing:
    """Requested plot and its file.

    Args:
        kind: Kind of the plot.
        file: File that the user named.
        flow: Flow that is plotted; None for the default.
        span: Period that is plotted, in seconds.
        option: Option that is named before the kind in messages.
    """

    width: str | None = None
    """`page` or `column`; None for the original width of the figure."""

    def __init__(
        self,
        kind: str,
        file: Path | None,
        flow: str | None,
        span: tuple[float, float] | None,
        option: str = "--plot ",
    ) -> None:
        self.kind = kind
        self.file = file
        self.flow = flow
        self.span = span
        self.option = option

    @property
    def shows_segments(self) -> bool:
        """True if the plot is drawn from the table of segments."""
        return self.kind in OF_SEGMENTS

    def place(self, directory: Path | None) -> Path:
        """File of the figure; by default one in the result directory or in the current one."""
        return self.file or (directory or Path()) / f"{self.kind}.png"

    def needs_samples(self, scenario: dict[str, Any]) -> bool:
        """True if the plot shows samples but the resolved scenario records none."""
        return self.kind in SAMPLED and "sample_interval" not in scenario

    def check(self, scenario: dict[str, Any]) -> None:
        """Checks before a run that it will record what the plot shows.

        Raises:
            UsageError: The scenario records no samples, or has no such flow.
        """
        if self.needs_samples(scenario):
            needed = f"{self.option}{self.kind} needs samples"
            raise UsageError(f"{needed}: {HOW_TO_RECORD['samples']}")
        names = flow_names(scenario)
        if self.flow is not None and self.flow not in names:
            end = choice(self.flow, names, listed(names))
            raise UsageError(f"--flow {self.flow}: no such flow{end}")

    @contextmanager
    def open(self, directory: Path | None) -> Iterator[Path]:
        """Path to which the `with` block writes the figure.

        If the user named a file, it is replaced only when the block succeeds.
        """
        if directory and not self.file:
            yield self.place(directory)
        else:
            with new_file(self.place(None)) as path:
                yield path

    def attempt(
        self, figure: Callable[[Drawing], Figure], path: Path, directory: Path | None = None
    ) -> str | None:
        """Draws the plot. If it cannot be drawn or written, returns the reason and leaves no file.

        Args:
            figure: Function that creates the figure.
            path: The file.
            directory: Result directory, which the message names; None if there is none.
        """
        try:
            made = figure(self)
            with writing(path):
                if path.suffix.lower() in DATA:
                    made.save_data(path)
                else:
                    made.save(path, width=self.width)
        except (UsageError, NotRecordedError) as error:
            reason = f"{self.option}{self.kind}: {error.args[0]}"
        except OSError as error:
            reason = f"{self.place(directory)}: {error.strerror or error}"
        else:
            return None
        path.unlink(missing_ok=True)
        return reason

    def figure_of(self, result: Plotted) -> Figure:
        """Figure for a run, or for a flow in a capture."""
        options: dict[str, Any] = {}
        if self.kind not in OF_ALL_FLOWS:
            options["flow"] = self.flow
        if self.kind == "ladder":
            options |= zip(("t0", "t1"), self.span or (None, None), strict=True)
        elif self.kind not in OF_ALL_TIME:
            options["span"] = self.span
        figure: Figure = getattr(result.plot, self.kind)(**options)
        return figure


def draw_all(drawings: list[Drawing], figure: Callable[[Drawing], Figure]) -> list[Path]:
    """Draws all plots that can be drawn; returns the files.

    Raises:
        OSError: A file cannot be created.
        UsageError: Two plots have the same file, or some plots cannot be drawn or written; the
            others are written.
    """
    places = [drawing.place(None) for drawing in drawings]
    for place in places:
        if places.count(place) > 1:
            raise UsageError(
                f"{place}: two figures would be written there: name a file for one of them"
            )
    written, reasons = [], []
    for drawing, place in zip(drawings, places, strict=True):
        with drawing.open(None) as path:
            reason = drawing.attempt(figure, path)
        if reason:
            reasons.append(reason)
        else:
            written.append(place)
    if reasons:
        raise UsageError("; ".join(reasons))
    return written


def drawings(
    words: list[str],
    flow: str | None,
    span: tuple[float, float] | None,
    width: str | None = None,
) -> list[Drawing]:
    """Plots of a run that the `--plot` options request.

    Raises:
        UsageError: An unknown kind or file extension, an empty span, or an option without effect on
            any plot.
    """
    if not words and (flow or span):
        raise UsageError("--flow and --span choose what is plotted: add --plot KIND")
    if not words and width:
        raise UsageError("--width sets the width of a figure: add --plot KIND")
    return in_width([of_run(word, flow, span) for word in words], width)


def in_width(figures: list[Drawing], width: str | None) -> list[Drawing]:
    """The plots, which get the requested width.

    Raises:
        UsageError: The width is unknown.
    """
    if width is None:
        return figures
    if width not in WIDTHS:
        raise UsageError(f"--width {width}: no such width{choice(width, WIDTHS)}")
    for figure in figures:
        figure.width = width
    return figures


def check_no_segments(figures: list[Drawing]) -> None:
    """Refuses plots of the table of segments, which is not recorded.

    `rtt` can be drawn from other tables, too.

    Raises:
        UsageError: The plot needs segments; the message names it.
    """
    for figure in figures:
        if figure.shows_segments and figure.kind not in SAMPLED:
            raise UsageError(f"--plot {figure.kind} needs segments: leave out --no-segments")


def of_run(
    word: str, flow: str | None, span: tuple[float, float] | None, option: str = "--plot "
) -> Drawing:
    """Plot of a run from `KIND[=FILE]`.

    Raises:
        UsageError: An unknown kind or file extension, an empty span, or an option without effect on
            the plot.
    """
    if span and not all(map(isfinite, span)):
        raise UsageError(f"--span {span[0]:g} {span[1]:g}: write two times in seconds")
    if span and not span[0] < span[1]:
        raise UsageError(f"--span {span[0]:g} {span[1]:g}: the first time must be the earlier one")
    kind, file = file_of(word, option)
    if kind not in KINDS:
        raise UsageError(f"{option}{word}: no plot {kind!r}{choice(kind, KINDS)}")
    alone = "or plot it by a command of its own"
    if flow and kind in OF_ALL_FLOWS:
        raise UsageError(f"{option}{kind} shows all flows together: leave out --flow, {alone}")
    if span and kind in OF_ALL_TIME:
        raise UsageError(f"{option}{kind} counts over the whole run: leave out --span, {alone}")
    return Drawing(kind, file, flow, span, option)


def file_of(word: str, option: str) -> tuple[str, Path | None]:
    """Kind and file of `KIND[=FILE]`.

    Raises:
        UsageError: No file is named after the equals sign, or the file's extension is not
            supported.
    """
    kind, equals, name = word.partition("=")
    if equals and not name:
        raise UsageError(
            f"{option}{word}: the file name is missing: leave out the =, or name a file"
        )
    file = Path(name) if name else None
    if file and file.suffix.lower() not in PICTURES + DATA:
        endings = f"{', '.join(PICTURES)}, or {' or '.join(DATA)} for its data"
        raise UsageError(f"{option}{word}: the file must end in {endings}")
    return kind, file
