"""`retx run`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from retx.cli import options
from retx.cli.csv_files import Csv, check_csv, is_file, write_csv
from retx.cli.drawing import Drawing, check_no_segments, drawings
from retx.cli.encoding import output_of_json
from retx.cli.opened import opened_files
from retx.errors import UsageError
from retx.errors.checks import capture_points
from retx.files.directory import new_directory, reason_of
from retx.scenarios.assignment import assignment
from retx.scenarios.places import check_capture_file, check_places
from retx.scenarios.source import TomlText

if TYPE_CHECKING:
    from retx.results.replications import Replications
    from retx.results.result import Result


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
        places = [figure.place(self.directory) for figure in self.figures]
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
        capture = capture_points(pcap, pcap_at or []) if pcap else None
        arguments |= {"capture": capture, "replication": replication or 0}
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
    check_capture_file(outputs.pcap, lambda: json.loads(parsed.scenario.to_json()))
    if outputs.figures:
        resolved = json.loads(parsed.scenario.to_json())
        if any(figure.needs_samples(resolved) for figure in outputs.figures):
            overrides = {**overrides, "sample_interval": "every_ack"}
            parsed = parsed_scenario(scenario, seed, overrides)
            resolved = json.loads(parsed.scenario.to_json())
        for figure in outputs.figures:
            figure.check(resolved)
    written = _run_and_write(outputs, lambda: run_parsed(parsed, **arguments))
    if outputs.as_json:
        stream = output_of_json()
        written.result.write_summary(stream)
        stream.flush()
    else:
        from retx.cli.summary import print_summary

        outline = written.result.outline
        print_summary(outline, written.paths, lambda: json.loads(parsed.scenario.to_json()))
    written.raise_faults()


Made = TypeVar("Made", "Result", "Replications")


class Written(Generic[Made]):
    """A result, the outputs that were written, and the reasons why others were not."""

    def __init__(self, result: Made, outputs: Outputs) -> None:
        self.result: Made = result
        self.paths = outputs.files
        self._csv = outputs.csv
        self.faults: list[str] = []

    def miss(self, paths: Iterable[Path], reason: str) -> None:
        """Records that these paths are missing."""
        missing = set(paths)
        self.paths = [path for path in self.paths if path not in missing]
        self.faults.append(reason)

    def write_csv(self) -> None:
        """Writes the tables as CSV, if requested."""
        if self._csv is None:
            return
        try:
            write_csv(self._csv, lambda: self.result.flows, lambda: self.result.tables)
        except OSError as error:
            self.miss([self._csv], _reason(error))

    def raise_faults(self) -> None:
        """Raises an error that names the outputs that are missing.

        Raises:
            UsageError: An output is missing.
        """
        if self.faults:
            raise UsageError("; ".join(self.faults))


def _draw(written: Written[Result], figure: Drawing, path: Path, directory: Path | None) -> None:
    """Draws a figure of the result directory, or of no directory."""
    reason = figure.attempt(lambda it: it.figure_of(written.result), path, directory)
    if reason:
        written.miss([figure.place(directory)], reason)


def _run_and_write(outputs: Outputs, run: Callable[[], Result]) -> Written[Result]:
    """Runs a scenario and writes the outputs.

    Every output is opened before the run, and gets its final name when it is complete. If one
    cannot be drawn or written, as on a full disk, the others are still written.

    Raises:
        OSError: An output cannot be created.
    """
    target = outputs.directory
    written: Written[Result] | None = None
    inside = [figure for figure in outputs.figures if target and not figure.file]
    with ExitStack() as files:
        own = [it for it in outputs.figures if it not in inside]
        places = [(it, files.enter_context(it.open(None))) for it in own]
        opened = files.enter_context(opened_files([outputs.pcap]))
        try:
            with _directory_of(outputs) as directory:
                written = Written(run(), outputs)
                if directory:
                    written.result.write(directory)
                for figure in inside:
                    _draw(written, figure, figure.place(directory), target)
        except OSError as error:
            if written is None or target is None:
                raise
            written.miss([target, *(it.place(target) for it in inside)], _reason(error))
        opened.write(outputs.pcap, written.result.write_capture)
        if outputs.pcap and opened.faults:
            written.miss([outputs.pcap], *opened.faults)
        for figure, path in places:
            _draw(written, figure, path, None)
        written.write_csv()
    return written


def _directory_of(outputs: Outputs) -> AbstractContextManager[Path | None]:
    if outputs.directory is None:
        return nullcontext()
    return new_directory(outputs.directory, replace=outputs.force)


def _reason(error: OSError) -> str:
    return f"{error.filename}: {reason_of(error)}" if error.filename else str(error)


def _run_many(scenario: Path, arguments: dict[str, Any], count: int, outputs: Outputs) -> None:
    from retx.running.run import replicate

    outputs.check(scenario, arguments["overrides"])
    written: Written[Replications] | None = None
    try:
        with _directory_of(outputs) as directory:
            written = Written(replicate(scenario, count, **arguments), outputs)
            if directory:
                written.result.write(directory)
    except OSError as error:
        if written is None or outputs.directory is None:
            raise
        written.miss([outputs.directory], _reason(error))
    written.write_csv()
    if outputs.as_json:
        print_json(written.result.summary)
    else:
        from retx.cli.summary import print_means

        print_means(written.result, written.paths)
    written.raise_faults()


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
