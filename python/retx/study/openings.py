"""Open parameters of a study, which its paper does not state, from `open.toml`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log
from pathlib import Path
from typing import Any

from retx.files.regular import read_regular
from retx.study.data import StudyError, read_file, read_toml, same
from retx.study.library import Study

FILE = "open.toml"
BASE = "base.toml"
"""The frozen set-up, written by `--freeze`."""
TRIALS = "calibration"
"""Directory of the trials next to the report, with one file per state of the study."""
DIGEST_DIGITS = 16
CLAIMS_EACH = 3
"""Minimum number of calibrating claims per searched parameter."""

Values = dict[str, Any]
"""A set-up: a value by the name of each open parameter."""


@dataclass(frozen=True)
class Setting:
    """Values by key, and the places where they are set: names as in `Opening.in_`."""

    in_: list[str]
    sets: dict[str, Any]
    """Keys of the scenario, with `{}` for the value of the parameter."""


@dataclass(frozen=True)
class Choice:
    """A value of a parameter."""

    is_: Any
    source: str
    sets: dict[str, Any] | None = None
    """Values that this choice sets, by key, if they differ from its own."""
    at: list[Setting] = field(default_factory=list)
    """Further places, for a value that differs between cases."""


@dataclass(frozen=True)
class Range:
    """A range of numbers."""

    from_: float
    to: float
    default: float
    unit: str = ""
    whole: bool = False
    scale: str = "linear"
    """`linear` or `log`."""

    def at(self, share: float) -> float:
        """Number at a fraction of the range."""
        low, high = self._mapped(self.from_), self._mapped(self.to)
        found = low + share * (high - low)
        found = exp(found) if self.scale == "log" else found
        return round(found) if self.whole else float(f"{found:.4g}")

    def share_of(self, value: float) -> float:
        """Fraction of the range at which a number lies."""
        low, high = self._mapped(self.from_), self._mapped(self.to)
        return float(min(max((self._mapped(value) - low) / (high - low), 0.0), 1.0))

    def _mapped(self, value: float) -> float:
        return log(value) if self.scale == "log" else float(value)


@dataclass(frozen=True)
class Opening:
    """Parameter that the paper does not state."""

    name: str
    asks: str
    """Question that the paper leaves open."""
    in_: list[str]
    """Scenarios, experiments, cases (`EXPERIMENT/CASE`) or searches in which the parameter is
    set."""
    sets: dict[str, Any] = field(default_factory=dict)
    """Keys of the scenario, with `{}` for the value."""
    also: list[Setting] = field(default_factory=list)
    """Further places in which the keys have other names."""
    values: list[Choice] = field(default_factory=list)
    """Choices; the first is the default."""
    range: Range | None = None
    source: str = ""
    """Source of the range."""

    def __post_init__(self) -> None:
        if bool(self.values) == bool(self.range):
            raise StudyError(f"{self.name}: give either `values` or `range`")
        if not self.sets and not (
            self.values and all(it.sets is not None or it.at for it in self.values)
        ):
            raise StudyError(f"{self.name}: it sets no key")
        if self.range and not self.source:
            raise StudyError(f"{self.name}: a range needs `source`")

    @property
    def default(self) -> Any:  # noqa: ANN401
        """Value chosen without knowledge of results."""
        return self.range.default if self.range else self.values[0].is_

    @property
    def singles(self) -> list[Any]:
        """Values to try as single changes: each other choice, or both ends of the range."""
        if self.range:
            return [it for it in (self.range.from_, self.range.to) if it != self.default]
        return [choice.is_ for choice in self.values[1:]]

    def shown(self, value: Any) -> str:  # noqa: ANN401
        """A value with its unit; `yes` or `no` for true and false."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"{value} {self.range.unit}".strip() if self.range else str(value)

    def source_of(self, value: Any) -> str:  # noqa: ANN401
        """Source of a value."""
        return next((it.source for it in self.values if it.is_ == value), self.source)

    def at(self, share: float) -> Any:  # noqa: ANN401
        """Value at the fraction `share` of the range or list; 0 ≤ share < 1."""
        return (
            self.range.at(share) if self.range else self.values[int(share * len(self.values))].is_
        )

    def share_of(self, value: Any) -> float:  # noqa: ANN401
        """Fraction of the range or list at which a value lies; the inverse of `at`."""
        if self.range:
            return self.range.share_of(value)
        return ([choice.is_ for choice in self.values].index(value) + 0.5) / len(self.values)

    def places(self, value: Any) -> list[Setting]:  # noqa: ANN401
        """The settings for this value."""
        shown = self.shown(value) if self.range and self.range.unit else value
        chosen = [it for it in self.values if it.is_ == value]
        filled = [
            Setting(it.in_, {key: _filled(text, shown) for key, text in it.sets.items()})
            for it in (Setting(self.in_, self.sets), *self.also)
        ]
        own = [Setting(self.in_, it.sets) for it in chosen if it.sets]
        return [*filled, *own, *(place for it in chosen for place in it.at)]


def _filled(pattern: Any, value: Any) -> Any:  # noqa: ANN401
    if pattern == "{}":
        return value
    return pattern.replace("{}", str(value)) if isinstance(pattern, str) else pattern


@dataclass(frozen=True)
class Fact:
    """Statement of the paper about its set-up; a set-up that violates it is not admitted."""

    name: str
    says: str
    measured: str
    """Named value of the study."""
    between: list[float]
    why: str


@dataclass(frozen=True)
class Budget:
    """Extent of a search in one form of the study, `quick` or `full`."""

    space: int
    """Number of space-filling trials, in addition to the default and its variants with one
    change."""
    guided: int
    """Trials that Optuna's sampler proposes."""
    climb: int = 0
    """Number of rounds over single changes of the best trial, and of the one with most claims."""


