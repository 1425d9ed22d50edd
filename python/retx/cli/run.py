"""`retx run`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from retx.cli import options
from retx.cli.csv_files import Csv, check_csv, is_file, write_csv
from retx.cli.drawing import Drawing, check_no_segments, drawings
from retx.cli.encoding import output_of_json
from retx.errors import UsageError
from retx.files.directory import new_directory
from retx.scenarios.assignment import assignment
from retx.scenarios.places import check_places
from retx.scenarios.source import TomlText


class Outputs:
    """Destinations of the results."""

    def __init__(
        self,
        as_json: bool,
        directory: Path | None,
        force: bool,
        pcap: Path | None,
        figures: list[Drawing],
        csv: Path | None = None,
    ) -> None:
        self.as_json = as_json
        self.directory = directory
        self.force = force
        self.pcap = pcap
        self.figures = figures
        self.csv = csv

    @property
    def files(self) -> list[Path]:
        """Files and directories that the run writes."""
        return self.with_figures(self.figures)

    def with_figures(self, figures: list[Drawing]) -> list[Path]:
        """The files and directories, with some of the figures only."""
        places = [figure.place(self.directory) for figure in figures]
        return [path for path in (self.directory, self.pcap, self.csv, *places) if path]

    def check(self, scenario: Path, overrides: Mapping[str, Any]) -> None:
        """Refuses outputs that would overwrite each other or the scenario.

        Raises:
            UsageError: Two paths conflict; the message says which.
        """
        inside = [it.kind for it in self.figures if self.directory and not it.file]
        twice = [kind for kind in inside if inside.count(kind) > 1]
        if twice:
            raise UsageError(f"--plot {twice[0]}: is requested twice: name a file for one of them")
        figures = [it.place(None) for it in self.figures if it.file or not self.directory]
        check_csv(self.csv)
        check_places(scenario, [self.pcap, self.csv, *figures], self.directory, overrides)


def command(
    scenario: options.Scenario,
    as_json: options.AsJson = False,
    out: options.Out = None,
    force: options.Force = False,
    pcap: options.Pcap = None,
    pcap_at: options.PcapAt = None,
    settings: options.Settings = None,
    no_code: options.NoCode = False,
    files_anywhere: options.FilesAnywhere = False,
    seed: options.Seed = None,
    replications: options.Replications = None,
    replication: options.Replication = None,
    threads: options.Threads = None,
    plots: options.Plots = None,
    flow: options.Flow = None,
    span: options.Span = None,
    no_segments: options.NoSegments = False,
    width: options.Width = None,
    csv: Csv = None,
    reference: options.Reference = False,
) -> None:
    """Simulate a scenario and print a summary.

    \b
    Examples:
      retx run scenario.toml
      retx run scenario.toml --set flow.download.tcp=linux --seed 7
      retx run scenario.toml --replications 30
      retx run scenario.toml --replication 17 --plot cwnd
      retx run scenario.toml --out result --plot cwnd --plot ladder=first-loss.svg
      retx run scenario.toml --csv flows.csv
      retx run scenario.toml --pcap capture.pcapng
    """
    outputs = Outputs(as_json, out, force, pcap, drawings(plots or [], flow, span, width), csv)
    every_table = csv is not None and not is_file(csv)
    options.check_with_out(out, force, no_segments, bool(plots) or every_table)
    arguments: dict[str, Any] = {
        "seed": seed,
        "overrides": overrides_of(settings or []),
        "reference": reference,
        # Tables are recorded only if an output shows them.
        "tables": out is not None or every_table or bool(outputs.figures),
        "segments": not no_segments
        and (out is not None or every_table or any(it.shows_segments for it in outputs.figures)),
    }
    if no_segments:
        check_no_segments(outputs.figures)
    if replications is None:
        if threads is not None:
            raise UsageError("--threads needs --replications: a single run uses one core")
        if pcap_at and not pcap:
            raise UsageError("--pcap-at says where to capture: add --pcap FILE")
        arguments |= {"pcap_at": pcap_at or [], "replication": replication or 0}
        _run_one(scenario, arguments, outputs)
    else:
        if replication is not None:
            raise UsageError("--replication N runs only replication N: leave out --replications")
        if pcap or outputs.figures:
            raise UsageError(
                "--pcap and --plot show one run: use --replication N instead of --replications"
            )
        _run_many(scenario, arguments | {"threads": threads}, replications, outputs)


def _run_one(scenario: Path, arguments: dict[str, Any], outputs: Outputs) -> None:
    from retx.running.run import run_parsed
    from retx.scenarios.parsed import parsed_scenario

    seed, overrides = arguments.pop("seed"), arguments.pop("overrides")
    outputs.check(scenario, overrides)
    parsed = parsed_scenario(scenario, seed, overrides)
    if outputs.figures:
        resolved = json.loads(parsed.scenario.to_json())
        if any(figure.needs_samples(resolved) for figure in outputs.figures):
            overrides = {**overrides, "sample_interval": "every_ack"}
            parsed = parsed_scenario(scenario, seed, overrides)
            resolved = json.loads(parsed.scenario.to_json())
        for figure in outputs.figures:
            figure.check(resolved)
    # Every output is opened before the run, and gets its final name when it is complete.
    with ExitStack() as files:
        directory = None
        if outputs.directory:
            directory = files.enter_context(new_directory(outputs.directory, replace=outputs.force))
        targets = [files.enter_context(figure.open(directory)) for figure in outputs.figures]
        result = run_parsed(parsed, pcap=outputs.pcap, **arguments)
        if directory:
            result.write(directory)
        if outputs.csv:
            write_csv(outputs.csv, lambda: result.flows, lambda: result.tables)
        # If a figure cannot be drawn, the run and the other figures are still written.
        pairs = zip(outputs.figures, targets, strict=True)
        failed = {it: it.attempt(lambda one: one.figure_of(result), at) for it, at in pairs}
    if outputs.as_json:
        stream = output_of_json()
        result.write_summary(stream)
        stream.flush()
    else:
        from retx.cli.summary import print_summary

        drawn = [figure for figure, reason in failed.items() if not reason]
        print_summary(
            result.outline,
            outputs.with_figures(drawn),
            lambda: json.loads(parsed.scenario.to_json()),
        )
    if any(failed.values()):
        raise UsageError("; ".join(reason for reason in failed.values() if reason))


def _run_many(scenario: Path, arguments: dict[str, Any], count: int, outputs: Outputs) -> None:
    from retx.running.run import replicate

    outputs.check(scenario, arguments["overrides"])
    result = replicate(scenario, count, out=outputs.directory, force=outputs.force, **arguments)
    if outputs.csv:
        write_csv(outputs.csv, lambda: result.flows, lambda: result.tables)
    if outputs.as_json:
        print_json(result.summary)
        return
    from retx.cli.summary import print_means

    print_means(result, outputs.files)


def overrides_of(settings: list[str], such_as: str = "seed=3") -> dict[str, TomlText]:
    """Overrides from `--set` options, as keys and TOML values."""
    pairs = {}
    for setting in settings:
        found = assignment(setting)
        if not found:
            raise UsageError(f"--set {setting}: write KEY=VALUE, such as {such_as}")
        key, value = found
        pairs[key] = TomlText(value)
    return pairs


def check_set(overrides: Mapping[str, object], varied: Iterable[str]) -> None:
    """Refuses a key that is both set by `--set` and varied.

    Raises:
        UsageError: A key is set and varied; the message says which.
    """
    for key in varied:
        if key in overrides:
            raise UsageError(
                f"--set {key}: --vary also sets this key: leave out one of the options"
            )


def print_json(summary: Any) -> None:  # noqa: ANN401
    """Prints a summary or another value as one JSON value."""
    stream = output_of_json()
    json.dump(summary, stream, indent=2, ensure_ascii=False, allow_nan=False)
    stream.write("\n")
    stream.flush()
