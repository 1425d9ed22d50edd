"""Set-up of the runs of a report: the default, the frozen base, or a trial."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from retx.errors import UsageError
from retx.study.claims import Row
from retx.study.library import Study
from retx.study.openings import FILE, calibrating, load_openings, read_frozen
from retx.study.runs import Plan
from retx.study.set_up_choice import SetUpChoice, parameters_of, sentence_on


def at_set_up(study: Study, wanted: str | None, plan: Plan, home: Path) -> Study:
    """The study at a set-up, with a sentence that describes the set-up.

    Args:
        study: The study, as its files define it.
        wanted: `default`, `base`, the number of a trial, or None for the base where there is one.
        plan: Form and seed, which identify the trials.
        home: Directory of the report, in which trials are stored.

    Raises:
        UsageError: The set-up does not exist.
        StudyError: `open.toml` or `base.toml` is wrong.
    """
    if not (study.folder / FILE).is_file():
        if wanted not in (None, "default"):
            raise UsageError(f"--set-up {wanted}: {study.name} has no {FILE}")
        return study
    openings = load_openings(study)
    searched: dict[str, Any] = {}
    if wanted in (None, "base"):
        found = read_frozen(study)
        if found is None and wanted:
            raise UsageError(f"--set-up base: {study.name} is not frozen yet (--freeze TRIAL)")
        name = "default" if found is None else "base"
        values = openings.default if found is None else dict(found["value"])
        searched = {} if found is None else found["search"]
    elif wanted == "default":
        values, name = openings.default, "default"
    else:
        from retx.study.calibration import Search

        if not wanted.isdecimal():
            raise UsageError(f"--set-up {wanted}: default, base, or the number of a trial")
        values = Search.of(study, plan.form, plan.seed, home).trial(int(wanted)).values
        name = f"trial {wanted}"
    labels = {
        it.id: f"{it.statement}, {study.experiments[it.experiment].cases[it.case].label}"
        for it in study.claims
        if isinstance(it, Row)
    }
    choice = SetUpChoice(
        sentence_on(name, openings, values),
        parameters_of(openings, values),
        searched,
        frozenset(calibrating(study)),
        labels,
    )
    return replace(openings.applied(study, values), set_up_choice=choice)
