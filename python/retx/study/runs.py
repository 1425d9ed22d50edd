"""Runs all experiments of a study in one queue, and returns the results.

A study is a sweep whose points are its experiments' cases, crossed with their grids. Results are
stored in a directory next to the report, under a hash of everything that a run depends on:
scenario, seed, recorded tables, code that derives quantities, and engine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from retx._native import ScenarioError
from retx.study.data import StudyError, located, same
from retx.study.derived import FILE, with_floats
from retx.study.estimates import Values
from retx.sweeps.derive import DERIVED, Derive
from retx.sweeps.grid import CASE, Case, Grid
from retx.sweeps.grid import Point as GridPoint
from retx.sweeps.plan import KEY_DIGITS, TABLES, Prepared, Recording, Wanted, prepare
from retx.sweeps.plan import Plan as SweepPlan
from retx.sweeps.result import Reader, Sweep
from retx.sweeps.running import run_study

if TYPE_CHECKING:
    from retx.study.library import Experiment, Study

RUNS = "runs"
"""Name of the directory next to the report."""
EXPERIMENT = "experiment"
KINDS = {
    "flow": ("flows", "name"),
    "link": ("links", "name", "direction"),
    "wlan": ("wlans", "name"),
    "station": ("stations", "wlan", "name"),
    "relay": ("relays", "name"),
}
"""First word of a quantity, with its table, and the columns of the words up to the last one."""


@dataclass(frozen=True)
class Plan:
    """Extent of a study's runs: form (`quick` or `full`), seed, number of runs."""

    form: str
    """`quick` or `full`."""
    seed: int = 1
    replications: int | None = None
    """Number of runs of each case in place of the study's; None for the study's."""
    threads: int | None = None
    emulations: int | None = None
    """Number of emulations of each case; 0 for none; None for the study's number."""

    def emulations_of(self, experiment: Experiment) -> int:
        """Number of emulations of each case."""
        own = experiment.emulations.get(self.form, 0)
        return own if self.emulations is None or not own else self.emulations

    def replications_of(self, experiment: Experiment, case: str) -> int:
        """Number of draws of a case."""
        what = experiment.cases[case]
        if not what.random:
            return 1
        return self.replications or (what.replications or experiment.replications)[self.form]


class Point(NamedTuple):
    """A point of an experiment: key of its results, and number of runs."""

    experiment: str
    key: str
    runs: int


Known = dict[tuple[Point, str], Values | None]
"""Values of quantities of points."""


class Whole:
    """Plans of all experiments, each of which is resolved when it is first needed."""

    def __init__(self, study: Study, plan: Plan) -> None:
        self._study = study
        self._plan = plan
        self.quantities = study.quantities
        """Numbers that are derived from tables of the runs, by name."""
        self.recordings: dict[str, Recording] = {}
        """Recorded tables by the keys of the points."""
        self.of = cache(self._resolved)
        self._points = cache(self._by_case)

    def _resolved(self, name: str) -> Prepared:
        """An experiment whose points are checked and resolved.

        Raises:
            OSError: A scenario cannot be read.
            StudyError: The experiment is wrong.
        """
        try:
            found = _prepared(self._study, self._study.experiments[name], self._plan)
        except ScenarioError as error:
            where = f"{self._study.folder / 'study.toml'}: experiment.{name}"
            raise StudyError(f"{where}: {error}") from None
        names = {key: _named(key, it) for key, it in found.recordings.items()}
        recordings = {names[key]: it for key, it in found.recordings.items()}
        self.recordings |= recordings
        return replace(
            found,
            plan=replace(found.plan, keys=tuple(names[key] for key in found.plan.keys)),
            scenarios={names[key]: it for key, it in found.scenarios.items()},
            recordings=recordings,
        )

    @cached_property
    def prepared(self) -> Prepared:
        """Joint plan of all experiments."""
        found = {name: self.of(name) for name in self._study.experiments}
        scenarios = {key: it for one in found.values() for key, it in one.scenarios.items()}
        warms_up = any(it.warms_up for it in found.values())
        plan = _joined({name: it.plan for name, it in found.items()})
        return Prepared(plan, scenarios, self.recordings, warms_up=warms_up)

    def point(self, experiment: str, case: str, at: Mapping[str, Any] | None) -> Point:
        """A case of an experiment, at values of its grid.

        Raises:
            StudyError: The point does not exist, or `at` is ambiguous.
        """
        plan = self.of(experiment).plan
        wanted = {CASE: case} | dict(at or {})
        unknown = [key for key in wanted if key not in plan.grid.keys]
        if unknown:
            varied = ", ".join(plan.grid.keys[1:]) or "nothing"
            raise StudyError(f"{experiment}: {unknown[0]!r} does not vary there ({varied} does)")
        points = self._points(experiment).get(case, {})
        exact = points.get(repr(tuple(wanted.get(key) for key in plan.grid.keys)))
        if exact:
            return exact[1]
        places = [(plan.grid.keys.index(key), value) for key, value in wanted.items()]
        found = {
            point
            for values, point in points.values()
            if all(same(values[place], value) for place, value in places)
        }
        if len(found) != 1:
            said = ", ".join(f"{key} = {value}" for key, value in wanted.items())
            open_keys = [key for key in plan.grid.keys if key not in wanted]
            many = f"several points: give a value of {', '.join(open_keys)}"
            raise StudyError(f"{experiment}: {said}: {many if found else 'no such point'}")
        return found.pop()

    def _by_case(self, experiment: str) -> dict[str, dict[str, tuple[GridPoint, Point]]]:
        """Points by case and text of all values, so that one is found soon."""
        plan, cases = self.of(experiment).plan, dict[str, dict[str, tuple[GridPoint, Point]]]()
        place = plan.grid.keys.index(CASE)
        for values, key, count in zip(plan.grid.points, plan.keys, plan.counts, strict=True):
            point = Point(experiment, key, count or 1)
            cases.setdefault(values[place], {})[repr(values)] = (values, point)
        return cases


