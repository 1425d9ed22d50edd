"""The command beside a row of a report, typed as it stands, gives the figure of that row."""

from __future__ import annotations

import csv
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from conftest import QuickReports

import retx
from retx.study.shipped import names

SENDERS = ("reno", "vegas", "veno")
ROWS = 3
"""Number of rows that are repeated for each study, drawn from those below."""
SEED = int(os.environ.get("RETX_ROWS_SEED", "1"))
"""Seed of the draw; another number draws other rows."""

Flows = list[dict[str, Any]]
"""All flows of one run."""
Figure = Callable[[Flows], float | None]


def first(column: str, factor: float = 1.0) -> Figure:
    """Figure of the first flow."""

    def of(flows: Flows) -> float | None:
        value = flows[0][column]
        return None if value is None else factor * value

    return of


def named(name: str, column: str, factor: float = 1.0) -> Figure:
    """The mean over the flows whose names begin so."""
    return lambda flows: fmean(
        factor * flow[column] for flow in flows if flow["name"].startswith(name)
    )


def together(flows: Flows) -> float:
    """Goodput of all that send by TCP, in kbit/s; what a relay sends on (`@`) is the same again."""
    senders = [flow for flow in flows if flow["tcp"] is not None and "@" not in flow["name"]]
    return sum(flow["goodput_bit_s"] for flow in senders) / 1e3


MBIT = first("goodput_bit_s", 1e-6)
RESENT = first("segments_retransmitted")
TIME = first("response_time_s")

FIGURES: dict[str, list[tuple[str, str, Figure]]] = {
    "atlas": [
        ("algorithms", "goodput", MBIT),
        ("cells", "goodput", MBIT),
        ("places", "goodput", MBIT),
        ("fairness", "goodput", named("reno", "goodput_bit_s", 1e-6)),
    ],
    "bursty-rto": [
        ("policies", "throughput", MBIT),
        ("policies", "idle_max_s", first("idle_max_s")),
        ("switches", "throughput", MBIT),
    ],
    "dynamic-response": [
        ("backoff", "goodput", together),
        ("backoff", "idle_max_s", lambda flows: max(flow["idle_max_s"] for flow in flows)),
        ("mixes", "rto_each", named("ftp", "rto_count")),
        ("mixes", "frr_each", named("ftp", "fast_retransmit_count")),
    ],
    "high-ber": [
        ("T4", "measured_s", TIME),
        ("T5", "measured_packets", RESENT),
        ("T7", "unnecessary", first("retransmissions_unnecessary")),
        ("testbed", "simulated_s", TIME),
        ("steps", "measured_s", TIME),
        ("switches", "measured_s", TIME),
        ("switches_at_1", "measured_s", TIME),
        ("loss_costs", "time_s", TIME),
        ("dropping", "resent", RESENT),
        ("fewer_drops", "resent", RESENT),
        ("ber_parts", "measured_s", TIME),
        ("bit_errors", "delivered_bytes", first("bytes_delivered")),
    ],
    "reliable-mac": [
        ("loss", "reno", MBIT),
        ("delay", "vegas", MBIT),
        ("readings", "veno", MBIT),
        ("mac", "vegas", MBIT),
        ("switches", "reno_0_01", MBIT),
        ("switches_delay", "reno_kept", MBIT),
        ("every_imposed", "goodput", MBIT),
        ("every_mac", "idle_s", first("idle_total_s")),
    ],
    "satellite-threshold": [
        ("fairness", "long", first("goodput_bit_s", 1e-3)),
        ("fairness", "both", together),
        ("remedies", "rate_6", together),
        ("last_hop", "rate_6", together),
        ("levels", "rate", together),
    ],
}
"""Tables whose command runs what one of their columns tells: its name, and how to read a run."""


def figures(report: retx.study.Report) -> list[tuple[str, str, Figure, dict[str, str]]]:
    """Table, column, how to read a run, and the row: of all rows that can be compared."""
    return [
        (table, column, figure, row)
        for table, column, figure in FIGURES[report.study.name]
        for row in rows_of(report, table)
        if row["command"] and row[column]
    ]


def rows_of(report: retx.study.Report, table: str) -> list[dict[str, str]]:
    with (report.folder / "tables" / f"{table}.csv").open() as file:
        return list(csv.DictReader(file))


def command_of(row: dict[str, str], column: str) -> str:
    """Command of a cell: a row that compares senders has one command for each."""
    each = row["command"].split("; ")
    return each[SENDERS.index(column) if column in SENDERS and len(each) > 1 else 0]


def runs_of(command: str, place: Path) -> Iterator[Flows]:
    """Flows of each run of a printed command."""
    assert shlex.split(command)[:2] == ["retx", "run"], command
    done = subprocess.run(
        f"{shlex.quote(sys.executable)} -m {command} --json",
        shell=True,
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    printed = json.loads(done.stdout)
    for run in printed.get("runs", [printed]):
        yield run["flows"]


@pytest.mark.parametrize("name", names())
def test_a_printed_command_gives_the_figure_of_its_row(
    quick_reports: QuickReports, name: str, tmp_path: Path
) -> None:
    report = quick_reports[name]
    # Runs in the report's directory, and writes nothing there.
    place = tmp_path / "report"
    shutil.copytree(report.folder / "scenarios", place / "scenarios")
    chosen = random.Random(SEED).sample(figures(report), ROWS)
    for table, column, figure, row in chosen:
        command = command_of(row, column)
        where = f"seed {SEED}: {name}, {table}, {column}: {command}"
        values = [figure(flows) for flows in runs_of(command, place)]
        known = [value for value in values if value is not None]
        assert len(known) == int(row[f"{column}_n"]), where
        assert fmean(known) == pytest.approx(float(row[column]), rel=1e-9), where
