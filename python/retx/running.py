"""Runs scenarios: one run (`run`), or many replications on all cores (`replicate`)."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from retx import _native
from retx.checks import capture_points, checked_integer, optional_path
from retx.code_hashes import UserCodeHashes
from retx.directory import new_directory, new_file
from retx.errors import NothingMeasuredWarning
from retx.places import check_places
from retx.progress import Progress, watched
from retx.results import Result
from retx.source import Scenario, Source, override_pairs, read, toml_value
from retx.trust import current, read_data, trusting

if TYPE_CHECKING:
    from retx.replications import Replications
    from retx.user_code import Finder, Found, Place


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


def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    replication: int = 0,
    tables: bool = True,
    segments: bool = True,
    pcap: str | os.PathLike[str] | None = None,
    pcap_at: str | Sequence[str] = (),
    reference: bool = False,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    code: bool = True,
    files_anywhere: bool = False,
    progress: Progress = None,
) -> Result:
    """Simulates one scenario.

    Args:
        scenario: The path of a scenario file, the TOML text itself, or the same as a dict, in which
            a congestion control or loss cause may be a class (see `retx.CongestionControl`).
        seed: Seed that replaces the scenario's.
        overrides: Values by their key in the scenario, such as
            `{"link.cloud.forward.channel.p": 0.01}`.
        replication: Number of the replication, which selects the random draws together with the
            seed; 0 is the first.
        tables: Record drops and episodes. Without them, segments and samples, the memory of a run
            does not grow with its length.
        segments: Record the fate of every segment and acknowledgment.
        pcap: Path of a capture (pcapng) to write.
        pcap_at: Capture points, as one or several `"LINK@NODE"`: that node's end of the link,
            before its queue. By default the point where the first flow's data enter the network.
        reference: Simulate without optimisations: each hop by its own event, each segment by the
            general path through its connection. All results are equal except the count of events;
            the run takes about twice as long.
        out: Result directory to write, as `Result.save` does.
        force: Replace an earlier result at `out`.
        code: False refuses a scenario that names user code, before any code is loaded.
        files_anywhere: Data files that the scenario names may lie outside its folder.
        progress: True shows a bar, False none; by default a bar is shown on a terminal if the run
            lasts over a second. A function is called with the fraction done.

    Raises:
        OSError: A file cannot be read or written.
        ScenarioError: The scenario is invalid; the message says where, why, and what is valid.
        UsageError: An argument is invalid.
        RunError: The run failed.
        UserCodeError: User code failed; its exception is the `__cause__`.
    """
    target = optional_path("out", out)
    check_places(scenario, [pcap], target, overrides)
    with trusting(code=code, files_anywhere=files_anywhere):
        parsed = parsed_scenario(scenario, seed, overrides)
    with ExitStack() as files:
        # The directory is opened before the run, so that an error is reported before the
        # simulation.
        directory = files.enter_context(new_directory(target, replace=force)) if target else None
        result = run_parsed(
            parsed,
            replication=replication,
            tables=tables,
            segments=segments,
            pcap=pcap,
            pcap_at=pcap_at,
            reference=reference,
            progress=progress,
        )
        if directory:
            result.write(directory)
    return result


def run_parsed(
    parsed: Parsed,
    *,
    replication: int = 0,
    tables: bool = True,
    segments: bool = True,
    pcap: str | os.PathLike[str] | None = None,
    pcap_at: str | Sequence[str] = (),
    reference: bool = False,
    progress: Progress = None,
) -> Result:
    """Runs a scenario that has been parsed; see `run`."""
    replication = checked_integer("replication", replication, 0)
    file = optional_path("pcap", pcap)
    points = capture_points(file, pcap_at)
    with ExitStack() as files:
        capture = files.enter_context(new_file(file)) if file else None
        raw = watched(
            lambda control: _native.run(
                parsed.scenario,
                control,
                replication=replication,
                tables=tables,
                segments=segments,
                capture=points if capture else None,
                reference=reference,
            ),
            progress,
            leave=True,
        )
        if capture:
            raw.write_capture(capture)
    result = Result(raw, parsed.code)
    warn_of([result])
    return result


def replicate(
    scenario: Scenario,
    replications: int = 30,
    *,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    tables: bool = True,
    segments: bool = False,
    reference: bool = False,
    threads: int | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    code: bool = True,
    files_anywhere: bool = False,
    progress: Progress = None,
) -> Replications:
    """Simulates several replications of a scenario with independent random draws, on all cores.

    The result does not depend on the number of threads. Arguments are those of `run`; `threads`
    defaults to the number of cores.
    """
    from retx.replications import Replications

    replications = checked_integer("replications", replications, 1)
    threads = os.cpu_count() or 1 if threads is None else checked_integer("threads", threads, 1)
    target = optional_path("out", out)
    check_places(scenario, directory=target, overrides=overrides)
    with trusting(code=code, files_anywhere=files_anywhere):
        parsed, own = parsed_scenario(scenario, seed, overrides)
    with ExitStack() as files:
        directory = files.enter_context(new_directory(target, replace=force)) if target else None
        raws = watched(
            lambda control: _native.run_many(
                parsed,
                control,
                replications=replications,
                threads=threads,
                tables=tables,
                segments=segments,
                reference=reference,
            ),
            progress,
            leave=True,
        )
        result = Replications([Result(raw, own) for raw in raws])
        warn_of(list(result))
        if directory:
            result.write(directory)
    return result


def warn_of(results: Sequence[Result]) -> None:
    """Shows warnings of runs that are easily overlooked."""
    found = [result.warning for result in results if result.warning]
    if found:
        several = f" ({len(found)} of {len(results)} runs)" if len(results) > 1 else ""
        warnings.warn(found[0] + several, NothingMeasuredWarning, stacklevel=3)


class Parsed(NamedTuple):
    """A scenario, and the user code that it names."""

    scenario: _native.Scenario
    code: UserCodeHashes


def parsed_scenario(
    scenario: Scenario, seed: int | None, overrides: Mapping[str, Any] | None
) -> Parsed:
    """Reads and checks a scenario."""
    source = read(scenario)
    pairs = override_pairs(overrides, source.classes)
    if seed is not None:
        pairs.append(("seed", str(seed)))
    parsed, finder = _parsed(source, pairs)
    if finder.plain:
        # The result must name the class that was run, even if another one is registered under the
        # name later.
        parsed, finder = _parsed(source, pairs + _whole_names(parsed, finder.plain))
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
            from retx.user_code import Finder

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
        from retx.imported import own_imports

        sources = self._finder.sources
        return UserCodeHashes(sources, self._finder.nameless, own_imports(sources))
