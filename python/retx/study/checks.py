"""Checks the files of a study against each other, after each has been read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING

from retx.errors import UsageError
from retx.study.claims import ALL, BETWEEN, Claim, Row, Rows
from retx.study.data import StudyError, Target, located, look_up, unknown
from retx.study.searches import Search
from retx.study.thresholds import NUMBER

if TYPE_CHECKING:
    from retx.study.library import Experiment, Study

FORMS = ("quick", "full")
CLAIMED = {
    "direction": (r"(above|below) -?[0-9.]+", "“above 1” or “below 1”"),
    "trend": (r"rises|falls|level", "“rises”, “falls” or “level”"),
    "order": (r".+>.+", "“A > B, C”"),
}
"""Pattern of a claim in words, by its rule, and its description; other rules have no such claim."""


def check_study(study: Study) -> None:
    """Checks that all names refer to existing objects.

    Raises:
        StudyError: A name is unknown, is there twice, or a value is impossible.
    """
    head, claims = study.folder / "study.toml", study.folder / "claims.toml"
    for experiment in study.experiments.values():
        with located(f"{head}: experiment.{experiment.name}"):
            _check_experiment(study, experiment)
    for search in study.searches.values():
        with located(f"{head}: search.{search.name}"):
            _check_search(study, search)
    ids = _checked_ids(study)
    for rows in study.rows:
        with located(f"{claims}: {rows.id}"):
            _check_rows(study, rows)
    for claim in study.claims:
        with located(f"{claims}: {claim.id}"):
            _check_claim(study, claim)
            others = ids - {claim.rows.id if isinstance(claim, Row) else claim.id}
            if claim.part_of and claim.part_of not in others:
                raise StudyError(f"part_of: {unknown('claim', claim.part_of, others)}")


def _check_scenario(study: Study, scenario: str) -> None:
    if not (study.folder / scenario).is_file():
        raise StudyError(f"no file {scenario}")


def _check_experiment(study: Study, experiment: Experiment) -> None:
    _check_scenario(study, experiment.scenario)
    own = sorted({"case", "replications", "until"} & set(experiment.grid))
    if own:
        raise StudyError(f"grid.{own[0]}: set it in the experiment, not in its grid")
    counts = [experiment.replications, *(it.replications for it in experiment.cases.values())]
    if any(it and set(it) != set(FORMS) for it in counts) or not experiment.replications:
        raise StudyError(f"replications: needs {' and '.join(FORMS)}")
    if experiment.emulations:
        if set(experiment.emulations) != set(FORMS) or min(experiment.emulations.values()) < 2:
            raise StudyError(f"emulations: needs {' and '.join(FORMS)}, at least 2")
        if experiment.grid:
            raise StudyError("emulations: only cases can be emulated, not points of a grid")
    for name in (experiment.reference, *(case.builds_on for case in experiment.cases.values())):
        if name is not None:
            look_up("case", name, experiment.cases)


def _check_rows(study: Study, rows: Rows) -> None:
    look_up("experiment", rows.experiment, study.experiments)
    series = study.published.series[rows.published]
    _check_tolerance(rows.tolerance, rows.scale, series.targets.values())
    for cases in [*rows.because, *rows.switched]:
        for case in [cases] if cases in series.values else cases.split(BETWEEN):
            if case not in series.values and case != ALL:
                raise StudyError(f"no case {case!r} in {rows.published}")
    for name in rows.given:
        other = next((it for it in study.rows if it.id == name), None)
        if other is None or other.experiment != rows.experiment:
            raise StudyError(f"given: no rows {name!r} of {rows.experiment}")
        if not other.counts:
            raise StudyError(f"given: {name!r} is a counted claim itself")


def _check_claim(study: Study, claim: Claim) -> None:
    try:
        target = study.criterion(claim).target
    except KeyError:
        raise StudyError(f"published.toml has no {claim.published!r}") from None
    pattern, wanted = CLAIMED.get(claim.rule, ("", "nothing with this rule"))
    if not re.fullmatch(pattern, claim.claimed):
        raise StudyError(f"claimed: {claim.claimed!r}: expected {wanted}")
    if not isinstance(claim, Row):
        numbers = [target] if target and claim.rule == "number" else []
        _check_tolerance(claim.tolerance, claim.scale, numbers)
    if claim.experiment:
        experiment = look_up("experiment", claim.experiment, study.experiments)
        with located(claim.experiment):
            look_up("case", claim.case, experiment.cases)
    for run in claim.switched:
        name, _, case = run.partition("/")
        if name not in study.experiments or case not in study.experiments[name].cases:
            raise StudyError(f"switched: no run {run!r} (EXPERIMENT/CASE)")


def _check_tolerance(tolerance: float, scale: float, targets: Iterable[Target]) -> None:
    """Refuses a negative tolerance, and one that is above 25 % of all published numbers."""
    most = max((NUMBER * max(abs(it.value), scale) for it in targets), default=inf)
    if tolerance < 0:
        raise StudyError(f"tolerance: {tolerance:g} is negative")
    if tolerance > max(most, 1e-12) * (1 + 1e-9) and most:
        raise StudyError(
            f"tolerance: {tolerance:g} is more than 25 % of the published number; at most "
            f"{most:g}, in the unit of that number"
        )


def _checked_ids(study: Study) -> set[str]:
    """Ids of rows and claims, which differ from each other; ids of rows are those of tables, too.

    Raises:
        StudyError: Two have the same id.
    """
    rows = [it.id for it in study.rows]
    ids = [*rows, *(it.id for it in study.claims if not isinstance(it, Row))]
    tables = [name for it in study.tables for name in it.ids(study.declared.lists)]
    both = set(rows) & set(tables)
    for file, all_of_it in (("claims.toml", ids), ("tables.toml", [*rows, *tables])):
        for n, name in enumerate(all_of_it):
            if name in all_of_it[:n]:
                has = " (rows of claims.toml are a table, too)" if name in both else ""
                raise StudyError(f"{study.folder / file}: the id {name!r} is there twice{has}")
    return set(ids)


def _check_search(study: Study, search: Search) -> None:
    _check_scenario(study, search.scenario)
    if set(search.trials) != set(FORMS):
        raise StudyError(f"trials: needs {' and '.join(FORMS)}")
    try:
        search.space()
    except UsageError as error:
        raise StudyError(f"vary: {error}") from None
