"""Published numbers, and claims about them, as defined in the files of a study."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Any

from retx.study.data import StudyError, Target, last_digit, rounded, unknown
from retx.study.rules import FORMER, Criterion
from retx.study.thresholds import NUMBER

USES = ("", "calibrate", "held out")
"""Uses of a claim in a joint calibration."""
NOT_COUNTED = ("", "fitted", "definition")
"""Reasons to show a claim without counting it: a fit has used its number, or it follows from the
definition of the model."""


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

    def comparable(self, case: str) -> float | None:
        """The paper's number for a case minus `subtract`; None if the paper has no such number."""
        target = self.target(case)
        return None if target is None else target.value

    def target(self, case: str) -> Target | None:
        """Number as `comparable` returns it, with its rounding."""
        if case not in self.values:
            return None
        printed = rounded(self.values[case])
        return Target(printed.value - self.subtract, printed.rounding)


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


@dataclass(frozen=True)
class Rows:
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
    published_is: str = "run"
    """`run`: each number is one run of the paper; `mean`: a mean of many."""
    scale: float = 0.0
    use: str = ""
    counts: str = ""
    """One of `NOT_COUNTED`, as in a `Claim`."""
    part_of: str = ""
    given: list[str] = field(default_factory=list)
    """Ids of rows of the same experiment that describe the paper's run, such as its channel: only
    runs in which these have the paper's numbers, within 25 %, are compared."""

    def criterion(self, target: Target) -> Criterion:
        """The rule for one row."""
        return Criterion("number", target, {}, self.published_is, self.tolerance, self.scale)


@dataclass(frozen=True)
class Claim:
    """One claim of the paper."""

    id: str
    statement: str
    source: str
    how: str
    """Method of measurement."""
    rule: str
    """One of `retx.study.rules.RULES`."""
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
    published_is: str = "run"
    """Kind of published value, for `number`: `run` for a run of the paper, `mean` for a mean."""
    scale: float = 0.0
    """Relative limits refer to the published number, or to this value if it is larger. With 0.2, a
    limit of 25 % is at least 0.05.
    """
    use: str = ""
    """One of `USES`."""
    counts: str = ""
    """One of `NOT_COUNTED`; empty for a claim that counts."""
    part_of: str = ""
    """Id of the claim or rows from which this one follows, so that it is shown but not counted."""

    def __post_init__(self) -> None:
        name, published_is = FORMER.get(self.rule, (self.rule, self.published_is))
        object.__setattr__(self, "rule", name)
        object.__setattr__(self, "published_is", published_is or "run")
        if name == "undecidable" and not self.because.strip():
            raise StudyError(f"{self.id}: rule 'undecidable' needs `because`: what the paper lacks")

    @property
    def ours(self) -> bool:
        """True if the bound was set by the study, and is not printed in the paper."""
        return self.rule in ("at_least", "at_most") and not isinstance(self.published, str)


@dataclass(frozen=True)
class Statement:
    """A statement of the paper that gets a verdict: a claim, or a row of a table."""

    id: str
    of: Claim | Rows
    source: str
    criterion: Criterion
    case: str = ""
    """The case, if it is a row."""

    @property
    def counted(self) -> bool:
        """True if its verdict may count."""
        return not (self.of.counts or self.of.part_of)


def check_tolerance(claim: Claim | Rows, targets: Iterable[Target]) -> None:
    """Checks that a tolerance has an effect.

    Args:
        claim: The claim or rows with this tolerance, in the unit of the published numbers.
        targets: The published numbers.

    Raises:
        StudyError: It is negative, or above 25 % of all these numbers.
    """
    tolerance = claim.tolerance
    most = max((NUMBER * max(abs(it.value), claim.scale) for it in targets), default=inf)
    if tolerance < 0:
        raise StudyError(f"tolerance: {tolerance:g} is negative")
    if tolerance > max(most, 1e-12) * (1 + 1e-9) and most:
        raise StudyError(
            f"tolerance: {tolerance:g} is more than 25 % of the published number; at most "
            f"{most:g}, in the unit of that number"
        )


def check_claimed(claim: Claim) -> None:
    """Checks the claimed direction, trend or order.

    Raises:
        StudyError: The text is none of these.
    """
    patterns = {
        "direction": (r"(above|below) -?[0-9.]+", "“above 1” or “below 1”"),
        "trend": (r"rises|falls|level", "“rises”, “falls” or “level”"),
        "order": (r".+>.+", "“A > B, C”"),
    }
    pattern, wanted = patterns.get(claim.rule, (r"", "nothing with this rule"))
    if not re.fullmatch(pattern, claim.claimed):
        raise StudyError(f"claimed: {claim.claimed!r}: expected {wanted}")


def check_use(claim: Claim | Rows, ids: set[str]) -> None:
    """Checks that `use`, `counts` and `published_is` are known, and `part_of` names another claim.

    Raises:
        StudyError: One of them is invalid.
    """
    for key, value, known in (
        ("use", claim.use, USES),
        ("counts", claim.counts, NOT_COUNTED),
        ("published_is", claim.published_is, ("run", "mean")),
    ):
        if value not in known:
            there = ", ".join(repr(it) for it in known if it)
            raise StudyError(f"{key}: no {value!r} (there are {there})")
    if claim.part_of and claim.part_of not in ids - {claim.id}:
        raise StudyError(f"part_of: {unknown('claim', claim.part_of, ids - {claim.id})}")
