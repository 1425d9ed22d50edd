"""Results of a run."""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from retx import _native
from retx.errors import warn
from retx.errors.checks import required_path
from retx.files.directory import new_directory, writing
from retx.files.earlier import TABLES
from retx.plugins.code_hashes import UserCodeHashes
from retx.results.rows import outline, rows_of_raw

if TYPE_CHECKING:
    import polars as pl

    from retx.plots.chooser import Plot

SAMPLING = 'set the scenario\'s `sample_interval`, to "every_ack" or a time such as "0.1 s"'
HOW_TO_RECORD = {
    "samples": SAMPLING,
    "link_samples": SAMPLING,
    "segments": "run with segments=True (command line: without --no-segments)",
    "acks": "run with segments=True (command line: without --no-segments)",
    "drops": "run with tables=True",
    "episodes": "run with tables=True",
    "exchanges": "run with tables=True, and a flow whose app is request_response",
    "limits": SAMPLING,
}


class NotRecordedError(LookupError):
    """The run did not record the requested table; the message names the option to record it."""


class Result:
    """One run: tables as data frames, a summary, and plots.

    Columns are described in docs/how-to/read-the-results.md. Each table is converted to a data
    frame at its first use.
    """

    def __init__(self, raw: _native.RawResult, code: UserCodeHashes | None = None) -> None:
        self._raw = raw
        self._code = code or UserCodeHashes()

    @property
    def warning(self) -> str | None:
        """Warning about this run that is easily overlooked; None if there is none."""
        return self._raw.warning()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Scenario, seed, flows, links, wlans, relays, …: what `retx run --json` prints."""
        summary: dict[str, Any] = json.loads(self._raw.head())
        summary["scenario"] = json.loads(self._raw.scenario_json())
        # Rows are converted in small groups, so that Ctrl-C takes effect even with a million rows.
        return summary | {table: list(rows) for table, rows in rows_of_raw(self._raw).items()}

    @cached_property
    def outline(self) -> dict[str, Any]:
        """Summary like `summary`, for code that iterates over it only once.

        `flows` and `links` are created lazily during iteration. The scenario lacks its lists of
        links, wlans, routes and flows.
        """
        return outline(self._raw)

    def write_summary(self, file: TextIO) -> None:
        """Writes `summary` as JSON, equal to `json.dump` with `indent=2` but much faster."""
        self._raw.write_summary(file, False, {})

    def write_capture(self, file: Path) -> None:
        """Writes what was captured in this run, as pcapng.

        Raises:
            OSError: The file cannot be written.
        """
        self._raw.write_capture(file)

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The scenario with every value written out; it can be run again."""
        scenario: dict[str, Any] = json.loads(self._raw.scenario_json())
        return scenario

    def scenario_toml(self) -> str:
        """Scenario as the text of a scenario file, with every value written out."""
        return self._raw.scenario_toml()

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow."""
        return self._summed_up("flows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per link and direction."""
        return self._summed_up("links")

    @cached_property
    def wlans(self) -> pl.DataFrame:
        """One row per wlan, with the totals of its stations."""
        return self._summed_up("wlans")

    @cached_property
    def stations(self) -> pl.DataFrame:
        """One row per station of a wlan, as a sender."""
        return self._summed_up("stations")

    @cached_property
    def relays(self) -> pl.DataFrame:
        """One row per relay."""
        return self._summed_up("relays")

    @cached_property
    def samples(self) -> pl.DataFrame:
        """The senders' state over time.

        Raises:
            NotRecordedError: The scenario has no `sample_interval`.
        """
        return self._table("samples")

    @cached_property
    def link_samples(self) -> pl.DataFrame:
        """Packets waiting in each queue over time; recorded together with the samples.

        With `"every_ack"` there is a row for each change of a queue, otherwise a row for each queue
        at each sampling time.

        Raises:
            NotRecordedError: The scenario has no `sample_interval`.
        """
        return self._table("link_samples")

    @cached_property
    def segments(self) -> pl.DataFrame:
        """One row per transmission of a segment, with its fate.

        Raises:
            NotRecordedError: The run was made with `segments=False`.
        """
        return self._table("segments")

    @cached_property
    def acks(self) -> pl.DataFrame:
        """One row per acknowledgment sent; recorded together with the segments."""
        return self._table("acks")

    @cached_property
    def drops(self) -> pl.DataFrame:
        """One row per dropped packet, with place and reason."""
        return self._table("drops")

    @cached_property
    def episodes(self) -> pl.DataFrame:
        """One row per recovery episode, with its true cause."""
        return self._table("episodes")

    @cached_property
    def exchanges(self) -> pl.DataFrame:
        """One row per answered request of flows whose app is `request_response`."""
        return self._table("exchanges")

    @cached_property
    def limits(self) -> pl.DataFrame:
        """One row per period of a flow's lifetime under one limit; recorded with the samples.

        Columns: `flow start_s end_s limit`, where `limit` is a key of `limited_by`, such as
        `window.congestion`. The rows of a flow cover its lifetime without gaps.

        Raises:
            NotRecordedError: The scenario has no `sample_interval`.
        """
        return self._table("limits")

    def confusion(self) -> pl.DataFrame:
        """Inferred and true causes: how well each sender distinguished corruption from congestion.

        Columns: `flow kind inferred_cause congestion wireless spurious`; the last three contain the
        number of episodes with this `inferred_cause`, by true cause.
        """
        from retx.analysis.confusion import confusion

        return confusion(self.flows)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """All recorded tables, by name."""
        return {name: getattr(self, name) for name in TABLES if self._has(name)}

    @property
    def plot(self) -> Plot:
        """The plots, such as `result.plot.cwnd()`; see `retx.plots.chooser.Plot`."""
        from retx.plots.chooser import Plot

        return Plot(self)

    def save(self, directory: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes summary.json, scenario.toml and a Parquet file per table into a new directory.

        Equal runs give equal bytes: the wall-clock time (`engine.wall_s`) is left out. Warns if a
        user class is not defined in a file, since the scenario then cannot be run elsewhere.

        Args:
            directory: Must not exist, or be empty.
            force: Replace an earlier result there.

        Raises:
            OSError: The directory exists, or cannot be written.
        """
        with new_directory(required_path("directory", directory), replace=force) as path:
            self.write(path)

    def write(self, directory: Path) -> None:
        """Writes the files of `save` into an existing directory."""
        code = write_code(directory, self._code)
        summary = directory / "summary.json"
        with writing(summary), summary.open("w", encoding="utf-8") as file:
            self._raw.write_summary(file, True, code)
        number = json.loads(self._raw.head())["replication"]
        which = f"# This was draw {number} of the seed: --replication {number}\n" if number else ""
        write_tables(directory, which + self._raw.scenario_toml(code), self.tables)

    def _summed_up(self, name: str) -> pl.DataFrame:
        from retx.results.frames import frame_of_rows, summary_frame

        columns = self._raw.columns(name)
        if columns is None:
            return frame_of_rows(rows_of(self.summary, name))
        return summary_frame(columns)

    def _table(self, name: str) -> pl.DataFrame:
        from retx.results.frames import frame

        if not self._has(name):
            raise NotRecordedError(f"{name} were not recorded: {HOW_TO_RECORD[name]}")
        return frame(self._raw.take(name))

    def _has(self, name: str) -> bool:
        if name in ("links", "wlans", "stations", "relays"):
            return len(self.outline["wlans" if name == "stations" else name]) > 0
        return name == "flows" or self._raw.recorded(name)

    def __repr__(self) -> str:
        found = self.outline
        return (
            f"<retx.Result: {len(found['flows'])} flow(s), "
            f"{found['engine']['simulated_s']:g} s simulated, seed {found['seed']}>"
        )

    def _repr_html_(self) -> str:
        from retx.results.html import result_html

        return result_html(self.outline)


def without_clock(summary: dict[str, Any]) -> dict[str, Any]:
    """Summary without wall-clock times, which differ between runs."""
    engine = {key: value for key, value in summary["engine"].items() if key != "wall_s"}
    return {**summary, "engine": engine}


def rows_of(summary: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Rows of a table in a summary."""
    if name == "wlans":
        return [{k: v for k, v in row.items() if k != "stations"} for row in summary["wlans"]]
    if name == "stations":
        wlans = summary["wlans"]
        return [{"wlan": wlan["name"]} | station for wlan in wlans for station in wlan["stations"]]
    rows: list[dict[str, Any]] = summary[name]
    return rows


def write_code(directory: Path, code: UserCodeHashes) -> dict[str, str]:
    """Writes user code next to the scenario; returns the file names."""
    if code.classes:
        warn(
            f"{next(iter(code.classes))} is in no file: the scenario that is saved can be run "
            "again in this session only; put the class into a file to keep it"
        )
    if not code.files:
        return {}
    from retx.plugins.user_code import FOLDER, saved_names

    names = saved_names(code.files)
    (directory / FOLDER).mkdir()
    for path, content in code.files.items():
        (directory / names[path]).write_bytes(content)
    return names


def write_tables(directory: Path, scenario: str, tables: dict[str, pl.DataFrame]) -> None:
    """Writes the scenario's text, and a Parquet file for each table."""
    path = directory / "scenario.toml"
    with writing(path):
        path.write_text(scenario, encoding="utf-8")
    for name, table in tables.items():
        path = directory / f"{name}.parquet"
        with writing(path):
            table.write_parquet(path, compression="zstd")
