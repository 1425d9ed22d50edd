"""Finds studies and reads their files.

A study is a folder with

- `study.toml`: title, paper, experiments (scenario, cases, replications), assumptions;
- the scenarios that it names;
- `published.toml`: the paper's numbers, each with its table, figure or section;
- `claims.toml`: statements of the paper, their measurement, and the condition of agreement;
- `values.toml`, `tables.toml`, `figures.toml`: named values, tables and figures;
- `quantities.toml`: numbers of each run;
- `body.html`: the report's text, a Jinja template;
- Python files with functions that these files name, for what they cannot say themselves;
- `quantities.py`: a function for numbers of each run from tables that are not kept.

The studies of retx are in `studies/` of the repository; the package contains them as
`retx/_studies`, in a checkout by a symbolic link. Any other study is given by its path.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retx.errors import UsageError
from retx.study import shipped
from retx.study.authors_code import Code
from retx.study.checks import FORMS, check_study
from retx.study.claims import Claim, Number, Published, Row, Rows, Series
from retx.study.data import (
    StudyError,
    Target,
    build,
    check_address,
    located,
    look_up,
    read_file,
    read_toml,
    rounded,
    unknown,
)
from retx.study.declared import Declared, declared
from retx.study.declared_figures import FILE as FIGURES
from retx.study.declared_figures import Figures
from retx.study.declared_tables import DeclaredTable, declared_tables
from retx.study.derived import Derived, derived_quantities
from retx.study.rules import OF_POINTS, Criterion
from retx.study.searches import Search
from retx.study.shipped import names

if TYPE_CHECKING:
    from retx.study.set_up import SetUpChoice

KICKER = "A published study, run again"


@dataclass(frozen=True)
class Paper:
    """Paper that is reproduced."""

    title: str
    authors: str
    reference: str
    url: str = ""

    def __post_init__(self) -> None:
        check_address(self.url)


@dataclass(frozen=True)
class Case:
    """One setting of an experiment."""

    name: str
    label: str
    set: dict[str, Any] = field(default_factory=dict)
    """Values by key in the scenario, as for `--set`."""
    builds_on: str | None = None
    """Case of the same experiment whose settings also apply here."""
    random: bool = True
    """False if the result is deterministic, so that one run suffices."""
    replications: dict[str, int] = field(default_factory=dict)
    """Numbers of runs by form, if they differ from those of the experiment."""


@dataclass(frozen=True)
class Experiment:
    """A scenario run with several settings."""

    name: str
    title: str
    scenario: str
    quantity: str
    """Quantity that is studied, such as `flow.NAME.COLUMN` or `link.NAME.DIRECTION.COLUMN`."""
    cases: dict[str, Case]
    replications: dict[str, int]
    set: dict[str, Any] = field(default_factory=dict)
    """Values set in all cases, before those of the case."""
    reference: str | None = None
    """Case with which others are compared."""
    ranked: bool = False
    """True to determine the range of single runs by rank, for quantities far from a normal law."""
    grid: dict[str, Any] = field(default_factory=dict)
    """Keys that vary in addition to the cases, as in a scenario's `[sweep]`; if the forms differ,
    `{ quick = […], full = […] }` instead of a list."""
    tables: list[str] = field(default_factory=list)
    """Tables of single events that are kept for every run, as for `retx sweep --table`."""
    derive_from: list[str] = field(default_factory=list)
    """Tables that are read by the function `quantities`, and not kept."""
    emulations: dict[str, int] = field(default_factory=dict)
    """Number of emulations of each case with this machine's kernel, by form."""
    quick: dict[str, Any] = field(default_factory=dict)
    """Values set only in the quick form, such as a shorter download."""

    def overrides(self, case: str) -> dict[str, Any]:
        """Values set by a case, including inherited ones, in the order in which they apply."""
        this = self.cases[case]
        before = self.overrides(this.builds_on) if this.builds_on else self.set
        # If a case sets a whole table, parts of it that were set before are removed.
        return {key: it for key, it in before.items() if key not in this.set} | this.set

    def in_form(self, form: str) -> Experiment:
        """The experiment with the values of one form, `quick` or `full`."""
        common = self.set | self.quick if form == "quick" else self.set
        return replace(self, set=common, grid=_of_form(self.grid, form))


