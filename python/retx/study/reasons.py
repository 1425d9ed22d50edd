"""Reasons for the verdicts of cases, and the runs `EXPERIMENT/CASE` that support them.

Each of these runs changes one setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from retx.study.data import StudyError

if TYPE_CHECKING:
    from retx.study.claims import Rows
    from retx.study.library import Study

T = TypeVar("T")

ALL = "*"
"""Name that stands for all cases not named."""
BETWEEN = ", "
"""Separator between cases that share a reason."""


def of_case(given: Mapping[str, T], case: str, otherwise: T) -> T:
    """Value given for a case: by its name, by one of several names, or for all others."""
    for cases, found in given.items():
        if case == cases or case in cases.split(BETWEEN):
            return found
    return given.get(ALL, otherwise)


def check_rows(study: Study, rows: Rows) -> None:
    """Checks that the cases and runs named in `rows` exist.

    Raises:
        StudyError: A case or a run does not exist.
    """
    known = study.published.series[rows.published].values
    for cases in [*rows.because, *rows.switched]:
        for case in [cases] if cases in known else cases.split(BETWEEN):
            if case not in known and case != ALL:
                raise StudyError(f"no case {case!r} in {rows.published}")
    for runs in rows.switched.values():
        check_switched(study, runs)


def check_switched(study: Study, runs: list[str]) -> None:
    """Checks that the runs, given as `EXPERIMENT/CASE`, exist.

    Raises:
        StudyError: A run does not exist.
    """
    for run in runs:
        name, _, case = run.partition("/")
        if name not in study.experiments or case not in study.experiments[name].cases:
            raise StudyError(f"switched: no run {run!r} (EXPERIMENT/CASE)")


def labels(study: Study, runs: list[str]) -> tuple[str, ...]:
    """Labels of runs for readers: title of each experiment, and labels of its cases."""
    cases: dict[str, list[str]] = {}
    for name, _, case in (run.partition("/") for run in runs):
        cases.setdefault(name, []).append(study.experiments[name].cases[case].label)
    return tuple(
        f"{study.experiments[name].title} ({' · '.join(found)})" for name, found in cases.items()
    )