@dataclass(frozen=True)
class Searched:
    """Extent of a search, by form of the study."""

    quick: Budget
    full: Budget
    draws: list[int] = field(default_factory=lambda: [2])


@dataclass(frozen=True)
class Openings:
    """Content of `open.toml`."""

    search: Searched
    open_: list[Opening] = field(default_factory=list)
    fact: list[Fact] = field(default_factory=list)

    @property
    def parameters(self) -> dict[str, Opening]:
        """The parameters by name."""
        return {it.name: it for it in self.open_}

    @property
    def default(self) -> Values:
        """Set-up with every parameter at its default."""
        return {name: it.default for name, it in self.parameters.items()}

    def changes(self, values: Values) -> Iterator[tuple[str, Values]]:
        """Every variant of a set-up that changes one parameter, after the parameter's name."""
        for name, parameter in self.parameters.items():
            for value in (parameter.default, *parameter.singles):
                if value != values[name]:
                    yield name, values | {name: value}

    def bent(self, values: Mapping[str, Any]) -> list[str]:
        """Names of the parameters that are not at their default."""
        return [name for name, it in self.parameters.items() if not same(values[name], it.default)]

    def applied(self, study: Study, values: Mapping[str, Any]) -> Study:
        """Study at a set-up; settings of single cases are kept."""
        for name, parameter in self.parameters.items():
            for it in parameter.places(values[name]):
                study = _with(study, it.in_, it.sets)
        return study


def _with(study: Study, into: Sequence[str], settings: dict[str, Any]) -> Study:
    """The study with values set in some of its scenarios, experiments, cases and searches."""
    experiments = dict(study.experiments)
    for key, it in study.experiments.items():
        common = it.set | settings if {key, it.scenario} & set(into) else it.set
        cases = {
            name: replace(case, set=case.set | settings) if f"{key}/{name}" in into else case
            for name, case in it.cases.items()
        }
        experiments[key] = replace(it, set=common, cases=cases)
    searches = {
        key: replace(it, set=it.set | settings) if key in into else it
        for key, it in study.searches.items()
    }
    return replace(study, experiments=experiments, searches=searches)


def load_openings(study: Study) -> Openings:
    """Reads `open.toml`.

    Raises:
        StudyError: The file is invalid, or has too many parameters for the number of claims.
    """
    path = study.folder / FILE
    made = read_file(Openings, path)
    _check(study, made, path)
    return made


def _check(study: Study, made: Openings, path: Path) -> None:
    names = [it.name for it in made.open_]
    twice = [name for n, name in enumerate(names) if name in names[:n]]
    if twice:
        raise StudyError(f"{path}: {twice[0]}: is defined twice")
    known = set(study.experiments) | {it.scenario for it in study.experiments.values()}
    known |= set(study.searches)
    known |= {f"{name}/{case}" for name, it in study.experiments.items() for case in it.cases}
    wanted = [
        name
        for it in made.open_
        for value in [it.default, *it.singles]
        for place in it.places(value)
        for name in place.in_
    ]
    lost = [name for name in wanted if name not in known]
    if lost:
        raise StudyError(f"{path}: no scenario or experiment {lost[0]!r}")
    claims = len(calibrating(study))
    if not names or len(names) * CLAIMS_EACH > claims:
        raise StudyError(
            f"{path}: {len(names)} open parameters and {claims} calibrating claims: "
            f"at most one parameter for {CLAIMS_EACH} claims"
        )


LOOKED_AT = ("", "fitted")
"""Values of `counts` of the claims that a search uses: counted claims, and numbers used by a fit,
since otherwise a change that fits a number would gain nothing.
"""


UNCOUNTED_RULES = ("arithmetic", "undecidable")


def calibrating(study: Study) -> list[str]:
    """Ids of the claims that a search may use."""
    return [
        it.id
        for it in study.claims
        if it.use == "calibrate" and it.counts in LOOKED_AT and not it.part_of
    ]


def held_out(study: Study) -> list[str]:
    """Ids of the counted claims that a search does not use."""
    searched = set(calibrating(study))
    counted = (it for it in study.claims if it.counted and it.rule not in UNCOUNTED_RULES)
    return [it.id for it in counted if it.id not in searched]


def targets(study: Study) -> dict[str, float]:
    """Published numbers of the claims that have one, by the claims' ids."""
    found = {it.id: study.criterion(it).target for it in study.claims}
    return {name: target.value for name, target in found.items() if target}


def digest(study: Study, *definitions: str) -> str:
    """Digest of the open parameters, of the claims that a search uses, and of further files.

    A frozen set-up is kept if only definitions of values change: it answers the same question, as
    after a change of a scenario or of Python files, and each report judges it anew. Trials are not
    continued then, since they would be compared with trials of other values.
    """
    texts = [read_regular(path) for it in definitions if (path := study.folder / it).is_file()]
    given = json.dumps([read_regular(study.folder / FILE), calibrating(study), *texts])
    return hashlib.sha256(given.encode()).hexdigest()[:DIGEST_DIGITS]


def read_frozen(study: Study) -> dict[str, Any] | None:
    """Content of `base.toml`; None if there is none.

    Raises:
        StudyError: The file was frozen for other open parameters or other claims.
    """
    path = study.folder / BASE
    if not path.is_file():
        return None
    tables = read_toml(path)
    if tables.get("digest") != digest(study):
        raise StudyError(
            f"{path}: frozen for other open parameters or calibrating claims: "
            f"run `retx study {study.name} --calibrate`, then `--freeze`"
        )
    return tables
