"""Runs scenarios: one run (`run`), or many replications on all cores (`replicate`)."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from retx import _native
from retx.errors import NothingMeasuredWarning
from retx.errors.checks import capture_points, checked_integer, optional_path
from retx.files.directory import new_directory, new_file
from retx.results.result import Result
from retx.running.progress import Progress, watched
from retx.scenarios.parsed import Parsed, parsed_scenario
from retx.scenarios.places import check_places
from retx.scenarios.source import Scenario
from retx.scenarios.trust import trusting

if TYPE_CHECKING:
    from retx.results.replications import Replications


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
    file = optional_path("pcap", pcap)
    points = capture_points(file, pcap_at)
    with ExitStack() as files:
        # The outputs are opened before the run, so that an error is reported before the
        # simulation.
        directory = files.enter_context(new_directory(target, replace=force)) if target else None
        capture = files.enter_context(new_file(file)) if file else None
        result = run_parsed(
            parsed,
            replication=replication,
            tables=tables,
            segments=segments,
            capture=points if capture else None,
            reference=reference,
            progress=progress,
        )
        if capture:
            result.write_capture(capture)
        if directory:
            result.write(directory)
    return result


def run_parsed(
    parsed: Parsed,
    *,
    replication: int = 0,
    tables: bool = True,
    segments: bool = True,
    capture: list[tuple[str, str]] | None = None,
    reference: bool = False,
    progress: Progress = None,
) -> Result:
    """Runs a scenario that has been parsed; see `run`.

    With `capture`, the result keeps what passes these points; an empty list means the first flow's
    sender.
    """
    raw = watched(
        lambda control: _native.run(
            parsed.scenario,
            control,
            replication=checked_integer("replication", replication, 0),
            tables=tables,
            segments=segments,
            capture=capture,
            reference=reference,
        ),
        progress,
        leave=True,
    )
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

    The result does not depend on the number of threads. Arguments are those of `run`, without
    `replication`, `pcap` and `pcap_at`, which belong to a single run; `threads` defaults to the
    number of cores.
    """
    from retx.results.replications import Replications

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
