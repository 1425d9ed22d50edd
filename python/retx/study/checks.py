"""Checks the files of a study against each other, after each has been read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retx.errors import UsageError
from retx.study.claims import Claim, Rows, check_claimed, check_tolerance, check_use
from retx.study.data import StudyError, unknown
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
    for experiment in study.experiments.values():
        _check_experiment(study, experiment)
    for search in study.searches.values():
        _check_search(study, search)
    ids = _checked_ids(study)
    for row in study.rows:
        _check_row(study, row, ids)
    for claim in study.claims:
        _check_claim(study, claim, ids)


def _check_experiment(study: Study, experiment: Experiment) -> None:
    here = f"{study.folder / 'study.toml'}: experiment.{experiment.name}"
    if not (study.folder / experiment.scenario).is_file():
        raise StudyError(f"{here}: no file {experiment.scenario}")
    own = sorted({"case", "replications", "until"} & set(experiment.grid))
    if own:
        raise StudyError(f"{here}.grid.{own[0]}: set it in the experiment, not in its grid")
    counts = [experiment.replications, *(it.replications for it in experiment.cases.values())]
    if any(it and set(it) != set(FORMS) for it in counts) or not experiment.replications:
        raise StudyError(f"{here}.replications: needs {' and '.join(FORMS)}")
    if experiment.emulations:
        if set(experiment.emulations) != set(FORMS) or min(experiment.emulations.values()) < 2:
            raise StudyError(f"{here}.emulations: needs {' and '.join(FORMS)}, at least 2")
        if experiment.grid:
            raise StudyError(f"{here}.emulations: only cases can be emulated, not points of a grid")
    known = list(experiment.cases)
    wanted = [experiment.reference, *(case.builds_on for case in experiment.cases.values())]
    for name in wanted:
        if name is not None and name not in known:
            raise StudyError(f"{here}: {unknown('case', name, known)}")


def _check_experiment_of(study: Study, name: str, here: str) -> Experiment:
    if name not in study.experiments:
        raise StudyError(f"{here}: {unknown('experiment', name, study.experiments)}")
    return study.experiments[name]


def _check_row(study: Study, row: Rows, ids: set[str]) -> None:
    here = f"{study.folder / 'claims.toml'}: {row.id}"
    if row.published not in study.published.series:
        said = unknown("series", row.published, study.published.series)
        raise StudyError(f"{here}: published: {said} in published.toml")
    _check_experiment_of(study, row.experiment, here)
    series = study.published.series[row.published]
    cases = study.experiments[row.experiment].cases
    beyond = sorted(set(series.values) - set(cases))
    if beyond:
        raise StudyError(f"{here}: {row.experiment}: {unknown('case', beyond[0], cases)}")
    targets = [it for case in series.values if (it := series.target(case))]
    check_tolerance(row.tolerance, targets, row.scale, here)
    check_rows(study, row, here)
    _check_given(study, row, here)
    check_use(row, ids, here)


def _check_claim(study: Study, claim: Claim, ids: set[str]) -> None:
    here = f"{study.folder / 'claims.toml'}: {claim.id}"
    if claim.rule not in RULES:
        raise StudyError(f"{here}: {unknown('rule', claim.rule, RULES)}")
    try:
        target = study.criterion(claim).target
    except KeyError:
        raise StudyError(f"{here}: published.toml has no {claim.published!r}") from None
    check_claimed(claim, here)
    check_use(claim, ids, here)
    limited = [target] if target and claim.rule == "number" else []
    check_tolerance(claim.tolerance, limited, claim.scale, here)
    if claim.experiment:
        cases = _check_experiment_of(study, claim.experiment, here).cases
        if claim.case not in cases:
            raise StudyError(f"{here}: {claim.experiment}: {unknown('case', claim.case, cases)}")
    check_switched(study, claim.switched, here)


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


def _check_given(study: Study, row: Rows, here: str) -> None:
    """Checks that `given` names other rows of the same experiment, which are not counted."""
    for name in row.given:
        other = next((it for it in study.rows if it.id == name), None)
        if other is None or other.experiment != row.experiment:
            raise StudyError(f"{here}: given: no rows {name!r} of {row.experiment}")
        if not other.counts:
            raise StudyError(f"{here}: given: {name!r} is a counted claim itself")


def _check_search(study: Study, search: Search) -> None:
    here = f"{study.folder / 'study.toml'}: search.{search.name}"
    if not (study.folder / search.scenario).is_file():
        raise StudyError(f"{here}: no file {search.scenario}")
    if set(search.trials) != set(FORMS):
        raise StudyError(f"{here}.trials: needs {' and '.join(FORMS)}")
    try:
        search.space()
    except UsageError as error:
        raise StudyError(f"{here}.vary: {error}") from None
