"""The study satellite-threshold, run once with few replications."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from statistics import fmean

import pytest

from retx.study import Plan, Report, exact, load, reproduce

REPLICATIONS = 3


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    plan = Plan("quick", seed=1, replications=REPLICATIONS)
    return reproduce(load("satellite-threshold"), plan, tmp_path_factory.mktemp("study") / "report")


def table(report: Report, name: str) -> list[dict[str, str]]:
    with (report.folder / "tables" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def test_the_path_has_the_papers_base_rtts(report: Report) -> None:
    found = {claim.id: claim.measured for claim in report.claims}
    assert (found["base"], found["short-base"]) == (exact(51), exact(6))


def test_the_rule_does_nothing_at_the_base_rtt_nor_without_errors(report: Report) -> None:
    """Not a single run differs."""
    found = {claim.id: claim.measured for claim in report.claims}
    assert found["above-base"] == found["two-variables"] == found["figure-9"] == exact(0)


def test_with_fresh_rtts_harm_begins_above_the_rtt_of_a_full_queue(report: Report) -> None:
    """Whatever the load; a full queue of n packets makes 51 + n ticks."""
    tried = (51, 52, 53, 55, 59, 67, 83, 115)
    rows = [row for row in table(report, "onset") if row["case"] == "an RTT from every ACK"]
    assert [row["load"] for row in rows] == ["1", "3", "10"]
    for row in rows:
        for queue in (5, 10, 20, 50, 100):
            highest = max(ticks for ticks in tried if ticks <= 51 + queue)
            mark = "≥ " if highest == tried[-1] else ""
            assert row[f"queue_{queue}"] == f"{mark}{highest}", (row["load"], queue)


def test_right_of_the_stair_congestion_is_taken_for_corruption(report: Report) -> None:
    """All but a few: the timestamp that a late segment echoes may be older than a round trip."""
    rows = [
        row
        for row in table(report, "surface")
        if row["case"] == "timestamps" and float(row["ber"]) == 0
    ]
    assert len(rows) == 3 * 5 * 8
    for row in rows:
        above = int(row["threshold"].removesuffix("0 ms")) > 52 + int(row["queue"])
        if above:
            assert float(row["taken"]) > 0.95, row
        elif row["threshold"] == "510 ms":
            assert float(row["taken"]) == 0, row


def test_a_printed_command_gives_the_printed_row(report: Report) -> None:
    row = table(report, "fairness")[-1]
    run = subprocess.run(
        f"{sys.executable} -m {row['command']} --json",
        shell=True,
        cwd=report.folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    runs = json.loads(run.stdout)["runs"]
    assert len(runs) == REPLICATIONS
    for flow, column in enumerate(("long", "short")):
        rates = [one["flows"][flow]["goodput_bit_s"] / 1e3 for one in runs]
        assert fmean(rates) == pytest.approx(float(row[column]), rel=1e-12)
