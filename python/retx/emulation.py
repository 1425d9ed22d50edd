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
from retx.checks import capture_points, place, whole
from retx.directory import check_place, new_directory, new_file
from retx.errors import UsageError
from retx.places import check_places
from retx.progress import Progress, watched
from retx.results import Result
from retx.running import parsed_scenario, warn_of
from retx.source import Scenario
from retx.trust import trusting, without_code

_WORKER = """
import sys
sys.path.insert(0, {path!r})
from retx import _native
inner = sys.argv[-1] == "--inner"
rest = sys.argv[1:-1] if inner else sys.argv[1:]
command = [sys.executable, "-c", sys.orig_argv[sys.orig_argv.index("-c") + 1], *rest]
sys.exit(_native.emulate_worker(command, inner))
"""
"""The process that holds the hosts: see crates/emulate/src/worker."""


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
    names code of its own is refused before any of it is loaded.

    Args:
        scenario: As for `run`.
        backend: `"tun"`, or `"precise"` for packets stamped by the kernel.
        programs: Programs to run in hosts, as pairs of a node and a shell command; `None` in its
            place is a shell for the user. The emulation lasts until they have ended, too, and
            with a shell longer than the scenario's `duration`.
        background: Programs that the emulation does not wait for, such as servers; they end with
            it.
        programs_to_error: What programs print goes where errors go.
        seed: Takes the place of the scenario's.
        overrides: Values by their key in the scenario.
        replication: Which of the draws that the seed has in store the models take.
        lateness_bound_s: The 99th percentile of lateness above which the result is not valid.
        tables: Record drops.
        segments: Record the fate of every segment and acknowledgment, as the links saw them.
        pcap: Write a capture (pcapng) of the scenario's flows there.
        pcap_at: As for `run`.
        out: Write the result directory there, as `Result.save` does.
        force: Let an earlier result at `out` give way.
        files_anywhere: As for `run`.
        progress: As for `run`.

    The result has the columns and keys of a simulation's; what the kernel does not tell is null.
    `result.summary["emulation"]` says how it was done, and whether it is valid.

    Raises:
        OSError: A file cannot be read or written.
        ScenarioError: The scenario is wrong.
        EmulationRefusedError: The kernel cannot run this scenario, or this machine does not allow
            it or lacks something; the message says what.
        RunError: The emulation broke off.
    """
    check_linux()
    target, capture = place("out", out), place("pcap", pcap)
    points = capture_points(capture, pcap_at)
    replication = whole("replication", replication, 0)
    check_places(scenario, [capture], target, overrides)
    check_lateness(lateness_bound_s)
    with without_code(no_code_in_the_kernel), trusting(files_anywhere=files_anywhere):
        parsed, code = parsed_scenario(scenario, seed, overrides)
    calibrated = calibration(backend)
    if target:
        # Before the run, but not made: should the run be killed, nothing is to be left.
        check_place(target, replace=force)
    raw = watched(
        lambda control: _native.emulate(
            parsed,
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
            capture=points if capture else None,
        ),
        progress,
    )
    result = Result(raw, code)
    warn_of([result])
    with ExitStack() as files:
        if target:
            result.write(files.enter_context(new_directory(target, replace=force)))
        if capture:
            raw.write_capture(files.enter_context(new_file(capture)))
    return result


def no_code_in_the_kernel() -> Exception:
    """The error for a scenario that names code of its own."""
    return _native.EmulationRefusedError(
        "the kernel does not run code of your own: name a congestion control that the kernel has"
    )


def check_lateness(bound_s: float) -> None:
    """Refuses a bound that is no time.

    Raises:
        UsageError: It is below 0, or not finite.
    """
    if not 0 <= bound_s < math.inf:
        raise UsageError(f"the lateness bound is {bound_s} s: it is a time from 0 s on")


def worker_command() -> list[str]:
    """Command that starts a worker."""
    # Wherever it is started, it finds this very package.
    return [sys.executable, "-c", _WORKER.format(path=str(Path(__file__).parents[1]))]


def check_linux() -> None:
    """Refuses other systems, where `_native` is without emulation.

    Raises:
        EmulationRefusedError: This is none.
    """
    if sys.platform != "linux":
        raise _native.EmulationRefusedError(
            "emulation needs Linux, whose network namespaces are its hosts; run, why, sweep and "
            "drill work here"
        )


def calibrate(backend: str = "tun", progress: Progress = None) -> dict[str, Any]:
    """Finds out which rates this machine can hold, and remembers it for `emulate`.

    Returns a dict: `backend`, `rate_max_bit_s` (the highest rate held; 0 if none), `trials`.
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
    """Latest result of `calibrate`; None if it was never called on this machine."""
    try:
        found: dict[str, Any] = json.loads(calibration_file(backend).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return found


def calibration_file(backend: str) -> Path:
    """File that keeps the result of a calibration."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "retx" / f"calibration-{backend}.json"


def clean() -> int:
    """Ends what emulations that were killed have left; returns the number of processes.

    Hosts and devices end with the processes that hold them, which end with their emulation; this is
    for those that were stopped or hang. `emulate` does the same when it starts.
    """
    check_linux()
    return _native.emulate_clean()
