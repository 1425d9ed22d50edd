"""Figures of a sweep by kind; unspecified properties are derived from the sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retx.errors import UsageError
from retx.errors.meant import choice
from retx.scenarios.assignment import assignment
from retx.scenarios.source import TomlText
from retx.scenarios.varied import plain_value, split_values, value_name

if TYPE_CHECKING:
    import polars as pl

    from retx.plots.style import Figure
    from retx.sweeps.result import Sweep

KINDS = ("metric", "heat_map", "contour", "cdf", "paired")
SURFACES = ("heat_map", "contour")
METRIC = "goodput_bit_s"


@dataclass(frozen=True)
class FigureRequest:
    """Request for a figure; None and empty values are derived from the sweep."""

    metric: str = METRIC
    x: str | None = None
    y: str | None = None
    by: str | None = None
    flow: str | None = None
    paired: str | None = None
    """`A,B` or `KEY=A,B`."""
    where: Sequence[str] = ()
    """`KEY=VALUE`: only these points."""
    models: Sequence[str] = ()
    """Closed forms to draw in addition to the measured values."""


@dataclass(frozen=True)
class Axes:
    """Keys that a figure plots against each other."""

    x: str | None = None
    y: str | None = None
    by: str | None = None


def draw(found: Sweep, kind: str, asked: FigureRequest) -> Figure:
    """Draws a figure of a sweep.

    Raises:
        UsageError: The figure cannot be drawn as requested; the message says what is possible.
    """
    from retx.plots.sweeps import SweepPlot

    table, _, column = found.metric_rows(asked.metric)
    table, chosen = _at(found, table, asked.where), axes_of(found, kind, asked)
    plot, flow = SweepPlot(table, found.keys, found.scenario_toml), asked.flow
    if kind == "cdf":
        return plot.cdf(column, by=chosen.by, flow=flow)
    if kind == "paired":
        key, pair = pair_of(found, asked.paired)
        return plot.paired(key, pair, column, x=chosen.x, flow=flow)
    x = str(chosen.x)
    if kind in SURFACES:
        surface: Figure = getattr(plot, kind)(x, chosen.y, column, flow=flow)
        return surface
    by = chosen.by or _of_flows(table, asked)
    return plot.metric(x, column, by=by, flow=flow, models=asked.models)


def axes_of(found: Sweep, kind: str, asked: FigureRequest) -> Axes:
    """Parameters on the axes, derived from the grid alone, before any runs.

    Raises:
        UsageError: The figure shows fewer keys than vary, or needs more.
    """
    grid = _at(found, found.grid, asked.where)
    if grid.is_empty() and found.keys:
        raise UsageError("no run is left: the conditions of --where exclude each other")
    varying = [key for key in found.keys if grid[key].n_unique() > 1]
    if kind == "cdf":
        rest = [key for key in varying if key != asked.by]
        if len(rest) > (0 if asked.by else 1):
            raise UsageError(_too_many(rest))
        return Axes(by=asked.by or _only_one(varying))
    if kind in SURFACES:
        return Axes(*_two(varying, asked))
    if kind == "paired":
        key, _ = pair_of(found, asked.paired)
        return Axes(asked.x or _only_one([it for it in varying if it != key]))
    x = asked.x or _numbers_first(grid, varying or found.keys, asked.by)
    return Axes(x, by=asked.by or _only_one([it for it in varying if it != x]))


def _at(found: Sweep, table: pl.DataFrame, where: Sequence[str]) -> pl.DataFrame:
    """Rows of the points that `where` selects."""
    for word in where:
        table = _only(table, *_held(found, word))
    return table


def check(asked: FigureRequest, kinds: Sequence[str]) -> None:
    """Refuses options that no requested figure accepts.

    Raises:
        UsageError: An option is refused; the message says which.
    """
    takes = {
        "--x": (asked.x, ("metric", "paired", *SURFACES)),
        "--y": (asked.y, SURFACES),
        "--by": (asked.by, ("metric", "cdf")),
        "--paired": (asked.paired, ("paired",)),
        "--model": (asked.models, ("metric",)),
    }
    for option, (value, takers) in takes.items():
        if value and not set(takers) & set(kinds):
            raise UsageError(f"{option} is for {', '.join(takers)}: leave it out")


def pair_of(found: Sweep, text: str | None) -> tuple[str, tuple[Any, Any]]:
    """Key and its two compared values, from `A,B` or `KEY=A,B`.

    Raises:
        UsageError: No key has these values, or several do.
    """
    if text is None:
        raise UsageError(
            "name the compared values: --paired A,B, two values of a key, such as cubic,bbr"
        )
    key, values = assignment(text) or (None, text)
    words = [word.strip() for word in split_values(values)]
    if len(words) != 2:
        raise UsageError(f"--paired {text}: write two values, A,B or KEY=A,B")
    if key is not None:
        first, second = (value_of(found, key, word) for word in words)
        return key, (first, second)
    if not found.keys:
        raise UsageError(f"--paired {text}: nothing varies: add --vary KEY=A,B")
    having = [it for it in found.keys if all(_find(found, it, word) for word in words)]
    if not having:
        there = "; ".join(
            f"{it}: {_listed(map(str, found.grid[it].unique(maintain_order=True)))}"
            for it in found.keys
        )
        raise UsageError(f"--paired {text}: no key has both values; there is {there}")
    if len(having) > 1:
        raise UsageError(
            f"--paired {text}: {' and '.join(having)} have these values: write {having[0]}={text}"
        )
    return having[0], (value_of(found, having[0], words[0]), value_of(found, having[0], words[1]))


def value_of(found: Sweep, key: str, text: str) -> Any:  # noqa: ANN401
    """Value of a key by its text.

    Raises:
        UsageError: The key or value is unknown.
    """
    if key not in found.keys:
        raise UsageError(f"no key {key!r} varies{choice(key, found.keys, _listed(found.keys))}")
    values = _find(found, key, text)
    if not values:
        there = list(map(str, found.grid[key].unique(maintain_order=True)))
        raise UsageError(f"{key} is never {text}{choice(text, there, _listed(there))}")
    return values[0]


def _find(found: Sweep, key: str, text: str) -> list[Any]:
    known = found.grid[key].to_list()
    exact = [value for value in (plain_value(TomlText(text)), text) if value in known]
    # A name as in figures, such as `Aimd`, is accepted if it stands for one value.
    short = [value for value in dict.fromkeys(known) if value_name(value) == text]
    return exact or (short if len(short) == 1 else [])


def _held(found: Sweep, word: str) -> tuple[str, Any]:
    pair = assignment(word)
    if not pair:
        raise UsageError(f"--where {word}: write KEY=VALUE")
    return pair[0], value_of(found, *pair)


def _only(table: pl.DataFrame, key: str, value: object) -> pl.DataFrame:
    import polars as pl

    column = pl.col(key)
    return table.filter((column.cast(pl.String) if isinstance(value, str) else column) == value)


def _two(varying: Sequence[str], asked: FigureRequest) -> tuple[str, str]:
    """The two keys of a surface."""
    rest = [key for key in varying if key not in (asked.x, asked.y)]
    chosen = [
        asked.x or (rest.pop(0) if rest else None),
        asked.y or (rest.pop(0) if rest else None),
    ]
    if None in chosen:
        raise UsageError("a surface needs two keys that vary: name them with --x and --y")
    if rest:
        raise UsageError(_too_many(rest))
    x, y = (str(key) for key in chosen)
    return x, y


def _numbers_first(grid: pl.DataFrame, keys: Sequence[str], by: str | None) -> str:
    """Key for the axis: numeric keys are preferred, then keys with more values."""
    from retx.plots.metric import Places

    free = [key for key in keys if key != by]
    if not free:
        raise UsageError("nothing varies in this sweep: draw cdf")
    return min(free, key=lambda key: (Places(grid[key]).names is not None, -grid[key].n_unique()))


def _only_one(keys: Sequence[str]) -> str | None:
    if len(keys) > 1:
        raise UsageError(_too_many(keys))
    return keys[0] if keys else None


def _of_flows(table: pl.DataFrame, asked: FigureRequest) -> str | None:
    """The column `name`, for a curve per flow, if there are several flows."""
    return "name" if asked.flow is None and table["name"].n_unique() > 1 else None


def _too_many(keys: Sequence[str]) -> str:
    return (
        f"{_listed(keys)} vary, too: choose with --x and --by, and hold others at a value by "
        f"--where {keys[0]}=VALUE (retx plot DIR)"
    )


def _listed(words: Any) -> str:  # noqa: ANN401
    return ", ".join(words) or "none"