def _of_form(value: Any, form: str) -> Any:  # noqa: ANN401
    """Part of a grid for one form (`quick` or `full`); forms may have separate lists of values."""
    if isinstance(value, dict):
        if set(value) == set(FORMS) and all(isinstance(it, list) for it in value.values()):
            return value[form]
        return {key: _of_form(part, form) for key, part in value.items()}
    return [_of_form(part, form) for part in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class Assumption:
    """A parameter that the paper does not state."""

    parameter: str
    value: str
    why: str
    effect: str
    """Effect on the results. A Jinja template."""


@dataclass(frozen=True)
class Cases:
    """Cases of an experiment, as the file lists them."""

    case: list[Case]


@dataclass(frozen=True)
class Head:
    """Content of `study.toml`."""

    title: str
    paper: Paper
    experiment: dict[str, dict[str, Any]]
    kicker: str = KICKER
    """Line above the title."""
    assumption: list[Assumption] = field(default_factory=list)
    search: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Claims:
    """Content of `claims.toml`."""

    rows: list[Rows] = field(default_factory=list)
    claim: list[Claim] = field(default_factory=list)


@dataclass(frozen=True)
class Study:
    """Content of the files of a study."""

    name: str
    folder: Path
    title: str
    kicker: str
    paper: Paper
    experiments: dict[str, Experiment]
    published: Published
    rows: list[Rows]
    claims: list[Claim]
    """First the rows, as claims; then all others."""
    assumptions: list[Assumption]
    quantities: dict[str, Derived]
    declared: Declared
    """Named values of the file `values.toml`."""
    tables: list[DeclaredTable]
    figures: Figures
    code: Code
    """Python files of the study."""
    searches: dict[str, Search] = field(default_factory=dict)
    set_up_choice: SetUpChoice | None = None
    """Set-up of the runs, where parameters are open."""

    def in_form(self, form: str) -> Study:
        """The study with the experiments of one form, `quick` or `full`."""
        experiments = {name: it.in_form(form) for name, it in self.experiments.items()}
        lists = replace(self.declared.lists, experiments=experiments)
        declared = replace(self.declared, lists=lists)
        return replace(self, experiments=experiments, declared=declared)

    def criterion(self, claim: Claim) -> Criterion:
        """The rule of a claim, with the paper's numbers.

        Raises:
            KeyError: published.toml does not contain them.
        """
        target, curve = None, dict[str, Target]()
        reference = claim.published
        if isinstance(reference, str):
            name, _, case = reference.partition("/")
            if case:
                series = self.published.series[name]
                # A claim names the printed number; only rows are compared after a subtraction.
                own = isinstance(claim, Row)
                target = series.targets[case] if own else rounded(series.values[case])
            elif claim.rule in OF_POINTS and name in self.published.series:
                curve = self.published.series[name].targets
            else:
                target = self.published.numbers[name].target()
        elif reference is not None:
            target = Target(float(reference))
        return Criterion(
            claim.rule, target, curve,
            claim.published_is, claim.tolerance, claim.scale, claim.claimed,
        )  # fmt: skip

    def scenarios(self) -> list[str]:
        """Names of the scenario files."""
        of_experiments = {experiment.scenario for experiment in self.experiments.values()}
        return sorted(of_experiments | {search.scenario for search in self.searches.values()})


def find(name: str) -> Path:
    """The folder of a study, by its name or its path.

    Raises:
        UsageError: No study has this name or path.
    """
    if name in names():
        return shipped.HOME / name
    folder = Path(name)
    if (folder / "study.toml").is_file():
        return folder
    if folder.is_dir() and ("/" in name or name == "."):
        raise UsageError(f"{name}: not a study: study.toml is missing")
    raise UsageError(f"{unknown('study', name, names())}; or name a study's folder")


def load(name: str) -> Study:
    """Reads a study by its name or its path.

    Raises:
        StudyError: One of the study's files is invalid.
    """
    folder = find(name)
    head, claims = read_file(Head, folder / "study.toml"), read_file(Claims, folder / "claims.toml")
    where = str(folder / "study.toml")
    experiments = dict(_experiments(head.experiment, f"{where}: experiment"))
    values, published = declared(folder, experiments), _published(folder / "published.toml")
    study = Study(
        name=folder.resolve().name,
        folder=folder,
        title=head.title,
        kicker=head.kicker,
        paper=head.paper,
        experiments=experiments,
        published=published,
        rows=claims.rows,
        claims=[*_rows(claims.rows, published, folder / "claims.toml"), *claims.claim],
        assumptions=head.assumption,
        quantities=derived_quantities(folder),
        declared=values,
        tables=declared_tables(folder, values.lists),
        figures=read_file(Figures, folder / FIGURES, optional=True),
        code=Code(folder),
        searches={
            name: build(Search, table | {"name": name}, f"{where}: search.{name}")
            for name, table in head.search.items()
        },
    )
    check_study(study)
    return study


def _experiments(tables: dict[str, dict[str, Any]], where: str) -> Iterator[tuple[str, Experiment]]:
    """The experiments, with the cases that `cases_of` inherits from another experiment."""
    cases: dict[str, dict[str, Case]] = {}
    for name, table in tables.items():
        here = f"{where}.{name}"
        like = table.pop("cases_of", None)
        if like is not None and like not in cases:
            raise StudyError(f"{here}.cases_of: no experiment {like!r} before this one")
        own = build(Cases, {"case": table.pop("case", [])}, here).case
        cases[name] = cases.get(like, {}) | {case.name: case for case in own}
        if not cases[name]:
            raise StudyError(f"{here}: lacks a case")
        table |= {"name": name, "cases": cases[name]}
        table.setdefault("replications", dict.fromkeys(FORMS, 1))
        yield name, build(Experiment, table, here)


def _rows(tables: list[Rows], published: Published, path: Path) -> Iterator[Claim]:
    for rows in tables:
        with located(f"{path}: {rows.id}: published"):
            series = look_up("series", rows.published, published.series)
        yield from rows.claims(series)


def _published(path: Path) -> Published:
    tables = read_toml(path)
    numbers = tables.pop("number", {})
    if not isinstance(numbers, dict):
        raise StudyError(f"{path}: number: expected a table; found {numbers!r}")
    return Published(
        {name: build(Series, table, f"{path}: {name}") for name, table in tables.items()},
        {name: build(Number, table, f"{path}: number.{name}") for name, table in numbers.items()},
    )
