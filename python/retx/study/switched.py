"""The runs that a reason rests on: each has one thing changed, and is named `EXPERIMENT/CASE`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retx.study.data import StudyError

if TYPE_CHECKING:
    from retx.study.library import Study


def check_switched(study: Study, runs: list[str], where: str) -> None:
    """Sees to it that the runs are there.

    Raises:
        StudyError: One is not.
    """
    for run in runs:
        name, _, case = run.partition("/")
        if name not in study.experiments or case not in study.experiments[name].cases:
            raise StudyError(f"{where}: switched: no run {run!r} (EXPERIMENT/CASE)")


def labels(study: Study, runs: list[str]) -> tuple[str, ...]:
    """What a reader calls them: the title of each experiment, and the labels of its cases."""
    cases: dict[str, list[str]] = {}
    for name, _, case in (run.partition("/") for run in runs):
        cases.setdefault(name, []).append(study.experiments[name].cases[case].label)
    return tuple(
        f"{study.experiments[name].title} ({' · '.join(found)})" for name, found in cases.items()
    )
