"""Style of all figures: colours, marks, sizes, units."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib import figure
from matplotlib.container import ErrorbarContainer
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.ticker import (
    LogFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
    ScalarFormatter,
)

from retx.errors import UsageError
from retx.errors.checks import required_path
from retx.errors.meant import choice
from retx.plots.ticks import untangled

if TYPE_CHECKING:
    import polars as pl

# Palette of Okabe & Ito, whose colours are distinguishable with any kind of colour vision. Marks
# and line styles differ, too, so that nothing depends on colour alone.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, BLACK, GREY = "#CC79A7", "#56B4E9", "#000000", "#7F7F7F"

CAUSE_COLOUR = {"congestion": BLACK, "wireless": RED, "spurious": PURPLE}
KIND_MARK = {"fast_retransmit": "v", "rto": "X"}

CAUSE_HATCH = {"congestion": "", "wireless": "////", "spurious": "...."}
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK, GREY)
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":")
MAP = "cividis"
"""Colour map of heat maps. Its brightness increases uniformly, also for readers with colour
blindness.
"""

WIDTHS = {"page": 7.0, "column": 3.4}
"""Widths in inches: of the text of a page, and of one of its two columns."""
WIDTH_INCHES = WIDTHS["page"]
COLUMN_HEIGHT = 0.75
"""Ratio of a figure's height in a column to its height on a page. Figures lower than `LOW_INCHES`
keep their height.
"""
LOW_INCHES = 2.5
COLUMN_CHARACTERS = 44
"""Characters of a legend that fit into a column."""
PANEL_INCHES = 2.6
MOST_COLUMNS = 5
"""Maximum number of columns of a legend."""
CHARACTER, AROUND = 4.4, 30.0
"""Widths in points: of an average letter of a legend, and of the mark of an entry with its gap."""
FEW_DECADES = 2
NARROW, MOST_EVEN_STEPS = 4.0, 5

RC: Any = dict(
    mpl.rc_params_from_file(Path(__file__).with_name("paper.mplstyle"), use_default_template=False)
)
"""Settings of the style file, which can also be used by `plt.style.use("retx.plots.paper")`."""

Ax = Any
"""Matplotlib axes to draw into, or a list with one for each panel of a figure."""


class Figure(figure.Figure):
    """Matplotlib figure that is shown in notebooks and saved in the style of retx.

    `data` contains the complete tables of the figure, even if the drawing shows fewer points.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401
        super().__init__(*arguments, **options)
        self.data: dict[str, pl.DataFrame] = {}
        self.entries: dict[str, Any] = {}
        """Entries of the legend above the panels: handles by label."""

    def draw(self, renderer: Any) -> None:  # noqa: ANN401
        """Draws the figure; dollar signs in names are text, not formulas."""
        numbers = self._numbers()
        for text in self.findobj(Text):
            if id(text) not in numbers:
                text.set_parse_math(False)
        super().draw(renderer)
        if untangled(self, renderer):
            super().draw(renderer)

    def fit(self, width: str) -> None:
        """Sets the width to that of a page's text, or of one of its two columns.

        Args:
            width: `page` (7 inches) or `column` (3.4 inches).

        Raises:
            UsageError: The width is unknown.
        """
        if width not in WIDTHS:
            raise UsageError(f"no width {width!r}{choice(width, WIDTHS)}")
        inches, height = self.get_size_inches()
        share = WIDTHS[width] / WIDTH_INCHES
        if width == "column" and inches > WIDTHS[width]:
            # The height is kept if it is low, or if there are legends between panels, which need
            # the same space as before.
            keeps = self.subfigs or height < LOW_INCHES
            self.set_size_inches(inches * share, height * (1.0 if keeps else COLUMN_HEIGHT))
            for text in (text for legend in self.findobj(Legend) for text in legend.get_texts()):
                text.set_text(fill(text.get_text(), COLUMN_CHARACTERS))
        with styled():
            place_legend(self)

    def _numbers(self) -> set[int]:
        """Identities (`id`) of tick labels that matplotlib generates, some of them as formulas."""
        found = set[int]()
        for axis in (axis for axes in self.axes for axis in (axes.xaxis, axes.yaxis)):
            for minor in (False, True):
                formatter = axis.get_minor_formatter() if minor else axis.get_major_formatter()
                if isinstance(formatter, ScalarFormatter | LogFormatter):
                    found.update(map(id, axis.get_ticklabels(minor=minor)))
            found.add(id(axis.get_offset_text()))
        return found

    def save(self, path: Any, *, width: str | None = None) -> None:  # noqa: ANN401
        """Writes the figure; the extension determines the format: .png, .svg or .pdf.

        Args:
            path: The file, or a binary file object. A file without an extension gets .png.
            width: `page` or `column`; unchanged by default.

        Raises:
            UsageError: The extension is unknown.
        """
        if not hasattr(path, "write"):
            self._check_extension(required_path("path", path))
        if width is not None:
            self.fit(width)
        self._save(path)

    def _check_extension(self, path: Path) -> None:
        ending = path.suffix[1:].lower()
        if ending in ("csv", "parquet"):
            raise UsageError(f"{path}: figure.save_data writes the data of a figure")
        if ending and ending not in self.canvas.get_supported_filetypes():
            raise UsageError(f"{path}: a figure's file ends in .png, .svg or .pdf")

    def save_data(self, path: str | os.PathLike[str], table: str | None = None) -> None:
        """Writes one of the figure's tables; the extension determines the format: .csv or .parquet.

        Args:
            path: The file.
            table: Name of the table in `data`; the first by default.

        Raises:
            UsageError: The extension or the table is unknown.
        """
        target, name = Path(path), table or next(iter(self.data))
        if name not in self.data:
            raise UsageError(f"no table {name!r} in the figure; it has {', '.join(self.data)}")
        if target.suffix == ".csv":
            self.data[name].write_csv(target)
        elif target.suffix == ".parquet":
            self.data[name].write_parquet(target, compression="zstd")
        else:
            raise UsageError(f"{target}: a figure's data end in .csv or .parquet")

    def _save(self, target: Any, **options: Any) -> None:  # noqa: ANN401
        # The date is left out, so that equal figures give equal files.
        dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        is_file = hasattr(target, "write")
        ending = options.pop("format", None) or ("" if is_file else Path(target).suffix[1:].lower())
        # Matplotlib's PDF writer raises an AttributeError if the disk is full, so it writes to
        # memory first.
        written = io.BytesIO()
        with mpl.rc_context(RC):
            self.savefig(written, format=ending or "png", metadata=dates.get(ending), **options)
        if is_file:
            target.write(written.getvalue())
        else:
            Path(target if ending else f"{target}.png").write_bytes(written.getvalue())

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self._save(buffer, format="png")
        return buffer.getvalue()


