"""`retx run`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from retx.cli import options
from retx.cli.drawing import Drawing, drawings
from retx.errors import UsageError
from retx.source import TomlText


def command(
    scenario: options.Scenario,
    as_json: options.AsJson = False,
    out: options.Out = None,
    force: options.Force = False,
    pcap: options.Pcap = None,
    settings: options.Settings = None,
    seed: options.Seed = None,
    replications: options.Replications = None,
    threads: options.Threads = None,
    plots: options.Plots = None,
    flow: options.Flow = None,
    span: options.Span = None,
    no_segments: options.NoSegments = False,
) -> None:
    """Simulate a scenario and print a summary."""
    figures = drawings(plots or [], out or Path(), flow, span)
    common: dict[str, Any] = {
        "seed": seed,
        "overrides": _overrides(settings or []),
        "out": out,
        "force": force,
    }
    if replications is None:
        if threads is not None:
            raise UsageError("--threads goes with --replications: one run uses one core")
        segments = any(figure.needs_segments for figure in figures) or (
            out is not None and not no_segments
        )
        _run_one(scenario, common | {"segments": segments, "pcap": pcap}, figures, as_json)
    else:
        if pcap or figures:
            raise UsageError("--pcap and --plot show one run: leave out --replications")
        segments = out is not None and not no_segments
        _run_many(scenario, common | {"segments": segments, "threads": threads}, replications, as_json)


def _run_one(
    scenario: Path, arguments: dict[str, Any], figures: list[Drawing], as_json: bool
) -> None:
    from retx.running import run

    result = run(scenario, **arguments)
    for figure in figures:
        figure.draw(result)
    if as_json:
        _print_json(result.summary)
        return
    from retx.cli.summary import print_summary

    written = [arguments["out"], arguments["pcap"], *(figure.file for figure in figures)]
    print_summary(result.summary, [path for path in written if path])


def _run_many(scenario: Path, arguments: dict[str, Any], count: int, as_json: bool) -> None:
    from retx.running import replicate

    result = replicate(scenario, count, **arguments)
    if as_json:
        _print_json(result.summary)
        return
    from retx.cli.summary import print_means

    print_means(result, [arguments["out"]] if arguments["out"] else [])


def _overrides(settings: list[str]) -> dict[str, TomlText]:
    pairs = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--set {setting}: write KEY=VALUE, such as seed=3")
        pairs[key.strip()] = TomlText(value.strip())
    return pairs


def _print_json(summary: dict[str, Any]) -> None:
    json.dump(summary, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")
    sys.stdout.flush()
