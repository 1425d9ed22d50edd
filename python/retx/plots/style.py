"""The one style of all figures: colours, marks, sizes, units."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib import figure
from matplotlib.container import ErrorbarContainer
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

if TYPE_CHECKING:
    import polars as pl

# Okabe & Ito's palette: told apart with any kind of colour vision. Marks and line styles differ
# too, so that nothing depends on colour alone in print.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, BLACK, GREY = "#CC79A7", "#56B4E9", "#000000", "#7F7F7F"

CAUSE_COLOUR = {"congestion": BLACK, "wireless": RED, "spurious": PURPLE}
KIND_MARK = {"frr": "v", "rto": "X"}

CAUSE_HATCH = {"congestion": "", "wireless": "////", "spurious": "...."}
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK, GREY)
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":")
MAP = "cividis"
"""Of heat maps: evenly bright steps, the same for colour-blind eyes."""

WIDTH_INCHES = 7.0
PANEL_INCHES = 2.6
DPI = 150
MOST_COLUMNS = 5
FEW_DECADES = 2
NARROW, MOST_EVEN_STEPS = 4.0, 5

RC: Any = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 9,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "figure.dpi": DPI,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": "#DDDDDD",
    "legend.columnspacing": 1.2,
    "legend.handlelength": 1.6,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "savefig.bbox": "tight",
    "savefig.dpi": DPI,
    # Text stays text, and the same figure gives the same bytes.
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "retx",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


class Figure(figure.Figure):
    """A matplotlib figure that shows itself in a notebook and is saved in retx's style.

    `data` has the tables that it shows, whole also where the drawing is thinned.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401
        super().__init__(*arguments, **options)
        self.data: dict[str, pl.DataFrame] = {}

    def draw(self, renderer: Any) -> None:  # noqa: ANN401
        """Draws it; names with dollar signs in them are text, not formulas."""
        numbers = self._numbers()
        for text in self.findobj(Text):
            if id(text) not in numbers:
                text.set_parse_math(False)
        super().draw(renderer)

    def _numbers(self) -> set[int]:
        """The labels of ticks that matplotlib writes itself, some of them as formulas."""
        found = set[int]()
        for axis in (axis for axes in self.axes for axis in (axes.xaxis, axes.yaxis)):
            for minor in (False, True):
                formatter = axis.get_minor_formatter() if minor else axis.get_major_formatter()
                if isinstance(formatter, ScalarFormatter | LogFormatter):
                    found.update(map(id, axis.get_ticklabels(minor=minor)))
            found.add(id(axis.get_offset_text()))
        return found

    def save(self, path: Any) -> None:  # noqa: ANN401 (a path or a binary file)
        """Writes the figure; the ending says how: .png, .svg or .pdf."""
        self._save(path)

    def save_data(self, path: str | os.PathLike[str], table: str | None = None) -> None:
        """Writes one of the figure's tables; the ending says how: .csv or .parquet.

        Args:
            path: The file.
            table: A name in `data`; the first by default.

        Raises:
            UsageError: Another ending, or no such table.
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
        # A date in the file would make two equal figures differ.
        dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        ending = options.get("format") or str(target).rsplit(".", 1)[-1].lower()
        with mpl.rc_context(RC):
            self.savefig(target, metadata=dates.get(ending), **options)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self._save(buffer, format="png")
        return buffer.getvalue()


@contextmanager
def styled() -> Iterator[None]:
    """Figures made inside have the style."""
    with mpl.rc_context(RC):
        yield


def byte_unit(largest: float) -> tuple[float, str]:
    """Bytes in the unit that gives an axis short numbers, and the unit's name."""
    return (1e6, "MB") if largest >= 5e6 else (1e3, "kB")


def series_look(number: int) -> dict[str, Any]:
    """Colour, mark and line of a curve among others: told apart by each of them alone."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKS[number % len(MARKS)],
        "ls": LINES[number % len(LINES)],
    }


def label_decades(axis: Any) -> None:  # noqa: ANN401
    """Plain numbers along a logarithmic axis; over a few decades at 1, 2 and 5 of each.

    On less than half a decade, where those may be a single one, at even steps.
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


def new_figure(rows: int = 1, height: float = PANEL_INCHES) -> tuple[Figure, list[Any]]:
    """A figure with `rows` panels above each other that share their time axis."""
    made = Figure(figsize=(WIDTH_INCHES, rows * height + 0.6), layout="constrained")
    axes = made.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    return made, list(axes)


def shared_legend(figure: Figure, panels: list[Any]) -> None:
    """One legend for all panels, each entry once, above them."""
    entries: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    # Points with intervals, which matplotlib puts last, are what the figure is about.
    entries = dict(sorted(entries.items(), key=lambda it: not isinstance(it[1], ErrorbarContainer)))
    columns = len(entries) if len(entries) <= MOST_COLUMNS else (len(entries) + 1) // 2
    figure.legend(entries.values(), entries.keys(), loc="outside upper left", ncols=columns)