@contextmanager
def styled() -> Iterator[None]:
    """Context in which new figures have the style."""
    with mpl.rc_context(RC):
        yield


def byte_unit(largest: float) -> tuple[float, str]:
    """Divisor and name of the byte unit that gives an axis short numbers."""
    return (1e6, "MB") if largest >= 5e6 else (1e3, "kB")


def series_look(number: int) -> dict[str, Any]:
    """Colour, mark and line style of a curve; each of them alone identifies it."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKS[number % len(MARKS)],
        "ls": LINES[number % len(LINES)],
    }


def label_decades(axis: Any) -> None:  # noqa: ANN401
    """Labels a logarithmic axis with plain numbers: 1, 2 and 5 of each decade, or powers of ten.

    The axis has only powers of ten if it spans many decades.

    An axis of less than half a decade may contain only one such number, so its ticks are
    equidistant.
    """
    low, high = axis.get_view_interval()
    if high < NARROW * low:
        axis.set_major_locator(MaxNLocator(MOST_EVEN_STEPS, steps=[1, 2, 5, 10]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter("{x:g}")
        return
    subs = (1.0, 2.0, 5.0) if high < 10**FEW_DECADES * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def new_figure(
    rows: int = 1, height: float = PANEL_INCHES, ax: Ax = None
) -> tuple[Figure, list[Any]]:
    """Figure with `rows` panels above each other that share their time axis.

    Args:
        rows: Number of panels.
        height: Height of a panel, in inches.
        ax: Axes to use instead, one for each panel.

    Raises:
        UsageError: The numbers of panels and axes differ.
    """
    if ax is not None:
        return given(ax, rows)
    made = Figure(figsize=(WIDTH_INCHES, rows * height + 0.6), layout="constrained")
    axes = made.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    return made, list(axes)


def one_panel(height: float, ax: Ax = None, width: float = WIDTH_INCHES) -> tuple[Figure, Any]:
    """Figure of one panel, and its axes.

    Args:
        height: Height of the figure, in inches.
        ax: Axes to use instead.
        width: Width of the figure, in inches.

    Raises:
        UsageError: `ax` holds several axes.
    """
    if ax is not None:
        figure, (axes,) = given(ax, 1)
        return figure, axes
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def given(ax: Ax, panels: int) -> tuple[Figure, list[Any]]:
    """Axes of the caller's figure; the tables are attached to that figure as data.

    Raises:
        UsageError: The numbers of axes and panels differ.
    """
    axes = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(axes) != panels:
        raise UsageError(f"ax: the figure has {panels} panels: give as many axes, not {len(axes)}")
    own: Any = axes[0].get_figure()
    if not hasattr(own, "data"):
        own.data = {}
    return own, axes


def shared_legend(figure: Any, panels: list[Any], ax: Ax = None) -> None:  # noqa: ANN401
    """Draws a common legend above all panels, with each entry once; within `ax` if it is given."""
    entries: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    # Points with intervals come first: they are the subject of the figure. Matplotlib puts them
    # last.
    entries = dict(sorted(entries.items(), key=lambda it: not isinstance(it[1], ErrorbarContainer)))
    if ax is not None:
        panels[0].legend(entries.values(), entries.keys())
        return
    figure.entries = entries
    place_legend(figure)


def place_legend(figure: Any) -> None:  # noqa: ANN401
    """Places the legend of a figure above its panels, in as many columns as fit."""
    for part in (figure, *figure.subfigs):
        entries = getattr(part, "entries", None)
        if not entries:
            continue
        part.legends.clear()
        columns = _columns(list(entries), 72 * figure.get_figure(root=True).get_figwidth())
        part.legend(entries.values(), entries.keys(), loc="outside upper left", ncols=columns)


def _columns(labels: list[str], points: float) -> int:
    """Number of legend columns that fit into a width, filled evenly."""
    for most in range(min(MOST_COLUMNS, len(labels)), 1, -1):
        rows = -(-len(labels) // most)
        columns = [labels[at : at + rows] for at in range(0, len(labels), rows)]
        if sum(AROUND + CHARACTER * max(map(len, column)) for column in columns) <= points:
            return len(columns)
    return 1
