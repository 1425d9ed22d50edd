"""The study dynamic-response in quick form."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import pytest
from conftest import QuickReports

import retx
from retx.plots.report import Images
from retx.study import Report, Verdict, reproduce

CASES = {"reno", "dynamic", "dynamic_flat", "dynamic_free", "dynamic_path"}
CONTRADICTED = {"table-2-losses", "loss-range", "table-3-unit"}


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
        assert line.command or line.claim.rule in ("arithmetic", "undecidable"), line.id
    text = report.page.read_text()
    assert "nan" not in re.sub(r"base64,[^\"]*", "", text).lower().split()


def test_equation_5_as_a_bound_is_what_saves_retransmissions(report: Report) -> None:
    rows = {row["what"]: row for row in table(report, "readings")}
    resent = {
        case: float(value) for case, value in rows["retransmissions"].items() if case in CASES
    }
    assert resent["dynamic"] < 1.3 * resent["reno"]
    assert resent["dynamic"] < resent["dynamic_flat"] < resent["dynamic_free"]
    kept = rows["window kept by a fast retransmit"]
    assert float(kept["dynamic"]) > 0.8 > float(kept["dynamic_flat"])


def test_the_backoff_rule_fires_where_the_queue_has_room(report: Report) -> None:
    rows = {row["case"]: float(row["backoff_times"]) for row in table(report, "backoff")}
    free = "proposal, equation 5 at losses only"
    with_rule = rows[f"{free}; queue of 150,000 bytes"]
    assert with_rule < 0.7 * rows[f"{free}; the same without its rule on backoff"]


def test_without_optuna_the_report_has_no_searches(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(report.folder / "runs", tmp_path / "report" / "runs")
    monkeypatch.setattr("retx.study.searches.is_installed", lambda _: False)
    # The search's figures are in the report, and take longer than everything else here.
    monkeypatch.setattr("retx.study.reproduction.drawn", lambda figures, _: figures)
    monkeypatch.setattr("retx.plots.report.Figure.draw", lambda _: Images(b"", b""))
    again = reproduce(report.study, report.plan, tmp_path / "report")
    _, missing = table(again, "search")
    assert "the search needs Optuna" in missing["case_note"]
    assert missing["alpha"] == ""
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


def test_the_losses_of_figure_8_are_those_of_the_proposals_run(report: Report) -> None:
    (row,) = [it for it in table(report, "backoff") if it["case"] == "proposal"]
    assert float(row["lost_percent"]) == pytest.approx(10, rel=0.35)
    assert float(row["lost_wireless"]) == pytest.approx(0.3, abs=0.15)


def test_every_sender_is_renos_with_one_decision_changed(report: Report) -> None:
    folder = report.study.folder
    experiment = report.study.experiments["all_faults"]
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


def test_claims_that_never_agree_together_do_so_in_no_set_up_of_the_search(report: Report) -> None:
    with (report.study.folder / "front.csv").open() as file:
        tried = [row for row in csv.DictReader(file) if not row["breaks"]]
    rows = table(report, "front")
    assert {"gain-curve", "T2-reno-resent", "window-kept", "frr-3"} <= {it["claim"] for it in rows}
    for row in rows:
        for other in row["apart"].split(", "):
            both = [it for it in tried if float(it[row["claim"]]) == float(it[other]) == 1]
            assert not both, f"{row['claim']} and {other}"
