"""Measures: what the files of a study compute from its runs, as tables of TOML.

    mean = "table_1/2"                               mean of a quantity of a case
    mean = "loss/reno @ p=0.01, count=3"             of a point: axes by the end of their keys
    ratio = ["loss/veno @ p=0.01", "loss/reno @ …"]  run by run, geometric mean; or `difference`
    runs = ["a/x", "a/y"], is = "100 * (1 - a / b)"  mean of an expression of each run
    most = ["a/x", "a/y"], is = "abs(a - b)"         largest such expression of a run; or `least`
    means = ["a/x", "a/y"], is = "a / b"             expression of the means (jackknife)
    curve = "loss/reno @ p={x}", x = [0.01, 0.02]    points over an axis; a pair for quotients
    paper = ["fer/2", "attempts"], is = "a * b"      expression of published numbers
    number = "2 * {p} + 6"                           an expression of numbers
    value = "gain_5"                                 a named value
    python = "values.spread", with = ["{ber}"]       a function of a Python file of the study
    lowest = "gain_{ber}", over = { ber = "rates" }  of named values; or `highest`, `furthest`
    count = "gain_{ber}", where = "low > 1"          number of those that fulfil a condition
    values = ["gain_5", "gain_6"], is = "a / b"      expression of the means of named values

`of` is the quantity, or a list with one for each place; by default that of the experiment. With
`over`, the names in the expression of `means`, `runs`, `least`, `most` or `values` are lists, and a
`ratio` is the geometric mean of all. The condition of a `count` has the names `x` for the mean, and
`low` and `high` for the ends of the interval. A function of Python receives the results of the runs
(`Measured`) and the texts `with`; it returns an estimate, points, a number, or None without runs. A
number may be changed: `scale` changes its unit, `then` is a monotone function (`100 * (x - 1)`),
`share = true` limits its interval to 0 … 1, and `exact = true` drops the intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from retx.study.arithmetic import arithmetic
from retx.study.data import StudyError, look_up
from retx.study.estimates import (
    Estimate,
    Values,
    as_share,
    changed,
    estimate,
    exact,
    geometric_mean,
    of_means,
    paired,
    paired_difference,
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
ENDS: Mapping[str, Callable[[list[float]], float]] = {"least": min, "most": max}
NUMBER = ("scale", "then", "share", "exact")
"""Keys that change a number."""
KEYS: Mapping[str, tuple[str, ...]] = {
    "mean": ("of", *NUMBER),
    "ratio": ("of", "over", *NUMBER),
    "difference": ("of", *NUMBER),
    **dict.fromkeys(("runs", "means", *ENDS), ("is", "of", "over", *NUMBER)),
    "curve": ("x", "of", "geometric"),
    "paper": ("is", *NUMBER),
    "number": NUMBER,
    "value": NUMBER,
    "python": ("with", *NUMBER),
    **dict.fromkeys(PICKS, ("over", *NUMBER)),
    "count": ("where", "over", *NUMBER),
    "values": ("is", "over", *NUMBER),
}
"""The kinds of measures, and the keys that belong to each."""
NEEDED = ("is", "x", "where")
"""Keys without a default, where they belong to the kind."""
CONDITION = ("x", "low", "high")
"""Names in a condition of a number: its mean, and the ends of its interval."""
COUNTS = {"ratio": (2,), "difference": (2,), "curve": (1, 2)}
"""Possible numbers of places; other lists have as many as there are letters."""


@dataclass(frozen=True)
class Measure:
    """One measure; see the text of this module."""

    mean: str = ""
    ratio: list[str] = field(default_factory=list)
    difference: list[str] = field(default_factory=list)
    runs: Places = ""
    least: Places = ""
    most: Places = ""
    means: Places = ""
    curve: Places = ""
    paper: Places = ""
    number: str = ""
    value: str = ""
    python: str = ""
    with_: list[str] = field(default_factory=list)
    lowest: str = ""
    highest: str = ""
    furthest: str = ""
    count: str = ""
    values: Places = ""
    of: Places = ""
    over: dict[str, Any] = field(default_factory=dict)
    x: str | list[Any] | dict[str, Any] = ""
    geometric: bool = False
    is_: str = ""
    where: str = ""
    then: str = ""
    scale: float = 1.0
    share: bool = False
    exact: bool = False

    def __post_init__(self) -> None:
        places = self.places
        counts = COUNTS.get(self.kind, range(1, len(ascii_lowercase) + 1))
        if len(places) not in counts:
            wanted = " or ".join(map(str, counts)) if self.kind in COUNTS else "1 to 26"
            raise StudyError(f"{self.kind}: needs {wanted} places; found {len(places)}")
        if isinstance(self.of, list) and len(self.of) != len(places):
            raise StudyError(f"of: one quantity is needed, or {len(places)}; found {len(self.of)}")
        if self.is_:
            arithmetic(self.is_, self.letters)
        if self.where:
            arithmetic(self.where, CONDITION)
        if self.then:
            arithmetic(self.then, "x")

    @staticmethod
    def check_keys(table: Mapping[str, Any], where: str) -> None:
        """Refuses a table whose keys do not belong to one kind of measure.

        Raises:
            StudyError: A key is wrong.
        """
        given = [kind for kind in KEYS if table.get(kind)]
        if len(given) != 1:
            found = ", ".join(given or table) or "none"
            raise StudyError(f"{where}: exactly one of {', '.join(KEYS)} is needed; found {found}")
        (kind,) = given
        known = KEYS[kind]
        for key in table:
            if key not in (kind, *known):
                keys = ", ".join(known)
                raise StudyError(f"{where}.{key}: unknown key with `{kind}` (keys there: {keys})")
        for key in NEEDED:
            if key in known and not table.get(key):
                raise StudyError(f"{where}: `{kind}` needs `{key}`")

    def by_default(self, of: Places) -> Measure:
        """The measure with a quantity, if it needs one and names none."""
        return replace(self, of=of) if of and not self.of and "of" in KEYS[self.kind] else self

    @property
    def kind(self) -> str:
        """Key of what is computed."""
        return next(kind for kind in KEYS if getattr(self, kind))

    @property
    def places(self) -> list[str]:
        """Places or names from which the measure is computed."""
        return listed(getattr(self, self.kind))

    @property
    def letters(self) -> str:
        """Names of the places in an expression."""
        return ascii_lowercase[: len(self.places)]


def listed(places: Places) -> list[str]:
    """Places as a list, if there is only one, too."""
    return [places] if isinstance(places, str) else places


@dataclass(frozen=True)
class Measuring:
    """Computes measures from the runs of a study, and its named values when they are asked for."""

    measured: Measured
    _known: dict[str, Found] = field(default_factory=dict)
    _begun: list[str] = field(default_factory=list)
    """Names of the values that are being computed, each of which needs the next one."""

    @property
    def lists(self) -> Lists:
        """The lists of the study."""
        return self.measured.study.declared.lists

    def named(self, name: str) -> Found:
        """A named value.

        Raises:
            StudyError: There is no such value, or a place or a quantity of it does not exist.
        """
        declared = self.measured.study.declared
        own = look_up("value", name, declared.values, listed=False)
        if name in self._begun:
            raise StudyError(f"{name!r} is computed from itself")
        if name not in self._known:
            self._begun.append(name)
            try:
                self._known[name] = self.found(*own)
            except StudyError as error:
                # An error in a value that this one needs names its own place.
                if str(error).startswith(str(declared.path)):
                    raise
                raise StudyError(f"{declared.path}: {name}: {error}") from None
            finally:
                self._begun.pop()
        return self._known[name]

    def found(self, what: Measure, scope: Scope) -> Found:
        """The result of a measure.

        Raises:
            StudyError: A place, a quantity or a name does not exist, or a result is no number.
        """
        try:
            found = self._of_kind(what, scope)
            if not isinstance(found, Estimate):
                return found
            if what.scale != 1:
                found = scaled(found, what.scale)
                assert found is not None
            if what.then:
                function = arithmetic(what.then, "x")
                found = changed(found, lambda value: function(x=value))
        except ZeroDivisionError as error:
            raise StudyError(f"{what.then or what.is_!r}: {error}") from None
        if what.share:
            found = as_share(found)
        return Estimate(found.mean) if what.exact else found

    def _of_kind(self, what: Measure, scope: Scope) -> Found:
        kind = what.kind
        if kind in (*PICKS, "count", "values"):
            return self._of_named(what, scope)
        if kind == "number":
            return Estimate(arithmetic(in_place(what.number, scope), "")())
        if kind == "value":
            return self.named(in_name(what.value, scope))
        if kind == "python":
            return _number(self.returned(what.python, what.with_, scope), what.python)
        if kind == "mean":
            of = what.of if isinstance(what.of, str) else what.of[0]
            return self.measured.at(in_place(what.mean, scope)).estimate(in_place(of, scope))
        if kind == "curve":
            return self._curve(what, scope)
        if kind == "means":
            return self._of_means(what, scope)
        if kind == "paper":
            published = self.measured.study.published
            numbers = [published.value(in_place(name, scope)) for name in what.places]
            given = dict(zip(what.letters, numbers, strict=True))
            return Estimate(arithmetic(what.is_, what.letters)(**given))
        series = [self._series(what, inner) for inner in self.lists.scopes(what.over, scope)]
        if kind == "runs":
            return estimate(_each(what, series))
        if kind in ENDS:
            known = [it for it in _each(what, series) if it is not None]
            return Estimate(ENDS[kind](known)) if known else None
        if kind == "ratio":
            return geometric_mean(*(quotients(*one) for one in series))
        return paired_difference(*series[0])

    def returned(self, function: str, given: list[str], scope: Scope) -> Any:  # noqa: ANN401
        """The result of a function of the study; None while the runs have no numbers.

        Raises:
            StudyError: There is no such function.
            UserCodeError: It fails.
        """
        code, arguments = self.measured.study.code, [in_place(it, scope) for it in given]
        if not self.measured.runs.has_numbers:
            code.function(function)
            return None
        return code.call(function, self.measured, *arguments)

    def _series(self, what: Measure, scope: Scope) -> list[Values]:
        """A quantity of each run at each place."""
        quantities = [what.of] * len(what.places) if isinstance(what.of, str) else what.of
        return [
            self.measured.at(in_place(place, scope)).values(in_place(quantity, scope))
            for place, quantity in zip(what.places, quantities, strict=True)
        ]

    def _of_means(self, what: Measure, scope: Scope) -> Estimate | None:
        each = [self._series(what, inner) for inner in self.lists.scopes(what.over, scope)]
        return of_means(_expression(what), *(one for some in each for one in some))

    def _curve(self, what: Measure, scope: Scope) -> Points:
        runs: dict[str, Values] = {}
        for inner in self.lists.scopes({"x": what.x}, scope):
            above, *below = self._series(what, inner)
            runs[inner["x"].key] = quotients(above, *below) if below else above
        return Points(runs, what.geometric)

    def _of_named(self, what: Measure, scope: Scope) -> Estimate | None:
        scopes = self.lists.scopes(what.over, scope)
        names = [in_name(place, inner) for inner in scopes for place in what.places]
        found = {name: self.named(name) for name in names}
        for name, it in found.items():
            if isinstance(it, Points):
                raise StudyError(f"{name!r} is a curve, not a number")
        among = [it for it in map(found.get, names) if isinstance(it, Estimate)]
        if what.kind in PICKS:
            return max(among, key=PICKS[what.kind], default=None)
        if what.kind == "count":
            holds = arithmetic(what.where, CONDITION)
            ends = [(it.mean, it.bounds.low, it.bounds.high) for it in among]
            return Estimate(sum(holds(x=mean, low=low, high=high) for mean, low, high in ends))
        means = [it.mean for it in among]
        return Estimate(_expression(what)(*means)) if len(means) == len(names) else None


def _number(found: object, function: str) -> Found:
    """Named value from the result of a function of the study."""
    if found is None or isinstance(found, Estimate | Points):
        return found
    if isinstance(found, int | float):
        return exact(found)
    raise StudyError(f"{function} returns {found!r}, which is no number")


def _expression(what: Measure) -> Callable[..., float]:
    """The expression of a measure, of numbers place by place for each item of `over`."""
    function, names = arithmetic(what.is_, what.letters), what.letters

    def whole(*numbers: float) -> float:
        parts = {name: list(numbers[n :: len(names)]) for n, name in enumerate(names)}
        return function(**(parts if what.over else {it: parts[it][0] for it in parts}))

    return whole


def _each(what: Measure, series: list[list[Values]]) -> Values:
    """An expression of the values of each run; None where one is missing or a divisor is zero."""
    function, found = _expression(what), Values()
    for row in paired(*(one for some in series for one in some)):
        try:
            found.append(None if row is None else function(*row))
        except ZeroDivisionError:
            found.append(None)
    return found
