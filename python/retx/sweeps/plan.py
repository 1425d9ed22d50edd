"""What a sweep is to run: each point resolved, and named by what it resolves to."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retx import _native
from retx.errors import UsageError
from retx.source import Scenario, override_pairs, read, with_names
from retx.sweeps.grid import Grid, Until, read_grid

if TYPE_CHECKING:
    import polars as pl

REPLICATIONS = 30
"""Runs of each point, where nothing else is said."""
FIRST_REPLICATIONS = 10
"""With `until`: runs before the first look; of fewer, an interval says little."""
KEY_DIGITS = 32
TABLES = ("samples", "link_samples", "segments", "acks", "drops", "episodes", "exchanges")
"""What may be kept besides the summaries."""


@dataclass(frozen=True)
class Plan:
    """Points, and how often each is run. Points that resolve to the same are run once."""

    grid: Grid
    keys: tuple[str, ...]
    """Of each point: a hash of the resolved scenario, its seed and code of the user's own."""
    replications: int
    tables: tuple[str, ...] = ()
    engine: str = _native.ENGINE
    base: str = ""
    """The scenario itself, resolved, as TOML."""

    @property
    def until(self) -> Until | None:
        """When a point has been run often enough."""
        return self.grid.until

    @property
    def most(self) -> int:
        """No more runs of a point than these."""
        return self.until.max_replications if self.until else self.replications

    def rows(self) -> pl.DataFrame:
        """The points: `point`, a column for each key of the grid, and `key`."""
        import polars as pl

        index = pl.Series("point", range(len(self.keys)), dtype=pl.UInt32)
        return pl.DataFrame(
            [index, *self.grid.columns().values(), pl.Series("key", self.keys, dtype=pl.String)]
        )

    def to_json(self) -> str:
        """As `sweep.json` has it."""
        until = self.until
        content = {
            "engine": self.engine,
            "replications": self.replications,
            "until": vars(until) if until else None,
            "tables": list(self.tables),
            "keys": list(self.grid.keys),
            "points": [
                {"key": key, "values": list(values)}
                for key, values in zip(self.keys, self.grid.points, strict=True)
            ],
        }
        lines = json.dumps(content, ensure_ascii=False, allow_nan=False)
        return lines.replace('{"key"', '\n{"key"') + "\n"

    @classmethod
    def from_json(cls, text: str, base: str = "") -> Plan:
        """The reverse of `to_json`."""
        content = json.loads(text)
        until = Until(**content["until"]) if content["until"] else None
        points = tuple(tuple(point["values"]) for point in content["points"])
        grid = Grid(tuple(content["keys"]), points, content["replications"], until)
        keys = tuple(point["key"] for point in content["points"])
        tables = tuple(content["tables"])
        return cls(grid, keys, content["replications"], tables, content["engine"], base)


@dataclass(frozen=True)
class Prepared:
    """A plan with its scenarios, by their key."""

    plan: Plan
    scenarios: dict[str, _native.Scenario]

    @property
    def has_user_code(self) -> bool:
        """True when some point runs code of the user's own."""
        return any(scenario.has_user_code() for scenario in self.scenarios.values())


@dataclass(frozen=True)
class Wanted:
    """What a caller asks for; None stands for what the scenario's `[sweep]` says."""

    grid: Mapping[str, Any] | None = None
    replications: int | None = None
    until: Mapping[str, Any] | None = None
    seed: int | None = None
    overrides: Mapping[str, Any] | None = None
    tables: Sequence[str] = ()


def prepare(scenario: Scenario, wanted: Wanted) -> Prepared:
    """Checks and resolves every point.

    Raises:
        OSError: The file cannot be read.
        ScenarioError: The scenario, the grid or one of its points is wrong.
    """
    from retx.running import CodeFinder

    source = read(scenario)
    text = _native.toml_of_json(source.text) if source.is_json else source.text
    name = "" if source.is_json else source.name
    pairs = override_pairs(wanted.overrides, source.classes)
    if wanted.seed is not None:
        pairs.append(("seed", str(wanted.seed)))
    own = with_names(wanted.grid, source.classes) if wanted.grid is not None else None
    finder = CodeFinder(source)
    base = _native.parse(text, name, pairs, finder)
    tables = _checked_tables(wanted.tables, json.loads(base.to_json()))
    grid = read_grid(_table(base, wanted, own))
    parsed = _native.parse_points(
        text,
        name,
        pairs,
        list(grid.changes()),
        find=finder,
        samples="samples" in tables or "link_samples" in tables,
        threads=os.cpu_count() or 1,
    )
    code = {path: hashlib.sha256(content).hexdigest() for path, content in finder.sources.items()}
    keys = [_key(scenario, code) for scenario in parsed]
    first = grid.replications or (
        min(FIRST_REPLICATIONS, grid.until.max_replications) if grid.until else REPLICATIONS
    )
    plan = Plan(grid, tuple(keys), first, tables, base=base.to_toml())
    return Prepared(plan, dict(zip(keys, parsed, strict=True)))


def _table(
    base: _native.Scenario, wanted: Wanted, grid: Mapping[str, Any] | None
) -> dict[str, Any]:
    """`[sweep]` with what the caller wants instead."""
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


def _key(scenario: _native.Scenario, code: Mapping[str, str]) -> str:
    """Names a point by everything that its runs depend on, but for the engine."""
    named = [scenario.to_toml()]
    if scenario.has_user_code():
        named += [f"{path} {content}" for path, content in sorted(code.items())]
    return hashlib.sha256("\0".join(named).encode()).hexdigest()[:KEY_DIGITS]


def _checked_tables(tables: Sequence[str], scenario: Mapping[str, Any]) -> tuple[str, ...]:
    for name in tables:
        if name not in TABLES:
            raise UsageError(f"tables: no table {name!r} to keep; there is {', '.join(TABLES)}")
    sampled = {"samples", "link_samples"} & {*tables}
    if sampled and not scenario.get("sample_interval"):
        raise UsageError("tables: samples need a `sample_interval` in the scenario")
    # These are recorded together.
    wanted = {*tables}
    for together in (("samples", "link_samples"), ("segments", "acks"), ("episodes", "exchanges")):
        if wanted & {*together}:
            wanted |= {*together}
    return tuple(name for name in TABLES if name in wanted)
