"""Measures: what the files of a study compute from its runs, as tables of TOML.

    mean = "table_1/2"                               mean of a quantity of a case
    mean = "loss/reno @ p=0.01, count=3"             of a point: axes by the end of their keys
    ratio = ["loss/veno @ p=0.01", "loss/reno @ …"]  run by run, geometric mean; or `difference`
    runs = ["a/x", "a/y"], is = "100 * (1 - a / b)"  mean of an expression of each run
    means = ["a/x", "a/y"], is = "a / b"             expression of the means (jackknife)
    curve = "loss/reno @ p={x}", x = [0.01, 0.02]    points over an axis; a pair for quotients
    paper = ["fer/2", "attempts"], is = "a * b"      expression of published numbers
    lowest = "gain_{ber}", over = { ber = "rates" }  of named values; or `highest`, `furthest`

`of` is the quantity, or a list with one for each place; by default that of the experiment. `over`
with `means` makes each name of the expression a list. `then` changes a result (`100 * (x - 1)`),
`scale` changes its unit, and `share = true` limits an interval to 0 … 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isclose
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from retx.study.arithmetic import arithmetic
from retx.study.data import StudyError, build
from retx.study.estimates import (
    Estimate,
    Values,
    as_share,
    changed,
    estimate,
    of_means,
    paired_difference,
    paired_ratio,
    quotients,
    scaled,
)
from retx.study.items import Lists, Scope, in_name, in_place
from retx.study.points import Points

if TYPE_CHECKING:
    from retx.study.measured import Measured

Found = Estimate | Points | None
Places = str | list[str]
Picked = Callable[[Estimate], float]
PICKS: Mapping[str, Picked] = {
    "lowest": lambda it: -it.mean,
    "highest": lambda it: it.mean,
    "furthest": lambda it: abs(it.mean),
}
KINDS = ("mean", "ratio", "difference", "runs", "means", "curve", "paper", *PICKS)


@dataclass(frozen=True)
class Measure:
    """One measure; see the text of this module."""

    mean: str = ""
    ratio: Places = ""
    difference: Places = ""
    runs: Places = ""
    means: Places = ""
    curve: Places = ""
    paper: Places = ""
    lowest: str = ""
    highest: str = ""
    furthest: str = ""
    of: Places = ""
    over: dict[str, Any] = field(default_factory=dict)
    x: Any = None
    geometric: bool = False
    text: str = ""
    """The expression, `is` in the file."""
    then: str = ""
    scale: float = 1.0
    share: bool = False
    exact: bool = False
    """True to drop the intervals."""

    def __post_init__(self) -> None:
        given = [kind for kind in KINDS if getattr(self, kind)]
        if len(given) != 1:
            raise StudyError(f"exactly one of {', '.join(KINDS)} is needed ({given or 'none'})")
        if bool(self.text) != bool(self.runs or self.means or self.paper):
            raise StudyError("`is` is needed with `runs`, `means` and `paper`, and only there")

    @property
    def kind(self) -> str:
        """Key of what is computed."""
        return next(kind for kind in KINDS if getattr(self, kind))


def measure(table: Mapping[str, Any], where: str) -> Measure:
    """A measure from a table of a file.

    Raises:
        StudyError: A key is wrong.
    """
    renamed = {"text" if key == "is" else key: value for key, value in table.items()}
    return build(Measure, renamed, where)


@dataclass(frozen=True)
class Point:
    """A case of an experiment, and values of its grid."""

    experiment: str
    case: str
    at: dict[str, Any]


def point(measured: Measured, place: str) -> Point:
    """The point that a place names: `EXPERIMENT/CASE @ AXIS=VALUE, …`.

    Raises:
        StudyError: It does not exist.
    """
    name, _, end = place.partition(" @ ")
    experiment, _, case = name.partition("/")
    known = measured.study.experiments
    if experiment not in known or case not in known[experiment].cases:
        raise StudyError(f"{place!r}: no such case")
    axes = measured.axes(experiment)
    at: dict[str, Any] = {}
    for part in filter(None, end.split(", ")):
        axis, _, text = part.partition("=")
        keys = [key for key in axes if key == axis or key.endswith(f".{axis}")]
        if len(keys) != 1:
            raise StudyError(f"{place!r}: {axis!r} must be the end of one of {', '.join(axes)}")
        matching = [value for value in axes[keys[0]] if _matches(value, text)]
        if not matching:
            there = ", ".join(map(str, axes[keys[0]]))
            raise StudyError(f"{place!r}: {keys[0]} is never {text} (it is {there})")
        at[keys[0]] = matching[0]
    return Point(experiment, case, at)


def _matches(value: object, text: str) -> bool:
    if isinstance(value, bool):
        return text == str(value).lower()
    if isinstance(value, int | float):
        try:
            return isclose(value, float(text), rel_tol=1e-9)
        except ValueError:
            return False
    return str(value) == text


@dataclass(frozen=True)
class Measuring:
    """Computes measures from the runs of a study."""

    measured: Measured
    lists: Lists
    named: Callable[[str], Found]
    """Value by its name."""

    def found(self, what: Measure, scope: Scope) -> Found:
        """The result of a measure.

        Raises:
            StudyError: A place, a quantity or a name does not exist.
        """
        found = self._of_kind(what, scope)
        if not isinstance(found, Estimate):
            return found
        if what.scale != 1:
            found = scaled(found, what.scale)
            assert found is not None
        if what.then:
            function = arithmetic(what.then)
            found = changed(found, lambda value: function(x=value))
        if what.share:
            found = as_share(found)
        return Estimate(found.mean) if what.exact else found

    def _of_kind(self, what: Measure, scope: Scope) -> Found:
        kind = what.kind
        if kind in PICKS:
            return self._picked(getattr(what, kind), what.over, PICKS[kind], scope)
        if kind == "mean":
            at = point(self.measured, in_place(what.mean, scope))
            quantity = in_place(what.of, scope) if isinstance(what.of, str) and what.of else None
            return self.measured.estimate(at.experiment, at.case, quantity, at=at.at)
        if kind == "curve":
            return self._curve(what, scope)
        if kind == "means":
            return self._of_means(what, scope)
        if kind == "paper":
            numbers = [self._published(in_place(name, scope)) for name in _listed(what.paper)]
            given = dict(zip(ascii_lowercase, numbers, strict=False))
            return Estimate(arithmetic(what.text)(**given))
        series = self._series(getattr(what, kind), what.of, scope)
        if kind == "runs":
            return estimate(_each(what.text, series))
        return (paired_ratio if kind == "ratio" else paired_difference)(*series)

    def _published(self, name: str) -> float:
        """A number of the paper: `NUMBER`, or `SERIES/CASE`."""
        published = self.measured.study.published
        series, _, case = name.partition("/")
        try:
            return float(
                published.series[series].values[case] if case else published.numbers[name].value
            )
        except KeyError:
            raise StudyError(f"published.toml has no {name!r}") from None

    def _series(self, places: Places, of: Places, scope: Scope) -> list[Values]:
        """A quantity of each run at each of several places."""
        each = _listed(places)
        quantities = [of] * len(each) if isinstance(of, str) else of
        found = []
        for place, quantity in zip(each, quantities, strict=True):
            at = point(self.measured, in_place(place, scope))
            wanted = quantity or self.measured.study.experiments[at.experiment].quantity
            values = self.measured.values(at.experiment, at.case, in_place(wanted, scope), at=at.at)
            found.append(values)
        return found

    def _of_means(self, what: Measure, scope: Scope) -> Estimate | None:
        function = arithmetic(what.text)
        inner = list(self.lists.scopes(what.over, scope))
        each = [self._series(what.means, what.of, one) for one in inner]
        names = ascii_lowercase[: len(each[0])]

        def whole(*means: float) -> float:
            # Means come place by place for each inner scope.
            parts = {name: list(means[n :: len(names)]) for n, name in enumerate(names)}
            try:
                return function(**(parts if what.over else {it: parts[it][0] for it in parts}))
            except ZeroDivisionError:
                return inf

        series = [one for some in each for one in some]
        most = max(map(len, series))
        # A deterministic series is combined with any number of runs.
        alike = [one[:1] if len(one) < most and len(set(one)) == 1 else one for one in series]
        return of_means(whole, *alike)

    def _curve(self, what: Measure, scope: Scope) -> Points:
        runs: dict[str, Sequence[float | None]] = {}
        for inner in self.lists.scopes({"x": what.x}, scope):
            series = self._series(what.curve, what.of, inner)
            runs[inner["x"].key] = series[0] if len(series) == 1 else quotients(*series)
        return Points(runs, what.geometric)

    def _picked(
        self, name: str, over: Mapping[str, Any], size: Picked, scope: Scope
    ) -> Estimate | None:
        among = [self.named(in_name(name, inner)) for inner in self.lists.scopes(over, scope)]
        return max((it for it in among if isinstance(it, Estimate)), key=size, default=None)


def _listed(places: Places) -> list[str]:
    return [places] if isinstance(places, str) else places


def _each(text: str, series: list[Values]) -> Values:
    """An expression of the values of each run; None where one is missing or a divisor is zero."""
    function = arithmetic(text)
    longest = max(map(len, series))
    full = [list(one) * longest if len(one) == 1 else one for one in series]
    found: Values = []
    for row in zip(*full, strict=False):
        try:
            numbers = dict(zip(ascii_lowercase, row, strict=False))
            found.append(None if None in row else function(**numbers))
        except ZeroDivisionError:
            found.append(None)
    return found
