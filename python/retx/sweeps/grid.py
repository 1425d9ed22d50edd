"""Converts the table `[sweep]` to the points of its grid."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from retx import _native
from retx.errors import warn
from retx.scenarios.source import override_pairs, plain, toml_value

if TYPE_CHECKING:
    import polars as pl

Point = tuple[Any, ...]
"""The values of a point, in the order of the keys."""

CASE = "case"
"""The key of the grid whose values are names of cases."""


@dataclass(frozen=True)
class Case:
    """Named point: values of several keys, from `[[sweep.case]]`."""

    name: str
    set: Mapping[str, Any] = field(default_factory=dict)
    """Values by their key in the scenario."""
    replications: int | None = None
    """Number of runs of this case, if it differs from that of the sweep: 1 if nothing is random."""


@dataclass(frozen=True)
class Until:
    """Stopping criterion for the runs of a point."""

    metric: str
    relative_half_width: float
    confidence: float
    max_replications: int


@dataclass(frozen=True)
class Grid:
    """Keys and values that a sweep varies, and the number of runs of each point."""

    keys: tuple[str, ...]
    points: tuple[Point, ...]
    replications: int | None = None
    until: Until | None = None
    cases: tuple[Case, ...] = ()
    """Cases; if there are any, the first key is `CASE`."""

    def changes(self) -> Iterator[list[tuple[str, str]]]:
        """Settings of each point, in the form of `--set`; those of its case come first."""
        # Many points have the same values, so the text of each value is stored.
        texts: dict[int, str] = {}
        cases = {case.name: override_pairs(case.set) for case in self.cases}

        def text(value: object) -> str:
            known = texts.get(id(value))
            if known is None:
                known = texts[id(value)] = toml_value(value)
            return known

        start = 1 if cases else 0
        for point in self.points:
            first = cases[point[0]] if cases else []
            rest = zip(self.keys[start:], point[start:], strict=True)
            yield [*first, *((key, text(value)) for key, value in rest)]

    def own_replications(self) -> tuple[int | None, ...]:
        """Number of runs set by the case of each point; None if it sets no number."""
        said = {case.name: case.replications for case in self.cases}
        return tuple(said.get(point[0]) if said else None for point in self.points)

    def columns(self) -> dict[str, pl.Series]:
        """A column for each key."""
        return {
            key: _column(key, [point[index] for point in self.points])
            for index, key in enumerate(self.keys)
        }


def read_grid(table: Mapping[str, Any], cases: Sequence[Case] | None = None) -> Grid:
    """Grid of a `[sweep]`; NumPy arrays and Python ranges are accepted as lists.

    Args:
        table: Content of `[sweep]`.
        cases: Cases that replace those of the table.

    Raises:
        ScenarioError: The table is invalid; the message says where and why.
    """
    text = json.dumps(_plain(table))
    checked = json.loads(_native.read_sweep(text))
    if cases is None:
        cases = [Case(**case) for case in checked.get("cases", [])]
    axes = [_side_by_side(axis) for axis in checked["axes"]]
    cube = checked["hypercube"]
    if cube:
        shares = _spread(cube["points"], len(cube["dimensions"]), cube["seed"])
        names, rows = _side_by_side(json.loads(_native.fill_hypercube(text, shares)))
        few = len(_distinct(rows))
        if few < len(rows):
            warn(
                f"sweep.latin_hypercube: of {len(rows)} points {few} differ, and each is run once: "
                "lists and whole numbers have too few values for more"
            )
        axes.append((names, rows))
    if cases:
        _check_cases(cases, [key for names, _ in axes for key in names])
        axes.insert(0, ((CASE,), [(case.name,) for case in cases]))
    keys = tuple(key for names, _ in axes for key in names)
    choices = itertools.product(*(rows for _, rows in axes))
    points = _distinct(tuple(itertools.chain.from_iterable(choice)) for choice in choices)
    until = Until(**checked["until"]) if checked["until"] else None
    return Grid(keys, points, checked["replications"], until, tuple(cases))


def plain_case(case: Case) -> dict[str, Any]:
    """A case as a value for JSON and TOML."""
    said = asdict(case) | {"set": json.loads(json.dumps(dict(case.set), default=plain))}
    return {key: value for key, value in said.items() if value is not None}


def _check_cases(cases: Sequence[Case], varied: Sequence[str]) -> None:
    seen = set[str]()
    for case in cases:
        if case.name in seen:
            raise _native.ScenarioError(
                f"sweep: two cases {case.name!r}: give each case its own name"
            )
        seen.add(case.name)
        both = [key for key in case.set if key in varied]
        if both:
            raise _native.ScenarioError(
                f'sweep: "{both[0]}" varies, and case {case.name!r} sets it: leave out one'
            )


def _side_by_side(axis: dict[str, list[Any]]) -> tuple[tuple[str, ...], list[Point]]:
    return tuple(axis), list(zip(*axis.values(), strict=True))


def _distinct(points: Iterable[Point]) -> tuple[Point, ...]:
    """Points without duplicates, since their runs would have the same draws."""

    def seen_as(value: object) -> object:
        # 1 and 1.0 are the same number, but true, which equals 1 in Python, is not.
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return value if value is None or number else toml_value(value)

    first = dict[Point, Point]()
    for point in points:
        first.setdefault(tuple(map(seen_as, point)), point)
    return tuple(first.values())


def _spread(points: int, dimensions: int, seed: int) -> list[list[float]]:
    """Latin hypercube: one position in each of `points` equal parts, shuffled for each key."""
    from scipy.stats import qmc

    sample = qmc.LatinHypercube(dimensions, seed=seed).random(points)
    return [[float(share) for share in column] for column in sample.T]


def _plain(value: object, where: str = "sweep") -> Any:  # noqa: ANN401
    """Value for JSON; `where` is its name in errors."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item, f"{where}.{key}") for key, item in value.items()}
    for method in ("tolist", "to_list"):  # numpy, polars
        if hasattr(value, method):
            return _plain(getattr(value, method)(), where)
    if isinstance(value, float) and not math.isfinite(value):
        raise _native.ScenarioError(f"{where}: {value} is not finite: write numbers")
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    if isinstance(value, Sequence | range):
        return [_plain(item, where) for item in value]
    raise _native.ScenarioError(f"{where}: {value!r}: {type(value).__name__} is not a TOML value")


def _column(key: str, values: list[Any]) -> pl.Series:
    """Column of values: numbers, texts in the order of the grid, tables as TOML, None as null."""
    import polars as pl

    there = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in there):
        return pl.Series(key, values, dtype=pl.Boolean)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in there):
        whole = all(isinstance(value, int) for value in there)
        return pl.Series(key, values, dtype=pl.Int64 if whole else pl.Float64, strict=False)
    texts = [value if isinstance(value, str | None) else toml_value(value) for value in values]
    known = list(dict.fromkeys(text for text in texts if text is not None))
    return pl.Series(key, texts, dtype=pl.Enum(known))
