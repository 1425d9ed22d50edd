"""Figures of a study from its `figures.toml`.

    [look]
    reno = { color = "blue", marker = "o" }             # of matplotlib; colours of `retx.plots`

    [[figure]]
    id      = "losses"
    caption = "Goodput against random loss."
    alt     = "Goodput falls with the loss rate."
    legend  = 3                                          # columns; 0 for none

    [[figure.panel]]
    title = "{delay}"
    over  = { delay = "delays" }                         # a panel for each item
    x     = { label = "loss (%)", scale = "log", ticks = [0.1, 1, 10] }
    y     = { label = "goodput (Mbit/s)", from = 0 }

    [[figure.panel.draw]]
    over  = { tcp = "tcps" }                             # a curve for each item
    x     = { "0.1" = "0.001", "1" = "0.01" }            # key on the axis = value in places
    y     = { mean = "loss/{tcp} @ p={x}, delay={delay}" }
    label = "{tcp}"
    look  = "{tcp}"

A figure with `over` is several figures. Instead of panels, a figure may have `python =
"FILE.FUNCTION"`, a function that draws it with matplotlib. The function receives the results of the
runs (`Measured`) and the texts `with`; it returns the drawing, or None if there is nothing to draw.
A drawing of a panel has one of these keys, each with a measure (`retx.study.measures`):

    y       means with their intervals at each item of `x`; `single = true`: ranges of single runs
    bars    bars at each item of `x`, one beside the other; those with the same `stack` on top of it
    level   a line across the panel, also at a number; `upright = true` for a vertical one
    cells   a map over the lists `x` and `up`; all panels share the scale, labelled `scale`;
            `relief = true` draws a surface, `of_best = true` shows per cent of the best cell

or `path = [[x, y], …]`, or a run over time: `run = "EXPERIMENT/CASE"` with a table of it (`from`,
`where`, as in quantities.toml), and its expressions `x` and `y`. In a panel with `across = true`,
`x` goes upwards.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from retx.study.data import StudyError
from retx.study.items import Lists, Scope
from retx.study.measures import Measure, Places

FILE = "figures.toml"
MEASURED = ("y", "bars", "level", "cells")
"""Keys with a measure."""


@dataclass(frozen=True)
class Axis:
    """An axis of a panel."""

    label: str = ""
    scale: str = "linear"
    ticks: Any = None
    """A list, or its name: each item at its key; by default matplotlib's."""
    from_: float | None = None
    to: float | None = None
    turned: float = 0.0
    """Angle of the texts at the ticks, in degrees."""
    linear_to: float = 10.0
    """End of the linear part of the scale `symlog`."""


@dataclass(frozen=True)
class Draw:
    """A drawing in a panel, or several that repeat over lists; see the text of this module."""

    over: dict[str, Any] = field(default_factory=dict)
    x: Any = None
    y: str | Measure | None = None
    """A measure; for a run over time, an expression."""
    bars: Measure | None = None
    level: float | Measure | None = None
    cells: Measure | None = None
    up: Any = None
    path: list[list[float]] = field(default_factory=list)
    run: str = ""
    from_: str = "samples"
    where: str = "TRUE"
    by: str = ""
    """Column of the table with a line for each of its values."""
    like: str = ""
    """The run in which the quantity of this case is nearest to its mean; else the first run."""
    label: str = ""
    look: str = ""
    style: dict[str, Any] = field(default_factory=dict)
    """Look of this drawing alone."""
    of: Places = ""
    times: float = 1.0
    """Factor of the places on the axis."""
    aside: float = 0.0
    """Offset of the points along the axis, so that they do not overlap."""
    single: bool = False
    stack: str = ""
    scale: str = ""
    upright: bool = False
    relief: bool = False
    of_best: bool = False

    def __post_init__(self) -> None:
        if not self.kind:
            raise StudyError(f"one of run, path, {', '.join(MEASURED)} is needed")

    @property
    def kind(self) -> str:
        """Key that says what is drawn."""
        kinds = [it for it in ("run", "path", *MEASURED) if getattr(self, it) not in (None, "", [])]
        return kinds[0] if kinds else ""

    @property
    def measure(self) -> Measure:
        """Measure of what is drawn."""
        found: Measure = getattr(self, self.kind)
        return found.by_default(self.of)


@dataclass(frozen=True)
class Panel:
    """A panel, or several that repeat over lists."""

    draw: list[Draw]
    over: dict[str, Any] = field(default_factory=dict)
    title: str = ""
    x: Axis = Axis()
    y: Axis = Axis()
    across: bool = False


@dataclass(frozen=True)
class DeclaredFigure:
    """A figure, or several that repeat over lists."""

    id: str
    caption: str
    alt: str
    shows: list[str] = field(default_factory=list)
    """Figures and tables of the paper that it shows."""
    panel: list[Panel] = field(default_factory=list)
    python: str = ""
    """Function that draws the figure."""
    with_: list[str] = field(default_factory=list)
    """Texts for this function."""
    over: dict[str, Any] = field(default_factory=dict)
    size: list[float] = field(default_factory=lambda: [5.2, 2.9])
    """Width and height in inches."""
    columns: int = 1
    share: str = ""
    """Axes that all panels have in common: `x`, `y` or `xy`."""
    legend: int = 2
    x: str = ""
    y: str = ""
    """Labels of the axes of all panels together."""
    heights: list[float] = field(default_factory=list)
    """Relative heights of the rows of panels."""

    def __post_init__(self) -> None:
        if bool(self.panel) == bool(self.python):
            raise StudyError(f"{self.id}: give either `panel` or `python`")

    def panels(self, lists: Lists, scope: Scope) -> list[tuple[Panel, Scope]]:
        """The panels, each with the items over which it repeats."""
        return [(it, inner) for it in self.panel for inner in lists.scopes(it.over, scope)]


@dataclass(frozen=True)
class Figures:
    """The content of the file."""

    look: dict[str, dict[str, Any]] = field(default_factory=dict)
    figure: list[DeclaredFigure] = field(default_factory=list)
