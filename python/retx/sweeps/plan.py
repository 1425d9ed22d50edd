"""Plan of a sweep: each point resolved, and named by a hash of its resolved scenario."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from retx import _native
from retx.errors import UsageError
from retx.errors.checks import check_seed
from retx.errors.meant import choice
from retx.plugins.code_hashes import UserCodeHashes
from retx.scenarios.source import Scenario, Source, override_pairs, read, with_names
from retx.scenarios.varied import quantity
from retx.sweeps.grid import Case, Grid, Point, Until, plain_case, read_grid

if TYPE_CHECKING:
    import polars as pl

    from retx.plugins.user_code import Place
    from retx.sweeps.derive import Derive

REPLICATIONS = 30
"""Default number of runs of each point."""
FIRST_REPLICATIONS = 10
"""Number of runs before the first check of the precision (`until`): the interval of fewer runs is
unreliable."""
KEY_DIGITS = 32
WITHOUT_WARMUP = 'warmup = "0 s"\n'
"""Line of a resolved scenario without warm-up."""
TABLES = (
    "samples", "link_samples", "segments", "acks", "drops", "episodes", "exchanges", "limits",
)  # fmt: skip
"""Tables that can be kept in addition to the summaries."""
TOGETHER = (
    ("samples", "link_samples", "limits"),
    ("segments", "acks"),
    ("episodes", "exchanges"),
)
"""Tables that are recorded together."""


@dataclass(frozen=True)
class Plan:
    """Points and their numbers of runs; points with equal resolved scenarios are run once."""

    grid: Grid
    keys: tuple[str, ...]
    """Key of each point: a hash of its resolved scenario, seed and user code."""
    replications: int
    tables: tuple[str, ...] = ()
    engine: str = _native.ENGINE
    base: str = ""
    """The scenario itself, resolved, as TOML; empty if there are several."""
    derived: str = ""
    """Digest of the code that derives quantities from each run; empty if there is none."""
    counts: tuple[int | None, ...] = ()
    """Number of runs of each point whose case sets it; None for the other points."""
    single: bool = True
    """False if the points belong to several scenarios, as in a study."""

    @property
    def until(self) -> Until | None:
        """Stopping criterion for the runs of a point."""
        return self.grid.until

    @cached_property
    def _own(self) -> dict[str, int]:
        """Number of runs, by key of the point, for points whose case sets this number."""
        said: dict[str, list[int | None]] = {}
        for key, count in zip(self.keys, self.counts, strict=bool(self.counts)):
            said.setdefault(key, []).append(count)
        return {
            key: max(self.replications if count is None else count for count in counts)
            for key, counts in said.items()
            if any(counts) and not (None in counts and self.until)
        }

    def first(self, key: str) -> int:
        """Number of runs of a point; with `until`, the number before the first check."""
        return self._own.get(key, self.replications)

    def most(self, key: str) -> int:
        """Maximum number of runs of a point."""
        if key in self._own or not self.until:
            return self.first(key)
        return self.until.max_replications

    @property
    def planned(self) -> int:
        """Number of runs known to be needed."""
        return sum(self.first(key) for key in dict.fromkeys(self.keys))

    def rows(self) -> pl.DataFrame:
        """Table of the points: number `point`, a column for each key of the grid, hash `key`."""
        import polars as pl

        index = pl.Series("point", range(len(self.keys)), dtype=pl.UInt32)
        return pl.DataFrame(
            [index, *self.grid.columns().values(), pl.Series("key", self.keys, dtype=pl.String)]
        )

    def to_json(self) -> str:
        """Content of `sweep.json`."""
        until = self.until
        content = {
            "engine": self.engine,
            "replications": self.replications,
            "until": vars(until) if until else None,
            "tables": list(self.tables),
            "derived": self.derived,
            "single": self.single,
            "cases": [plain_case(case) for case in self.grid.cases],
            "keys": list(self.grid.keys),
            "points": [self._point(index) for index in range(len(self.keys))],
        }
        lines = json.dumps(content, ensure_ascii=False, allow_nan=False)
        return lines.replace('{"key"', '\n{"key"').replace('{"name"', '\n{"name"') + "\n"

    def _point(self, index: int) -> dict[str, Any]:
        point = {"key": self.keys[index], "values": list(self.grid.points[index])}
        count = self.counts[index] if self.counts else None
        return point if count is None else point | {"replications": count}

    @classmethod
    def from_json(cls, text: str, base: str = "") -> Plan:
        """The inverse of `to_json`.

        Raises:
            ValueError: The text is not a plan; also LookupError, TypeError and others.
        """
        content = json.loads(text)
        until = Until(**content["until"]) if content["until"] else None
        points = tuple(tuple(point["values"]) for point in content["points"])
        counts = tuple(point.get("replications") for point in content["points"])
        for count in (content["replications"], *(count for count in counts if count is not None)):
            if type(count) is not int or count < 0:
                raise ValueError(f"{count!r} is not a number of replications")
        cases = tuple(Case(**case) for case in content["cases"])
        grid = Grid(tuple(content["keys"]), points, content["replications"], until, cases)
        keys = tuple(point["key"] for point in content["points"])
        return cls(
            grid,
            keys,
            content["replications"],
            tuple(content["tables"]),
            content["engine"],
            base,
            content["derived"],
            counts,
            content["single"],
        )


@dataclass(frozen=True)
class Recording:
    """Tables recorded in addition to the summaries."""

    keep: tuple[str, ...] = ()
    """Tables that are kept."""
    derive: Derive | None = None

    @property
    def tables(self) -> tuple[str, ...]:
        """All recorded tables, including those that only `derive` reads."""
        wanted = {*self.keep, *(self.derive.reads if self.derive else ())}
        return tuple(name for name in TABLES if name in wanted)


@dataclass(frozen=True)
class Prepared:
    """A plan, with its scenarios and recorded tables by key."""

    plan: Plan
    scenarios: dict[str, _native.Scenario]
    recordings: dict[str, Recording]
    unhashable: list[str] = field(default_factory=list)
    """Classes of which a later process cannot know whether they have changed."""
    warms_up: bool = False
    """True if a point has a warm-up, so that a run may end within it."""
    classes: Mapping[Place, type] = field(default_factory=dict)
    """User classes that the points name, by file and name."""

    @property
    def has_user_code(self) -> bool:
        """True if a point runs user code."""
        return any(scenario.has_user_code() for scenario in self.scenarios.values())


@dataclass(frozen=True)
class Wanted:
    """Request of a caller; None selects the value of the scenario's `[sweep]`."""

    grid: Mapping[str, Any] | None = None
    replications: int | None = None
    until: Mapping[str, Any] | None = None
    seed: int | None = None
    overrides: Mapping[str, Any] | None = None
    tables: Sequence[str] = ()
    cases: Sequence[Case] | None = None
    derive: Derive | None = None


