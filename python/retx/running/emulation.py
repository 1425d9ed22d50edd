"""Runs scenarios with this machine's kernel in place of retx's TCP (`emulate`). Linux only."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from retx import _native
from retx.errors import UsageError
from retx.errors.checks import capture_points, checked_integer, optional_path
from retx.files.directory import check_place, new_directory, new_file
from retx.results.result import Result
from retx.running.progress import Progress, watched
from retx.running.run import warn_of
from retx.scenarios.parsed import Parsed, parsed_scenario
from retx.scenarios.places import check_places
from retx.scenarios.source import Scenario
from retx.scenarios.trust import trusting, without_code

_WORKER = """
import sys
sys.path.insert(0, {path!r})
from retx import _native
inner = sys.argv[-1] == "--inner"
rest = sys.argv[1:-1] if inner else sys.argv[1:]
command = [sys.executable, "-c", sys.orig_argv[sys.orig_argv.index("-c") + 1], *rest]
sys.exit(_native.emulate_worker(command, inner))
"""
"""Program of the worker process, which holds the hosts (see crates/emulate/src/worker)."""


def emulate(
    scenario: Scenario,
    *,
    backend: str = "tun",
    programs: Sequence[tuple[str, str | None]] = (),
    background: Sequence[tuple[str, str]] = (),
    programs_to_error: bool = False,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    replication: int = 0,
    lateness_bound_s: float = 0.001,
    tables: bool = True,
    segments: bool = True,
    pcap: str | os.PathLike[str] | None = None,
    pcap_at: str | Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    files_anywhere: bool = False,
    progress: Progress = None,
) -> Result:
    """Emulates one scenario in real time.

    The kernel's TCP sends between network namespaces, over the scenario's links. A scenario that
    names user code is refused before any code is loaded.

    Args:
        scenario: As for `run`.
        backend: `"tun"`, or `"precise"` for packets stamped by the kernel.
        programs: Programs to run in hosts, as pairs of a node and a shell command; `None` instead
            of a command starts an interactive shell. The emulation lasts at least until they have
            ended. With a shell it may exceed the scenario's `duration`.
        background: Programs such as servers, for which the emulation does not wait; they end with
            it.
        programs_to_error: Redirect the output of programs to the standard error.
        seed: Seed that replaces the scenario's.
        overrides: Values by their key in the scenario.
        replication: Number of the replication, which selects the random draws together with the
            seed.
        lateness_bound_s: Bound on the 99th percentile of the lateness of packets; a result beyond
            it is invalid.
        tables: Record drops.
        segments: Record the fate of every segment and acknowledgment, as the links saw them.
        pcap: Path of a capture (pcapng) of the scenario's flows.
        pcap_at: As for `run`.
        out: Result directory to write, as `Result.save` does.
        force: Replace an earlier result at `out`.
        files_anywhere: As for `run`.
        progress: As for `run`.

    The result has the columns and keys of a simulation's; values that the kernel does not report
    are null. `result.summary["emulation"]` describes the emulation and says whether it is valid.

    Raises:
        OSError: A file cannot be read or written.
        ScenarioError: The scenario is wrong.
        EmulationRefusedError: The kernel cannot run this scenario, or this machine does not permit
            it or lacks something; the message says what.
        RunError: The emulation failed.
    """
    target, file = optional_path("out", out), optional_path("pcap", pcap)
    points = capture_points(file, pcap_at)
    check_places(scenario, [file], target, overrides)
    parsed = parsed_for_kernel(scenario, seed, overrides, files_anywhere=files_anywhere)
    if target:
        # The target is checked before the run, but not created, so that nothing is left if the run
        # is killed.
        check_place(target, replace=force)
    with ExitStack() as files:
        capture = files.enter_context(new_file(file)) if file else None
        result = emulate_parsed(
            parsed,
            backend=backend,
            programs=programs,
            background=background,
            programs_to_error=programs_to_error,
            replication=replication,
            lateness_bound_s=lateness_bound_s,
            tables=tables,
            segments=segments,
            capture=points if capture else None,
            progress=progress,
        )
        if target:
            result.write(files.enter_context(new_directory(target, replace=force)))
        if capture:
            result.write_capture(capture)
    return result


def parsed_for_kernel(
    scenario: Scenario,
    seed: int | None,
    overrides: Mapping[str, Any] | None,
    *,
    files_anywhere: bool,
) -> Parsed:
    """Reads a scenario; refuses one that names user code, before any code is loaded."""
    check_linux()
    with without_code(no_code_in_the_kernel), trusting(files_anywhere=files_anywhere):
        return parsed_scenario(scenario, seed, overrides)


def emulate_parsed(
    parsed: Parsed,
    *,
    backend: str = "tun",
    programs: Sequence[tuple[str, str | None]] = (),
    background: Sequence[tuple[str, str]] = (),
    programs_to_error: bool = False,
    replication: int = 0,
    lateness_bound_s: float = 0.001,
    tables: bool = True,
    segments: bool = True,
    capture: list[tuple[str, str]] | None = None,
    progress: Progress = None,
) -> Result:
    """Emulates a scenario that has been parsed; see `emulate`, and `run_parsed` for `capture`."""
    replication = checked_integer("replication", replication, 0)
    check_lateness(lateness_bound_s)
    calibrated = calibration(backend)
    raw = watched(
        lambda control: _native.emulate(
            parsed.scenario,
            control,
            command=worker_command(),
            backend=backend,
            programs=[
                *((host, command, False) for host, command in background),
                *((host, command, True) for host, command in programs),
            ],
            programs_to_error=programs_to_error,
            lateness_bound_s=lateness_bound_s,
            rate_max_bit_s=calibrated["rate_max_bit_s"] if calibrated else None,
            replication=replication,
            tables=tables,
            segments=segments,
            capture=capture,
        ),
        progress,
    )
    result = Result(raw, parsed.code)
    warn_of([result])
    return result


def no_code_in_the_kernel() -> Exception:
    """Error for a scenario that names user code."""
    return _native.EmulationRefusedError(
        "the kernel does not run code of your own: name a congestion control that the kernel has"
    )


def check_lateness(bound_s: float) -> None:
    """Refuses an invalid bound.

    Raises:
        UsageError: The bound is below 0, or not finite.
    """
    if not 0 <= bound_s < math.inf:
        raise UsageError(f"the lateness bound is {bound_s} s: it must be at least 0 s")


def worker_command() -> list[str]:
    """Command that starts a worker."""
    # With this path the worker imports this package, whatever its working directory is.
    return [sys.executable, "-c", _WORKER.format(path=str(Path(__file__).parents[2]))]


def check_linux() -> None:
    """Refuses other systems, where `_native` has no emulation.

    Raises:
        EmulationRefusedError: The system is not Linux.
    """
    if sys.platform != "linux":
        raise _native.EmulationRefusedError(
            "emulation needs Linux, whose network namespaces are its hosts; run, why, sweep and "
            "drill work here"
        )


def calibrate(backend: str = "tun", progress: Progress = None) -> dict[str, Any]:
    """Measures the rates at which this machine can emulate, and stores the result for `emulate`.

    Returns a dict: `backend`, `rate_max_bit_s` (the highest sustained rate; 0 if none), `trials`.
    """
    check_linux()
    text = watched(
        lambda control: _native.emulate_calibrate(
            control, command=worker_command(), backend=backend
        ),
        progress,
    )
    trials: list[dict[str, Any]] = json.loads(text)
    held = [trial["rate_bit_s"] for trial in trials if trial["held"]]
    found = {"backend": backend, "rate_max_bit_s": max(held, default=0.0), "trials": trials}
    place = calibration_file(backend)
    place.parent.mkdir(parents=True, exist_ok=True)
    with new_file(place) as file:
        file.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return found


def calibration(backend: str) -> dict[str, Any] | None:
    """Latest result of `calibrate`; None if there is none for this machine."""
    try:
        found: dict[str, Any] = json.loads(calibration_file(backend).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return found


def calibration_file(backend: str) -> Path:
    """File that stores the result of a calibration."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "retx" / f"calibration-{backend}.json"


def clean() -> int:
    """Ends processes left behind by killed emulations; returns their number.

    Hosts and devices of an emulation end with the worker process that holds them. A worker ends
    with its emulation, unless it is suspended or hangs. `emulate` calls this function when it
    starts.
    """
    check_linux()
    return _native.emulate_clean()
