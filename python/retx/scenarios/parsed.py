"""Parsed scenarios, with the files and the user code that they name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from retx import _native
from retx.errors import warn_of_idle_queues
from retx.errors.checks import check_seed
from retx.plugins.code_hashes import UserCodeHashes
from retx.scenarios.source import Scenario, Source, override_pairs, read, toml_value
from retx.scenarios.trust import current, read_data, trusting

if TYPE_CHECKING:
    from retx.plugins.user_code import Finder, Found, Place


def resolve(
    scenario: Scenario,
    *,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    code: bool = True,
    files_anywhere: bool = False,
) -> dict[str, Any]:
    """Checks a scenario; returns it with every value written out, as in `Result.scenario`.

    `code` and `files_anywhere` are those of `run`.

    Raises:
        OSError: The file cannot be read.
        ScenarioError: The scenario is invalid; the message says where, why, and what is valid.
    """
    with trusting(code=code, files_anywhere=files_anywhere):
        parsed, _ = parsed_scenario(scenario, seed, overrides)
    resolved: dict[str, Any] = json.loads(parsed.to_json())
    return resolved


def scenario_toml(
    scenario: Scenario,
    *,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> str:
    """Resolved scenario like `resolve`, as the text of a scenario file."""
    parsed, _ = parsed_scenario(scenario, seed, overrides)
    return parsed.to_toml()


class Parsed(NamedTuple):
    """A scenario, and the user code that it names."""

    scenario: _native.Scenario
    code: UserCodeHashes


def parsed_scenario(
    scenario: Scenario,
    seed: int | None,
    overrides: Mapping[str, Any] | None,
    *,
    warns: bool = True,
) -> Parsed:
    """Reads and checks a scenario; `warns` is false for changes that the user did not make."""
    source = read(scenario)
    pairs = override_pairs(overrides, source.classes)
    if seed is not None:
        check_seed(seed)
        pairs.append(("seed", str(seed)))
    parsed, finder = _parsed(source, pairs)
    if finder.plain:
        # The result must name the class that was run, even if another one is registered under the
        # name later.
        parsed, finder = _parsed(source, pairs + _whole_names(parsed, finder.plain))
    if warns:
        warn_of_idle_queues(parsed.links_with_idle_queue())
    return Parsed(parsed, finder.code)


def _parsed(source: Source, pairs: list[tuple[str, str]]) -> tuple[_native.Scenario, CodeFinder]:
    finder = CodeFinder(source, pairs)
    if source.is_json:
        return _native.from_json(source.text, pairs, finder), finder
    return _native.parse(source.text, source.name, pairs, finder), finder


def _whole_names(scenario: _native.Scenario, names: Mapping[str, str]) -> list[tuple[str, str]]:
    """Overrides that name classes of this process by their qualified names."""
    return [
        (f"tcp.{tcp}.{kind}.class", toml_value(names[choice["class"]]))
        for tcp, decisions in json.loads(scenario.to_json())["tcp"].items()
        for kind in ("congestion_control", "loss_cause")
        if (choice := decisions.get(kind))
        and choice.get("class") in names
        and not choice.get("file")
    ]


class CodeFinder:
    """Finds the files that a scenario names: data, and code (`user_code.Finder`, on demand).

    Args:
        source: The scenario.
        overrides: Keys and their values as TOML. They come from the user, not from the scenario's
            author.
    """

    def __init__(self, source: Source, overrides: Sequence[tuple[str, str]] = ()) -> None:
        self._source = source
        self._named = {value.strip("\"'") for key, value in overrides if key.endswith(".file")}
        self._finder: Finder | None = None
        # The limits are stored, because other threads, which lack the context of this thread, read
        # the points of a sweep.
        self._trust = current()

    def data(self, file: str) -> str:
        """Text of a data file.

        Raises:
            DataFileError: The file lies where reading is not permitted, cannot be read, is too
                large, or is not a text file.
        """
        return read_data(self._trust, self._source.base, file, self._named)

    def __call__(self, kind: str, file: str | None, name: str, parameters: str) -> Found:
        """See `user_code.Finder`."""
        if self._trust.refuse_code:
            raise self._trust.refuse_code()
        if self._finder is None:
            from retx.plugins.user_code import Finder

            self._finder = Finder(self._source.base, self._source.classes)
        return self._finder(kind, file, name, parameters)

    @property
    def plain(self) -> Mapping[str, str]:
        """See `user_code.Finder`."""
        return self._finder.plain if self._finder else {}

    @property
    def classes(self) -> Mapping[Place, type]:
        """Classes of user code found so far, by file and name."""
        return self._finder.classes if self._finder else {}

    @property
    def code(self) -> UserCodeHashes:
        """User code found so far."""
        if self._finder is None:
            return UserCodeHashes()
        from retx.plugins.imported import own_imports

        sources = self._finder.sources
        return UserCodeHashes(sources, self._finder.nameless, own_imports(sources))