def prepare(scenario: Scenario, wanted: Wanted) -> Prepared:
    """Checks and resolves every point.

    Raises:
        OSError: The file cannot be read.
        ScenarioError: The scenario, the grid or one of its points is invalid.
    """
    from retx.scenarios.parsed import CodeFinder

    source = read(scenario)
    text = _native.toml_of_json(source.text) if source.is_json else source.text
    name = "" if source.is_json else source.name
    pairs = override_pairs(wanted.overrides, source.classes)
    if wanted.seed is not None:
        check_seed(wanted.seed)
        pairs.append(("seed", str(wanted.seed)))
    if not isinstance(wanted.grid, Mapping | None):
        raise UsageError(
            f"grid: {wanted.grid!r} is no dict: write a list or range of values for each key, such "
            'as {"flow.download.tcp": ["reno", "cubic"]}'
        )
    own = with_names(wanted.grid, source.classes) if wanted.grid is not None else None
    cases = _named(wanted.cases, source)
    finder = CodeFinder(source, pairs)
    base = _native.parse(text, name, pairs, finder)
    resolved = json.loads(base.to_json())
    tables = checked_tables(wanted.tables, resolved)
    derive = wanted.derive
    if derive:
        derive = replace(derive, reads=checked_tables(derive.reads, resolved, "derive_from"))
    recording = Recording(tables, derive)
    grid = read_grid(_table(base, wanted, own), cases)
    parsed = _native.parse_points(
        text,
        name,
        pairs,
        list(grid.changes()),
        find=finder,
        samples="samples" in recording.tables,
        threads=os.cpu_count() or 1,
    )
    code = finder.code
    texts = [scenario.to_toml() for scenario in parsed]
    keys = [_key(scenario, text, code) for scenario, text in zip(parsed, texts, strict=True)]
    _check_spellings(grid, keys)
    first = grid.replications or (
        min(FIRST_REPLICATIONS, grid.until.max_replications) if grid.until else REPLICATIONS
    )
    plan = Plan(
        grid,
        tuple(keys),
        first,
        tables,
        base=base.to_toml(),
        derived=derive.digest if derive else "",
        counts=grid.own_replications(),
    )
    scenarios = dict(zip(keys, parsed, strict=True))
    warms_up = any(WITHOUT_WARMUP not in text for text in texts)
    recordings = dict.fromkeys(keys, recording)
    return Prepared(plan, scenarios, recordings, code.unhashable, warms_up, finder.classes)


