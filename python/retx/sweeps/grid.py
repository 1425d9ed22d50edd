"""From the table `[sweep]` to the points of its grid."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retx import _native
from retx.source import toml_value

if TYPE_CHECKING:
    import polars as pl

Point = tuple[Any, ...]
"""The values of a point, in the order of the keys."""


@dataclass(frozen=True)
class Until:
    """When a point has been run often enough."""

    metric: str
    relative_half_width: float
    confidence: float
    max_replications: int


@dataclass(frozen=True)
class Grid:
    """What a sweep varies, and how often each point is run."""

    keys: tuple[str, ...]
    points: tuple[Point, ...]
    replications: int | None = None
    until: Until | None = None

    def changes(self) -> Iterator[list[tuple[str, str]]]:
        """What each point sets, as `--set` takes it."""
        # Values come back again and again.
        texts: dict[int, str] = {}

        def text(value: object) -> str:
            known = texts.get(id(value))
            if known is None:
                known = texts[id(value)] = toml_value(value)
            return known

        for point in self.points:
            yield [(key, text(value)) for key, value in zip(self.keys, point, strict=True)]

    def columns(self) -> dict[str, pl.Series]:
        """A column for each key."""
        return {
            key: _column(key, [point[index] for point in self.points])
            for index, key in enumerate(self.keys)
        }


def read_grid(table: Mapping[str, Any]) -> Grid:
    """The grid of a `[sweep]`; numbers of numpy and ranges of Python are lists, too.

    Raises:
        ScenarioError: No sweep can be made of it; the message says where and what.
    """
    text = json.dumps(_plain(table))
    checked = json.loads(_native.read_sweep(text))
    axes = [_side_by_side(axis) for axis in checked["axes"]]
    cube = checked["hypercube"]
    if cube:
        shares = _spread(cube["points"], len(cube["dimensions"]), cube["seed"])
        axes.append(_side_by_side(json.loads(_native.fill_hypercube(text, shares))))
    keys = tuple(key for names, _ in axes for key in names)
    points = tuple(
        tuple(itertools.chain.from_iterable(choice))
        for choice in itertools.product(*(rows for _, rows in axes))
    )
    until = Until(**checked["until"]) if checked["until"] else None
    return Grid(keys, points, checked["replications"], until)


def _side_by_side(axis: dict[str, list[Any]]) -> tuple[tuple[str, ...], list[Point]]:
    return tuple(axis), list(zip(*axis.values(), strict=True))


def _spread(points: int, dimensions: int, seed: int) -> list[list[float]]:
    """Shares of the way for each key: one in each of `points` equal parts, in random order."""
    from scipy.stats import qmc

    sample = qmc.LatinHypercube(dimensions, seed=seed).random(points)
    return [[float(share) for share in column] for column in sample.T]


def _plain(value: object) -> Any:  # noqa: ANN401
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    if hasattr(value, "tolist"):  # numpy
        return value.tolist()
    if isinstance(value, Sequence | range):
        return [_plain(item) for item in value]
    raise _native.ScenarioError(f"sweep: {value!r}: {type(value).__name__} is not a TOML value")


def _column(key: str, values: list[Any]) -> pl.Series:
    """Numbers as numbers; texts, and tables as TOML, in the order of the grid."""
    import polars as pl

    if all(isinstance(value, bool) for value in values):
        return pl.Series(key, values, dtype=pl.Boolean)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        whole = all(isinstance(value, int) for value in values)
        return pl.Series(key, values, dtype=pl.Int64 if whole else pl.Float64, strict=False)
    texts = [value if isinstance(value, str) else toml_value(value) for value in values]
    return pl.Series(key, texts, dtype=pl.Enum(list(dict.fromkeys(texts))))