def only(prepared: Prepared, keys: Collection[str]) -> Prepared:
    """A plan with some of its points."""
    plan = prepared.plan
    kept = [index for index, key in enumerate(plan.keys) if key in keys]
    fewer = replace(
        plan,
        grid=replace(plan.grid, points=tuple(plan.grid.points[index] for index in kept)),
        keys=tuple(plan.keys[index] for index in kept),
        counts=tuple(plan.counts[index] for index in kept),
    )
    scenarios = {key: it for key, it in prepared.scenarios.items() if key in keys}
    return replace(prepared, plan=fewer, scenarios=scenarios)


def _prepared(study: Study, experiment: Experiment, plan: Plan) -> Prepared:
    function = study.code.quantities
    cases = [
        Case(case, experiment.overrides(case), plan.replications_of(experiment, case))
        for case in experiment.cases
    ]
    return prepare(
        study.folder / experiment.scenario,
        Wanted(
            grid=experiment.grid,
            seed=plan.seed,
            overrides=experiment.set,
            tables=experiment.tables,
            cases=cases,
            derive=Derive(function, tuple(experiment.derive_from)) if function else None,
        ),
    )


def _named(key: str, recording: Recording) -> str:
    """Key of a point that also depends on its recorded tables."""
    digest = recording.derive.digest if recording.derive else ""
    if not (recording.tables or digest):
        return key
    text = "\0".join([key, digest, *recording.keep, "", *recording.tables])
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_DIGITS]


def _joined(plans: Mapping[str, SweepPlan]) -> SweepPlan:
    """Joint plan of all experiments; keys that an experiment does not vary have no value."""
    varied = list(dict.fromkeys(key for plan in plans.values() for key in plan.grid.keys))
    points: list[tuple[Any, ...]] = []
    for name, plan in plans.items():
        for point in plan.grid.points:
            values = dict(zip(plan.grid.keys, point, strict=True))
            points.append((name, *(values.get(key) for key in varied)))
    keys = tuple(key for plan in plans.values() for key in plan.keys)
    counts = tuple(count for plan in plans.values() for count in plan.counts)
    grid = Grid((EXPERIMENT, *varied), tuple(points))
    digests = {plan.derived for plan in plans.values()}
    return SweepPlan(grid, keys, 1, counts=counts, derived=min(digests, default=""), single=False)


