"""Checks the names in the files of a study before its runs.

Values, tables, rows and claims are computed as after the runs, but from runs without numbers, so
that each place, list, value and quantity is looked up. Quantities are those of runs of 1 ms, whose
results are not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from retx import _native
from retx.study.claims import Claim
from retx.study.data import StudyError, located, look_up
from retx.study.drawn_figures import check_figures
from retx.study.estimates import Values
from retx.study.filled_tables import filled_tables
from retx.study.judging import measured_value
from retx.study.library import Study
from retx.study.measured import Measured
from retx.study.measures import Found
from retx.study.page import Writer
from retx.study.places import Place
from retx.study.points import Points
from retx.study.rules import OF_POINTS
from retx.study.runs import Point, Runs, Whole, only
from retx.sweeps.grid import CASE
from retx.sweeps.plan import Recording
from retx.sweeps.running import run_study

SHORT = [("duration", '"1 ms"'), ("warmup", '"0 s"')]
"""Settings of a short run."""


class Rehearsed(Runs):
    """Runs without numbers, which have the quantities of short runs."""

    has_numbers = False

    def __init__(self, whole: Whole, study: Study) -> None:
        super().__init__(whole, lambda name: None)
        alike = {name: (it.scenario, *it.tables) for name, it in study.experiments.items()}
        firsts = {alike[name]: name for name in reversed(study.experiments)}
        self._first = {name: firsts[it] for name, it in alike.items()}
        self._short = cache(self._short_runs)

    def values(self, point: Point, quantity: str) -> Values | None:
        """No number for each run; None if the quantity does not exist."""
        # The function `quantities` of a study is not called, since it may need a longer run.
        derives = any(it.derive for it in self.whole.recordings.values())
        if (self.is_known(quantity) or not derives) and not self._exists(point, quantity):
            return None
        return [None] * point.runs

    def _exists(self, point: Point, quantity: str) -> bool:
        """True if the quantity exists in a point of the same scenario, or in this one."""
        first = self._first[point.experiment]
        like = Point(first, self.whole.of(first).plan.keys[0], 1)
        short = self._short(like)
        if short and short.values(like, quantity) is not None:
            return True
        own = self._short(point)
        return own is None or own.values(point, quantity) is not None

    def quantities(self, point: Point) -> set[str]:
        """Quantities of a point."""
        found = self._short(point)
        return found.quantities(point) if found else set()

    def _short_runs(self, point: Point) -> Runs | None:
        """A run of 1 ms of a point; None if it cannot be so short."""
        few = only(self.whole.of(point.experiment), {point.key})
        try:
            scenarios = {
                key: _native.from_json(it.to_json(), SHORT) for key, it in few.scenarios.items()
            }
            prepared = replace(
                few,
                plan=replace(few.plan, counts=(1,) * len(few.plan.keys)),
                scenarios=scenarios,
                recordings={key: Recording(it.keep) for key, it in few.recordings.items()},
                warms_up=False,
            )
            return Runs(self.whole, run_study(prepared, None, None, progress=False))
        except (ValueError, _native.RunError):  # such as user code, or an event after the end
            return None


def check_names(measured: Measured) -> None:
    """Looks up all names in the files of a study.

    Raises:
        StudyError: A name does not exist.
    """
    study = measured.study
    whole = measured.whole
    rehearsed = measured.from_runs(Rehearsed(whole, study))
    for name in study.experiments:
        with located(f"{study.folder / 'study.toml'}: experiment.{name}.quantity"):
            plan = whole.of(name).plan
            at = dict(zip(plan.grid.keys, plan.grid.points[0], strict=True))
            case = at.pop(CASE)
            Place(rehearsed, name, case, at).values()
    values = rehearsed.values
    tables = list(filled_tables(rehearsed))
    for claim in study.claims:
        with located(f"{study.folder / 'claims.toml'}: {claim.id}"):
            _check_claim(study, claim, values)
            measured_value(rehearsed, claim)
            if claim.experiment:
                whole.point(claim.experiment, claim.case, claim.at)
    figures = list(check_figures(rehearsed))
    ids = [table.id for table in tables] + [row.id for row in study.rows]
    Writer(rehearsed, {}).check(
        {
            "v": values.keys(),
            "tables": ids,
            "figures": figures,
            "rows": [row.id for row in study.rows],
            "published": study.published.series,
            "paper": study.published.numbers,
        },
        _texts(study),
    )


def _check_claim(study: Study, claim: Claim, values: dict[str, Found]) -> None:
    name, rule = claim.measured, claim.rule
    if name:
        with located("measured"):
            look_up("value", name, values)
    by_python = name in values and study.declared.values[name][0].kind == "python"
    if name and rule in OF_POINTS and not (by_python or isinstance(values[name], Points)):
        raise StudyError(f"measured: rule {rule!r} needs a `curve`, which {name!r} is not")
    if isinstance(values.get(name), Points) and rule not in OF_POINTS:
        raise StudyError(f"measured: rule {rule!r} needs one value; {name!r} is a `curve`")


def _texts(study: Study) -> Iterator[tuple[str, str]]:
    """Templates of the study with their places, except the page."""
    for item in study.assumptions:
        yield f"{study.folder / 'study.toml'}: assumption: {item.parameter}: effect", item.effect
    claims = study.folder / "claims.toml"
    for claim in study.claims:
        yield f"{claims}: {claim.id}.because", claim.because
        yield f"{claims}: {claim.id}.remark", claim.remark
