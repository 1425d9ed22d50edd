"""The study dynamic-response in quick form."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import pytest
from conftest import QuickReports

import retx
from retx.study import Report, Verdict, reproduce

CONTRADICTED = {"table-2-losses", "loss-range", "first-timeout", "table-3-unit"}


@pytest.fixture(scope="module")
def report(quick_reports: QuickReports) -> Report:
    return quick_reports["dynamic-response"]


def table(report: Report, name: str) -> list[dict[str, str]]:
    with (report.folder / "tables" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def test_what_differs_says_why_and_can_be_run_again(report: Report) -> None:
    everything = [*report.claims, *(line for lines in report.rows.values() for line in lines)]
    for line in everything:
        if line.verdict not in (Verdict.AGREES, Verdict.UNSETTLED):
            assert line.because, line.id
        assert line.command or line.rule == "arithmetic", line.id
    text = report.page.read_text()
    assert "nan" not in re.sub(r"base64,[^\"]*", "", text).lower().split()


def test_with_windows_of_13_segments_the_proposal_recovers_sooner(report: Report) -> None:
    rows = {row["case"]: row for row in table(report, "recoveries")}
    row = rows["largest window of 13 segments"]
    assert float(row["dynamic_times"]) < 1


def test_without_optuna_the_report_has_no_searches(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(report.folder / "runs", tmp_path / "report" / "runs")
    monkeypatch.setattr("retx.study.searches.is_installed", lambda _: False)
    # Its figures are those of the report, and take longer than all else here.
    monkeypatch.setattr("retx.study.figures.Figure.svg", lambda _: b"")
    again = reproduce(report.study, report.plan, tmp_path / "report")
    assert len(table(again, "search")) == 1
    assert "pip install" in again.page.read_text()


def test_the_paper_contradicts_itself_where_its_numbers_do(report: Report) -> None:
    found = {claim.id for claim in report.claims if claim.verdict is Verdict.CONTRADICTS}
    assert found == CONTRADICTED
    computed = {claim.id: claim.measured for claim in report.claims}
    assert computed["recovery-11"] is not None
    assert computed["recovery-11"].mean == pytest.approx(6.875)
    # 899,390 bit/s for 165 s are 18,115 segments of 1024 bytes.
    assert computed["table-2-losses"] is not None
    assert computed["table-2-losses"].mean == pytest.approx(905.76, abs=0.01)


def test_mixes_are_what_they_are_called(report: Report) -> None:
    for row in table(report, "mixes"):
        wanted, ratio = row["mix"].split(" %, ")[0], row["mix"].split(", ")[1]
        wireless, congestion = map(int, ratio.split(":"))
        assert float(row["lost_percent"]) == pytest.approx(float(wanted), rel=0.35)
        share = wireless / (wireless + congestion)
        assert float(row["lost_wireless"]) == pytest.approx(share, abs=0.15)


def test_readings_of_the_bandwidth_part_under_congestion(report: Report) -> None:
    rows = {row["case"]: row for row in table(report, "senders")}
    reno, second, path = (
        float(rows[name]["dumbbell"]) for name in ("Reno", "proposal", "proposal, ABW × least RTT")
    )
    assert second < 0.85 * reno
    assert path > 0.9 * reno


def test_every_sender_is_renos_with_one_decision_changed(report: Report) -> None:
    folder = report.study.folder
    experiment = report.study.experiments["loss"]
    resolved = {
        case: retx.resolve(folder / "simple.toml", overrides=what.set)
        for case, what in experiment.cases.items()
    }
    reno = resolved["reno"]["tcp"]["reno"]
    allowed = {"congestion_control", "loss_cause", "spurious", "backoff", "timestamps"}
    for case, scenario in resolved.items():
        (name,) = {flow["tcp"] for flow in scenario["flow"]}
        assert name == case
        tcp = scenario["tcp"][name]
        assert {key for key in tcp if tcp[key] != reno[key]} <= allowed, case


def test_searches_are_in_the_report(report: Report) -> None:
    rows = table(report, "search")
    trials = [str(it.trials["quick"]) for it in report.study.searches.values()]
    assert [row["trials"] for row in rows] == ["", *trials]
    assert all(row["command"].startswith("retx tune ") for row in rows[1:])