class Runs:
    """Results of all runs of a study."""

    has_numbers = True
    """False while only the names in the study's files are looked up."""

    def __init__(self, whole: Whole, read: Reader) -> None:
        self.whole = whole
        self._read = cache(read)
        self._floats = cache(self._read_floats)
        self._parts = cache(self._split)
        self._derived = cache(self._by_point)
        self._sweeps = cache(self._sweep)
        self.axes = cache(self._axes)

    def sweep(self, experiment: str) -> Sweep:
        """The sweep of an experiment; its first key is `case`."""
        return self._sweeps(experiment)

    def _sweep(self, experiment: str) -> Sweep:
        plan = self.whole.of(experiment).plan
        wanted = {key: plan.first(key) for key in plan.keys}
        most = pl.DataFrame(
            {"key": list(wanted), "most": list(wanted.values())},
            schema={"key": pl.String, "most": pl.UInt32},
        )

        def read(name: str) -> pl.DataFrame | None:
            table = self._read(name)
            if table is None:
                return None
            # The store may contain more replications from earlier calls.
            kept = table.join(most, on="key", how="inner", maintain_order="left")
            chosen: pl.DataFrame = kept.filter(pl.col("replication") < pl.col("most")).drop("most")
            return chosen

        return Sweep(plan, read)

    def values(self, point: Point, quantity: str) -> Values | None:
        """Values of a quantity in each run of a point; None if the quantity does not exist."""
        own = self._parts(DERIVED, "quantity").get((point.key, quantity))
        if own is not None:
            return _in_order(own, "value", point.runs)
        if quantity in self.whole.quantities:
            return self._derived_values(point, quantity)
        kind, _, rest = quantity.partition(".")
        name, _, column = rest.rpartition(".")
        part = self._parts(*KINDS[kind]).get((point.key, name)) if kind in KINDS else None
        if part is not None and column in part.columns and part[column].dtype.is_numeric():
            return _in_order(part, column, point.runs)
        return None

    def is_known(self, quantity: str) -> bool:
        """True if the quantity can only be one of a table, or of quantities.toml."""
        return quantity in self.whole.quantities or quantity.partition(".")[0] in KINDS

    def quantities(self, point: Point) -> set[str]:
        """Quantities of a point that have a name: its own, and those of flows and links."""
        found = {name for key, name in self._parts(DERIVED, "quantity") if key == point.key}
        found |= self.whole.quantities.keys()
        for kind, (table, *by) in KINDS.items():
            for (key, name), part in self._parts(table, *by).items():
                if key == point.key:
                    columns = part.columns[len(by) + 2 :]
                    found |= {f"{kind}.{name}.{column}" for column in columns}
        return found

    def _derived_values(self, point: Point, quantity: str) -> Values:
        """Values of a quantity of quantities.toml; a table that is kept may have no rows."""
        how = self.whole.quantities[quantity]
        if how.from_ in TABLES and how.from_ not in self.whole.recordings[point.key].keep:
            raise StudyError(f"{FILE}: {quantity}: {how.from_} are not among the kept `tables`")
        return how.in_order(self._derived(quantity).get(point.key, {}), point.runs)

    def _by_point(self, quantity: str) -> dict[str, dict[int, float]]:
        """A quantity of quantities.toml by the key of the point, and by replication."""
        how = self.whole.quantities[quantity]
        table = self._floats(how.from_)
        with located(f"{FILE}: {quantity}"):
            return {} if table is None else how.by_point(table)

    def _read_floats(self, name: str) -> pl.DataFrame | None:
        table = self._read(name)
        return None if table is None else with_floats(table)

    def _axes(self, experiment: str) -> dict[str, list[Any]]:
        """Keys that vary within the cases of an experiment, and their values."""
        grid = self.whole.of(experiment).plan.grid
        return {
            key: list({repr(point[place]): point[place] for point in grid.points}.values())
            for place, key in enumerate(grid.keys)
            if key != CASE
        }

    def _split(self, table: str, *by: str) -> dict[tuple[str, str], pl.DataFrame]:
        """A table, split by point and name; the name consists of the values of some columns."""
        whole = self._read(table)
        parts = {} if whole is None else whole.partition_by("key", *by, as_dict=True)
        return {(key, ".".join(name)): part for (key, *name), part in parts.items()}


class RunsOnRequest(Runs):
    """Runs a point when a quantity of it is first needed, for the trials of a calibration.

    Args:
        whole: The plan.
        known: Values that are known, which also later trials use.
        threads: Number of cores to use.
    """

    def __init__(self, whole: Whole, known: Known, threads: int | None) -> None:
        super().__init__(whole, lambda name: None)
        self._known = known
        self._threads = threads
        self._made = cache(self._run)

    def _run(self, point: Point) -> Runs:
        few = only(self.whole.of(point.experiment), {point.key})
        return Runs(self.whole, run_study(few, None, self._threads, progress=False))

    def sweep(self, experiment: str) -> Sweep:
        """Raises an error, since single points are run.

        Raises:
            StudyError: Always.
        """
        raise StudyError(
            f"{experiment}: a value reads a whole table, but a trial runs single points"
        )

    def values(self, point: Point, quantity: str) -> Values | None:
        """As for `Runs`."""
        if (point, quantity) not in self._known:
            self._known[point, quantity] = self._made(point).values(point, quantity)
        return self._known[point, quantity]

    def quantities(self, point: Point) -> set[str]:
        """As for `Runs`."""
        return self._made(point).quantities(point)


def _in_order(part: pl.DataFrame, column: str, count: int) -> Values:
    """Values by replication; None for a run without a value."""
    values = dict(zip(part["replication"].to_list(), part[column].to_list(), strict=True))
    return [values.get(replication) for replication in range(count)]