def _check_spellings(grid: Grid, keys: Sequence[str]) -> None:
    """Refuses two spellings of a value, such as `5 ms` and `0.005 s`: their runs are the same.

    Raises:
        UsageError: A value is there twice.
    """
    first = dict[str, Point]()
    for key, point in zip(keys, grid.points, strict=True):
        values = zip(grid.keys, first.setdefault(key, point), point, strict=True)
        differing = [(name, one, other) for name, one, other in values if one != other]
        if len(differing) == 1:
            name, one, other = differing[0]
            a, b = quantity(one), quantity(other)
            # Without an effect on the scenario, different values of one unit have the same key.
            if a and b and (a == b or a[1] != b[1]):
                raise UsageError(f"{name}: {one!r} and {other!r} are the same: leave out one")


def _named(cases: Sequence[Case] | None, source: Source) -> list[Case] | None:
    """Cases with names in place of classes."""
    if cases is None:
        return None
    return [replace(case, set=with_names(case.set, source.classes)) for case in cases]


def _table(
    base: _native.Scenario, wanted: Wanted, grid: Mapping[str, Any] | None
) -> dict[str, Any]:
    """`[sweep]` with the caller's requests."""
    written = json.loads(base.to_json()).get("sweep") or {}
    said = ("replications", "until")
    table: dict[str, Any] = dict(written if grid is None else grid)
    if grid is not None:
        table = {key: written[key] for key in said if key in written} | table
    if wanted.until is not None:
        table["until"] = dict(wanted.until)
    if wanted.replications is not None:
        table["replications"] = wanted.replications
    return table


def _key(scenario: _native.Scenario, text: str, code: UserCodeHashes) -> str:
    """Hash of everything that a point's runs depend on, except the engine."""
    named = [text]
    if scenario.has_user_code():
        named += code.digests(named[0])
    return hashlib.sha256("\0".join(named).encode()).hexdigest()[:KEY_DIGITS]


def checked_tables(
    tables: Sequence[str], scenario: Mapping[str, Any], argument: str = "tables"
) -> tuple[str, ...]:
    """Tables to record, in order, with those that are recorded together with them.

    Args:
        tables: The requested tables.
        scenario: The resolved scenario.
        argument: Name of the argument that requests them, for errors.

    Raises:
        UsageError: A table is unknown, or the scenario records no samples.
    """
    for name in tables:
        if name not in TABLES:
            raise UsageError(f"{argument}: no table {name!r} to record{choice(name, TABLES)}")
    sampled = [name for name in tables if name in TOGETHER[0]]
    if sampled and not scenario.get("sample_interval"):
        raise UsageError(f"{argument}: {sampled[0]} need a `sample_interval` in the scenario")
    wanted = {*tables}
    for together in TOGETHER:
        if wanted & {*together}:
            wanted |= {*together}
    return tuple(name for name in TABLES if name in wanted)
