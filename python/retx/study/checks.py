"""Checks the files of a study against each other, after each has been read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from retx.errors import UsageError
from retx.study.claims import Claim, Rows, check_claimed, check_tolerance, check_use
from retx.study.data import StudyError, located, unknown
from retx.study.reasons import check_rows, check_switched
from retx.study.rules import RULES
from retx.study.searches import Search

if TYPE_CHECKING:
    from retx.study.library import Experiment, Study

FORMS = ("quick", "full")


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
    for row in study.rows:
        with located(f"{claims}: {row.id}"):
            _check_row(study, row)
            check_use(row, ids)
    for claim in study.claims:
        with located(f"{claims}: {claim.id}"):
            _check_claim(study, claim)
            check_use(claim, ids)


def _known(kind: str, name: str, known: Mapping[str, object]) -> None:
    if name not in known:
        raise StudyError(unknown(kind, name, known))


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
            _known("case", name, experiment.cases)


def _check_row(study: Study, row: Rows) -> None:
    if row.published not in study.published.series:
        said = unknown("series", row.published, study.published.series)
        raise StudyError(f"published: {said} in published.toml")
    _known("experiment", row.experiment, study.experiments)
    series = study.published.series[row.published]
    with located(row.experiment):
        for case in sorted(series.values):
            _known("case", case, study.experiments[row.experiment].cases)
    check_tolerance(row, (it for case in series.values if (it := series.target(case))))
    check_rows(study, row)
    for name in row.given:
        other = next((it for it in study.rows if it.id == name), None)
        if other is None or other.experiment != row.experiment:
            raise StudyError(f"given: no rows {name!r} of {row.experiment}")
        if not other.counts:
            raise StudyError(f"given: {name!r} is a counted claim itself")


def _check_claim(study: Study, claim: Claim) -> None:
    if claim.rule not in RULES:
        raise StudyError(unknown("rule", claim.rule, RULES))
    try:
        target = study.criterion(claim).target
    except KeyError:
        raise StudyError(f"published.toml has no {claim.published!r}") from None
    check_claimed(claim)
    check_tolerance(claim, [target] if target and claim.rule == "number" else [])
    if claim.experiment:
        _known("experiment", claim.experiment, study.experiments)
        with located(claim.experiment):
            _known("case", claim.case, study.experiments[claim.experiment].cases)
    check_switched(study, claim.switched)


def _checked_ids(study: Study) -> set[str]:
    """Ids of rows and claims, which differ from each other; ids of rows are those of tables, too.

    Raises:
        StudyError: Two have the same id.
    """
    rows = [it.id for it in study.rows]
    ids = [*rows, *(it.id for it in study.claims)]
    tables = [name for it in study.tables for name in it.ids(study.declared.lists)]
    for file, all_of_it in (("claims.toml", ids), ("tables.toml", [*rows, *tables])):
        for n, name in enumerate(all_of_it):
            if name in all_of_it[:n]:
                has = " (rows of claims.toml are a table, too)" if name in tables else ""
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
