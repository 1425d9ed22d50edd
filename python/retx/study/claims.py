"""Published numbers, and claims about them, as defined in the files of a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar, get_args

from retx.study.data import StudyError, Target, last_digit, rounded
from retx.study.rules import FORMER, Rule

T = TypeVar("T")
Use = Literal["", "calibrate", "held out"]
"""Uses of a claim in a joint calibration."""
USES = tuple(filter(None, get_args(Use)))
NotCounted = Literal["", "fitted", "definition"]
"""Reasons to show a claim without counting it: a fit has used its number, or it follows from the
definition of the model."""
ALL = "*"
"""Name that stands for all cases not named."""
BETWEEN = ", "
"""Separator between cases that share a reason."""


@dataclass(frozen=True)
class Series:
    """Numbers of one table of the paper, one for each case of an experiment."""

    title: str
    source: str
    unit: str
    values: dict[str, float]
    subtract: float = 0.0
    """An offset that is subtracted before the comparison."""
    subtract_why: str = ""

    @property
    def targets(self) -> dict[str, Target]:
        """The paper's numbers minus `subtract`, with their rounding, by case."""
        printed = {case: rounded(value) for case, value in self.values.items()}
        return {case: Target(it.value - self.subtract, it.rounding) for case, it in printed.items()}


@dataclass(frozen=True)
class Number:
    """A single number of the paper."""

    value: float
    unit: str
    source: str
    about: bool = False
    """True for “about”: the last digit is uncertain by one unit instead of half a unit."""
    step: float = 0.0
    """Size of one unit of the last digit, if it differs from that of the number as written."""
    step_why: str = ""
    """Reason for a step that is wider than the last digit."""

    def __post_init__(self) -> None:
        if self.step > last_digit(self.value) and not self.step_why:
            raise StudyError(
                f"step {self.step:g} is wider than the last digit of {self.value:g}: "
                "give the reason as `step_why`"
            )

    def target(self) -> Target:
        """The number with its rounding."""
        unit = self.step or last_digit(self.value)
        return Target(float(self.value), unit if self.about else unit / 2)


@dataclass(frozen=True)
class Published:
    """The paper's numbers."""

    series: dict[str, Series]
    numbers: dict[str, Number]

    def value(self, name: str) -> float:
        """A number as printed: `NUMBER`, or `SERIES/CASE`.

        Raises:
            StudyError: The paper has no such number.
        """
        series, _, case = name.partition("/")
        try:
            return self.series[series].values[case] if case else self.numbers[name].value
        except KeyError:
            raise StudyError(f"published.toml has no {name!r}") from None


@dataclass(frozen=True, kw_only=True)
class Counting:
    """Keys of claims, and of all rows of a table, that say how they are judged and counted."""

    published_is: Literal["run", "mean"] = "run"
    """Kind of published value, for `number`: `run` for a run of the paper, `mean` for a mean."""
    scale: float = 0.0
    """Relative limits refer to the published number, or to this value if it is larger. With 0.2, a
    limit of 25 % is at least 0.05.
    """
    use: Use = ""
    counts: NotCounted = ""
    part_of: str = ""
    """Id of the claim or rows from which this one follows, so that it is shown but not counted."""


@dataclass(frozen=True)
class Claim(Counting):
    """One claim of the paper."""

    id: str
    statement: str
    source: str
    how: str
    """Method of measurement."""
    rule: Rule
    measured: str = ""
    """Name of a value that the study's `values` computes."""
    published: float | str | None = None
    """The paper's number, or its place in `published.toml`: the name of a `number`, or
    `SERIES/CASE`."""
    tolerance: float = 0.0
    why: str = ""
    """Reason for this tolerance, bound or direction."""
    because: str = ""
    """Reason why the measured value differs, if it does, or why the claim cannot be decided.
    A Jinja template."""
    switched: list[str] = field(default_factory=list)
    """Runs that support `because`, each with one change: `EXPERIMENT/CASE`."""
    remark: str = ""
    """Remark that is shown even if the claim agrees. A Jinja template."""
    unit: str = ""
    experiment: str = ""
    case: str = ""
    """Case whose command runs the claim again."""
    at: dict[str, Any] = field(default_factory=dict)
    """A point of the experiment's grid: a value for each key."""
    claimed: str = ""
    """Claim in words: for `direction` “above 1”, for `trend` “rises”, “falls” or “level”, for
    `order` “A > B, C”: A above both."""

    def __post_init__(self) -> None:
        name, published_is = FORMER.get(self.rule, (self.rule, self.published_is))
        object.__setattr__(self, "rule", name)
        object.__setattr__(self, "published_is", published_is)
        if self.rule == "undecidable" and not self.because.strip():
            raise StudyError(f"{self.id}: rule 'undecidable' needs `because`: what the paper lacks")

    @property
    def ours(self) -> bool:
        """True if the bound was set by the study, and is not printed in the paper."""
        return self.rule in ("at_least", "at_most") and not isinstance(self.published, str)

    @property
    def counted(self) -> bool:
        """True if its verdict may count."""
        return not (self.counts or self.part_of)


@dataclass(frozen=True)
class Rows(Counting):
    """Claims of one table, with a number for each case of an experiment."""

    id: str
    statement: str
    published: str
    """Name of the series."""
    experiment: str
    quantity: str
    tolerance: float
    """Tolerance for cases whose runs do not depend on random draws."""
    why: str
    """Reason for this tolerance."""
    because: dict[str, str] = field(default_factory=dict)
    """Reasons for differences, by case (`"1"`, several as `"1, 2"`, all others as `"*"`).
    Jinja templates.
    """
    switched: dict[str, list[str]] = field(default_factory=dict)
    """Runs that support `because`, by case, each with one change; as in a `Claim`."""
    given: list[str] = field(default_factory=list)
    """Ids of rows of the same experiment that describe the paper's run, such as its channel: only
    runs in which these have the paper's numbers, within 25 %, are compared."""

    def claims(self, series: Series) -> list[Row]:
        """The rows, one for each number of the series."""
        counting = {it.name: getattr(self, it.name) for it in fields(Counting)}
        return [
            Row(
                id=f"{self.id} {case}",
                statement=self.statement,
                source=series.source,
                how=self.quantity,
                rule="number",
                published=f"{self.published}/{case}",
                tolerance=self.tolerance,
                why=self.why,
                because=of_case(self.because, case, ""),
                switched=of_case(self.switched, case, []),
                unit=series.unit,
                experiment=self.experiment,
                case=case,
                rows=self,
                **counting,
            )
            for case in series.values
        ]


@dataclass(frozen=True)
class Row(Claim):
    """A row of a table, as a claim."""

    rows: Rows = field(kw_only=True)


def of_case(given: Mapping[str, T], case: str, otherwise: T) -> T:
    """Value given for a case: by its name, by one of several names, or for all others."""
    for cases, found in given.items():
        if case == cases or case in cases.split(BETWEEN):
            return found
    return given.get(ALL, otherwise)
