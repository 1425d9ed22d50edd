"""Draws the figures that a study declares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.colors import Normalize

from retx._native import RunError
from retx.errors import UsageError
from retx.plots import style
from retx.plots.report import Figure
from retx.study.data import StudyError, look_up
from retx.study.declared_figures import FILE, Axis, DeclaredFigure, Draw, Panel
from retx.study.estimates import Estimate, Interval
from retx.study.items import Item, Lists, Scope, in_name, in_place, in_text
from retx.study.measures import Measuring
from retx.study.points import Array

if TYPE_CHECKING:
    from retx.study.measured import Measured

POINTS: Mapping[str, Any] = {"marker": "o", "ms": 4, "lw": 1.1}
BARS_WIDTH = 0.8
NUMBER_INCHES = 0.3
"""Width of a cell of a map from which its number is written into it."""
NUMBER = re.compile(r"([-+.e\d]+)( (ms|s|mss|packets))?")
"""Number with a unit."""
Placed = list[tuple[float, Estimate | None]]
Look = dict[str, Any]
"""Arguments of matplotlib."""


def drawn_figures(measured: Measured) -> Iterator[Figure]:
    """The declared figures of a study.

    Raises:
        StudyError: A place, a quantity or a name does not exist.
    """
    study = measured.study
    with style.styled():
        for figure in study.figures.figure:
            with _said(f"{study.folder / FILE}: {figure.id}"):
                for scope in study.declared.lists.scopes(figure.over):
                    drawing = _Drawing(measured.measuring, study.figures.look, figure.columns)
                    if figure.python:
                        made = measured.measuring.returned(figure.python, figure.with_, scope)
                    else:
                        made = drawing.figure(figure, scope)
                    if made is not None:
                        texts = (figure.caption, figure.alt, *figure.shows)
                        caption, alt, *shows = (in_text(it, scope) for it in texts)
                        yield Figure(in_name(figure.id, scope), made, caption, alt, shows)


@contextmanager
def _said(where: str) -> Iterator[None]:
    """Names file and figure in an error, also in one of matplotlib about a look or an axis."""
    try:
        yield
    except StudyError as error:
        raise StudyError(f"{where}: {error}") from None
    except (UsageError, RunError, MemoryError):
        raise
    except Exception as error:
        said = str(error).partition("\n")[0]
        raise StudyError(f"{where}: {type(error).__name__}: {said}") from error


def check_figures(measured: Measured) -> Iterator[str]:
    """Looks up the names of all figures without drawing them; returns the ids of the figures."""
    study = measured.study
    for figure in study.figures.figure:
        drawing = _Drawing(measured.measuring, study.figures.look)
        with _said(f"{study.folder / FILE}: {figure.id}"):
            if figure.python:
                study.code.function(figure.python)
            for scope in drawing.lists.scopes(figure.over):
                yield in_name(figure.id, scope)
                for panel, inner in figure.panels(drawing.lists, scope):
                    for draw, own in drawing.draws(panel, inner):
                        drawing.look(draw, own)
                        if draw.kind == "run":
                            measured.at(in_place(draw.run, own))
                        elif draw.kind != "path":
                            drawing.found(draw, own)


@dataclass
class _Drawing:
    """Draws one figure."""

    measuring: Measuring
    looks: Mapping[str, Mapping[str, Any]]
    columns: int = 1
    maps: list[tuple[Any, Any, Any, Draw]] = field(default_factory=list)
    """Panels with maps, with what is drawn, and its numbers."""

    @property
    def lists(self) -> Lists:
        return self.measuring.lists

    def draws(self, panel: Panel, scope: Scope) -> Iterator[tuple[Draw, Scope]]:
        """The drawings of a panel, each with its items."""
        for draw in panel.draw:
            for own in self.lists.scopes(draw.over, scope):
                yield draw, own

    def figure(self, what: DeclaredFigure, scope: Scope) -> style.Figure:
        """The drawing of all panels."""
        panels = what.panels(self.lists, scope)
        rows = -(-len(panels) // what.columns)
        made = style.Figure(figsize=tuple(what.size), layout="constrained")
        solid = any(draw.relief for panel, _ in panels for draw in panel.draw)
        places = made.subplots(
            rows, what.columns, squeeze=False, sharex="x" in what.share, sharey="y" in what.share,
            height_ratios=what.heights or None, subplot_kw={"projection": "3d"} if solid else None,
        ).ravel()  # fmt: skip
        for place, (panel, inner) in zip(places, panels, strict=False):
            self._panel(place, panel, inner)
        # Limits of shared axes are those of all panels.
        for place, (panel, inner) in zip(places, panels, strict=False):
            sides = ("y", "x") if panel.across else ("x", "y")
            for name, axis in zip(sides, (panel.x, panel.y), strict=True):
                self._axis(place, name, axis, inner)
        for place in places[len(panels) :]:
            place.set_visible(False)
        self._scale(made)
        entries: dict[str, Any] = {}
        for place in places:
            entries |= dict(zip(*reversed(place.get_legend_handles_labels()), strict=True))
            if what.share and not solid:
                place.label_outer()
        if what.legend and entries:
            made.legend(
                list(entries.values()), list(entries), loc="outside upper left", ncols=what.legend
            )
        for text, put in ((what.x, made.supxlabel), (what.y, made.supylabel)):
            if text:
                put(text, fontsize=9)
        return made

    def _panel(self, axes: style.Ax, panel: Panel, scope: Scope) -> None:
        along = _Along(axes, panel.across)
        stacks = list(dict.fromkeys(
            self._stack(it, own) for it, own in self.draws(panel, scope) if it.bars
        ))  # fmt: skip
        width = BARS_WIDTH / max(len(stacks), 1)
        for draw, own in self.draws(panel, scope):
            look = self.look(draw, own)
            if draw.kind == "run":
                self._trace(axes, draw, own, look)
            elif draw.kind == "path":
                axes.plot(*np.array(draw.path, dtype=float).T, **look)
            elif draw.kind == "level":
                upright = draw.upright is not panel.across
                for _, one in self.found(draw, own):
                    if one:
                        (axes.axvline if upright else axes.axhline)(one.mean, **{"lw": 0.8} | look)
            elif draw.kind == "cells":
                self._map(axes, draw, own, look)
            elif draw.kind == "bars":
                aside = (stacks.index(self._stack(draw, own)) - (len(stacks) - 1) / 2) * width
                found = [(along.place(item, 0) + aside, one) for item, one in self.found(draw, own)]
                along.draw_bars(found, width, look)
            else:
                found = [
                    (along.place(item, draw.times) + draw.aside, one)
                    for item, one in self.found(draw, own)
                ]
                along.draw_points(found, look, single=draw.single)
        along.set_ticks()
        if panel.title:
            place = {"loc": "left"} if axes.name != "3d" else {"pad": 0}
            size = 9 if self.columns == 1 else 8 if self.columns == 2 else 6.5
            axes.set_title(in_text(panel.title, scope), fontsize=size, **place)

    def _stack(self, draw: Draw, scope: Scope) -> str:
        return in_text(draw.stack, scope) or in_text(draw.label, scope)

    def look(self, draw: Draw, scope: Scope) -> dict[str, Any]:
        """Arguments of matplotlib, with the label."""
        look = {
            key: in_place(it, scope) if isinstance(it, str) else it
            for key, it in draw.style.items()
        }
        for name in filter(None, in_place(draw.look, scope).split()):
            look = dict(look_up("look", name, self.looks)) | look
        for key in ("color", "edgecolor"):
            if key in look:
                look[key] = getattr(style, str(look[key]).upper(), look[key])
        return look | ({"label": in_text(draw.label, scope)} if draw.label else {})

    def found(self, draw: Draw, scope: Scope) -> list[tuple[Item, Estimate | None]]:
        """Measured numbers at each item of `x`, or of `up` and `x`."""
        if isinstance(draw.level, int | float):
            return [(Item("", "", ""), Estimate(float(draw.level)))]
        over = {name: it for name in ("up", "x") if (it := getattr(draw, name)) is not None}
        same = over.pop("x") if isinstance(draw.x, str) and draw.x.startswith("{") else "x"
        drawn = []
        for own in self.lists.scopes(over, scope):
            one = self.measuring.found(draw.measure, own)
            if not (one is None or isinstance(one, Estimate)):
                raise StudyError("a drawing needs numbers, not a curve")
            drawn.append((own.get(same.strip("{}"), Item("", "", "")), one))
        return drawn

    def _trace(self, axes: style.Ax, draw: Draw, scope: Scope, look: dict[str, Any]) -> None:
        measured = self.measuring.measured
        like = in_place(draw.like, scope)
        run = measured.at(in_place(draw.run, scope)).run(measured.at(like).typical() if like else 0)
        table: pl.DataFrame = getattr(run, draw.from_)
        table = table.with_columns(pl.col("flow").cast(pl.String))
        rows = table.filter(pl.sql_expr(in_place(draw.where, scope)))
        parts = rows.partition_by(draw.by, maintain_order=True) if draw.by else [rows]
        for part, colour in zip(parts, cycle(style.COLOURS)):
            texts = (in_place(str(it), scope) for it in (draw.x, draw.y))
            x, y = (part.select(pl.sql_expr(text)).to_series() for text in texts)
            axes.plot(x, y, **{"lw": 0.9, "color": colour} | look)

    def _map(self, axes: style.Ax, draw: Draw, scope: Scope, look: dict[str, Any]) -> None:
        right, up = self.lists.items(draw.x), self.lists.items(draw.up)
        means = [np.nan if one is None else one.mean for _, one in self.found(draw, scope)]
        values = np.array(means).reshape(len(up), len(right))
        if draw.of_best:
            values *= 100 / np.nanmax(values)
        look = {"cmap": style.MAP} | look
        if draw.relief:
            deep, across = np.mgrid[: len(up), : len(right)]
            drawn = axes.plot_surface(across, deep, values, edgecolor="white", lw=0.3, **look)
            axes.set_zlabel(in_text(draw.scale, scope), fontsize=7)
            axes.xaxis.label.set_size(7)
            axes.yaxis.label.set_size(7)
            axes.tick_params(labelsize=6, pad=0)
            axes.view_init(elev=28, azim=40)
            axes.set_box_aspect(None, zoom=0.85)
        else:
            drawn = axes.pcolormesh(values, edgecolors="white", lw=0.4, **look)
            axes.grid(visible=False)
            axes.tick_params(labelsize=6.5, length=2)
        middle = 0 if draw.relief else 0.5
        axes.set_xticks(np.arange(len(right)) + middle, list(map(_tick, right)))
        axes.set_yticks(np.arange(len(up)) + middle, list(map(_tick, up)))
        self.maps.append((axes, drawn, values, draw))

    def _scale(self, figure: style.Figure) -> None:
        """Gives all maps the same scale, and writes numbers into the cells of small ones."""
        if not self.maps:
            return
        found = [np.nanmax(values) for _, _, values, _ in self.maps]
        top = float(max(found))
        for axes, drawn, values, draw in self.maps:
            low = float(np.nanmin(values)) if draw.of_best else 0.0
            drawn.set_norm(Normalize(low, top))
            if draw.relief:
                axes.set_zlim(0, top)
            elif figure.get_figwidth() > NUMBER_INCHES * self.columns * values.shape[1]:
                _write(axes, values, drawn)
        *_, draw = self.maps[0]
        if draw.scale and not draw.relief:
            panels = [axes for axes, *_ in self.maps]
            figure.colorbar(
                drawn, ax=panels, label=draw.scale, location="top", shrink=0.7, aspect=40
            )

    def _axis(self, axes: style.Ax, name: str, given: Axis, scope: Scope) -> None:
        if given.label:
            getattr(axes, f"set_{name}label")(in_text(given.label, scope))
        if given.scale != "linear":
            linear = {"linthresh": given.linear_to} if given.scale == "symlog" else {}
            getattr(axes, f"set_{name}scale")(given.scale, **linear)
        if given.ticks is not None:
            items = self.lists.items(given.ticks) if given.ticks else []
            getattr(axes, f"set_{name}ticks")(
                [float(it.key) for it in items], list(map(_tick, items))
            )
            getattr(axes, f"{name}axis").minorticks_off()
        if given.from_ is not None or given.to is not None:
            getattr(axes, f"set_{name}lim")(given.from_, given.to)
        if given.turned:
            axes.tick_params(axis=name, rotation=given.turned)


def _tick(item: Item) -> str:
    """Text at the place of an item: its number, or its label."""
    return item.key if item.label == item.value and NUMBER.fullmatch(item.key) else item.label


@dataclass
class _Along:
    """The axis with the items: at their keys if these are numbers, else in their order."""

    axes: style.Ax
    across: bool
    """True if this axis goes upwards."""
    words: dict[str, str] = field(default_factory=dict)
    tops: dict[float, float] = field(default_factory=dict)
    """Ends of the bars by their places."""

    def place(self, item: Item, times: float) -> float:
        """The place of an item: its number times a factor, or for 0 its order."""
        number = None if self.words or not times else NUMBER.fullmatch(item.key)
        if number:
            return times * float(number[1])
        self.words.setdefault(item.key, _tick(item))
        return list(self.words).index(item.key)

    def set_ticks(self) -> None:
        """Sets the ticks of an axis of words."""
        if self.words:
            name = "y" if self.across else "x"
            texts = list(self.words.values())
            getattr(self.axes, f"set_{name}ticks")(range(len(texts)), texts)
            self.axes.grid(visible=False, axis=name)
            if self.across:
                self.axes.set_ylim(len(texts) - 0.5, -0.5)

    def draw_points(self, found: Placed, look: Look, *, single: bool) -> None:
        """Means with their intervals, or exact values without whiskers."""
        places, means, halves = _known(found, single=single)
        sides = (means, places) if self.across else (places, means)
        look = {**POINTS, **look}
        if halves is None:
            self.axes.plot(*sides, **look)
        else:
            whiskers = {"xerr" if self.across else "yerr": halves}
            self.axes.errorbar(*sides, **whiskers, capsize=2, elinewidth=0.9, **look)

    def draw_bars(self, found: Placed, width: float, look: Look) -> None:
        """Bars on top of those at the same places."""
        places, means, halves = _known(found)
        start, whisker = ("left", "xerr") if self.across else ("bottom", "yerr")
        more = {start: [self.tops.get(x, 0.0) for x in places], **look}
        if halves is not None:
            more |= {whisker: halves, "error_kw": {"capsize": 2, "lw": 0.8}}
        (self.axes.barh if self.across else self.axes.bar)(places, means, width, **more)
        for x, mean in zip(places, means, strict=True):
            self.tops[x] = self.tops.get(x, 0.0) + mean


def _known(found: Placed, *, single: bool = False) -> tuple[list[float], list[float], Array | None]:
    """Places and means, and the lengths of the whiskers below and above the means."""
    places, known = [x for x, one in found if one], [one for _, one in found if one]
    means = [one.mean for one in known]
    ranges = [one.single if single else one.interval for one in known]
    if not any(ranges):
        return places, means, None
    ends = [it or Interval(mean, mean) for mean, it in zip(means, ranges, strict=True)]
    below = np.subtract(means, [it.low for it in ends])
    return places, means, np.array([below, np.subtract([it.high for it in ends], means)])


def _write(axes: style.Ax, values: Array, drawn: Any) -> None:  # noqa: ANN401
    """Writes each number into its cell of a map, in white on dark cells."""
    form = "{:.0f}" if np.nanmax(values) >= 10 else "{:.2f}"
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            colour = "black" if np.mean(drawn.to_rgba(value)[:3]) > 0.5 else "white"
            axes.text(
                column + 0.5, row + 0.5, form.format(value), ha="center", va="center",
                fontsize=6.5, color=colour,
            )  # fmt: skip
