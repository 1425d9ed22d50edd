"""`retx emulate`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

from retx.cli import options
from retx.cli.opened import opened_files
from retx.cli.parameters import Argument, Option
from retx.cli.run import overrides_of, print_json
from retx.errors import UsageError
from retx.errors.checks import capture_points
from retx.files.directory import check_place
from retx.scenarios.places import check_capture_file, check_places

Scenario = Annotated[
    Path | None,
    Argument(help="A scenario file (TOML), or - for the standard input.", show_default=False),
]
Exec = Annotated[
    tuple[str, str] | None,
    Option(
        "--exec",
        metavar="HOST COMMAND",
        help="Run a command on the host of a node, such as --exec client 'curl http://server/'. "
        "The emulation lasts until the command has ended.",
    ),
]
Background = Annotated[
    tuple[str, str] | None,
    Option(
        metavar="HOST COMMAND",
        help="Run a command, such as a server, on the host of a node during the emulation.",
    ),
]
Shell = Annotated[str | None, Option(metavar="HOST", help="Open a shell on the host of a node.")]
Backend = Annotated[
    str,
    Option(
        metavar="NAME",
        help="Kind of devices: tun, or precise (Ethernet, with the kernel's timestamps).",
    ),
]
Lateness = Annotated[
    float,
    Option(
        "--lateness-bound",
        metavar="SECONDS",
        help="The result is invalid if more than 1 % of the packets are late by more than this.",
    ),
]
Calibrate = Annotated[
    bool,
    Option("--calibrate", help="Measure and store the rates that this machine sustains."),
]
Clean = Annotated[
    bool,
    Option("--clean", help="End processes left by emulations that were killed."),
]


def command(
    scenario: Scenario = None,
    as_json: options.AsJson = False,
    out: options.Out = None,
    force: options.Force = False,
    no_segments: options.NoSegments = False,
    pcap: options.Pcap = None,
    pcap_at: options.PcapAt = None,
    settings: options.Settings = None,
    files_anywhere: options.FilesAnywhere = False,
    seed: options.Seed = None,
    backend: Backend = "tun",
    program: Exec = None,
    background: Background = None,
    shell: Shell = None,
    lateness_bound: Lateness = 0.001,
    calibrate: Calibrate = False,
    clean: Clean = False,
) -> None:
    """Run a scenario with this machine's kernel in place of retx's TCP, in real time.

    \b
    Examples:
      retx emulate scenario.toml
      retx emulate scenario.toml --exec phone 'curl -o /dev/null http://server/'
      retx emulate --calibrate
    """
    from retx.running.emulation import check_linux, emulate_parsed, parsed_for_kernel

    check_linux()
    if calibrate or clean:
        if scenario:
            raise UsageError("--calibrate and --clean take no scenario")
        _calibrate(backend, as_json) if calibrate else _clean()
        return
    if scenario is None:
        raise UsageError("no scenario is named: name a file (TOML)")
    if pcap_at and not pcap:
        raise UsageError("--pcap-at says where to capture: add --pcap FILE")
    options.check_with_out(out, force, no_segments)
    asked: list[tuple[str, str | None]] = [program] if program else []
    if shell:
        asked.append((shell, None))
    overrides = overrides_of(settings or [])
    check_places(scenario, [pcap], out, overrides)
    points = capture_points(pcap, pcap_at or []) if pcap else None
    parsed = parsed_for_kernel(scenario, seed, overrides, files_anywhere=files_anywhere)
    check_capture_file(pcap, lambda: json.loads(parsed.scenario.to_json()))
    if out:
        check_place(out, replace=force)
    with opened_files([pcap]) as files:
        result = emulate_parsed(
            parsed,
            backend=backend,
            programs=asked,
            background=[background] if background else [],
            # The standard output must contain only the JSON.
            programs_to_error=as_json,
            lateness_bound_s=lateness_bound,
            tables=out is not None,
            segments=out is not None and not no_segments,
            capture=points,
            # A progress bar would overwrite the output of a program.
            progress=False if asked else None,
        )
        files.write(pcap, result.write_capture)
        if out:
            files.attempt(lambda: result.save(out, force=force), out)
    summary = result.summary
    if as_json:
        print_json(summary)
    else:
        from retx.cli.summary import print_summary

        print_summary(summary, files.written)
    files.raise_faults()
    if any(program["exit_code"] for program in summary["emulation"]["programs"]):
        sys.exit(1)


def _calibrate(backend: str, as_json: bool) -> None:
    from retx.running.emulation import calibrate, calibration_file
    from retx.terminal.quantities import rate, seconds

    found = calibrate(backend)
    if as_json:
        print_json(found)
        return
    trials: list[dict[str, Any]] = found["trials"]
    for trial in trials:
        verdict = "held" if trial["held"] else "not held"
        late = trial["lateness_p99_s"]
        print(
            f"{rate(trial['rate_bit_s'])}: {verdict} (goodput {rate(trial['goodput_bit_s'])}, "
            f"lateness {seconds(late)} in the worst hundredth, {trial['device_drops']} dropped "
            "by devices)"
        )
    print(
        f"This machine holds {rate(found['rate_max_bit_s'])} on the backend {backend}. "
        f"Remembered in {calibration_file(backend)}."
    )


def _clean() -> None:
    from retx.running.emulation import clean

    ended = clean()
    print("nothing was left" if ended == 0 else f"{ended} processes that were left have been ended")
