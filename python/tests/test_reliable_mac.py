"""The study reliable-mac in quick form."""

from __future__ import annotations

import csv
import re

import pytest
from conftest import QuickReports

from retx.study import Report, Verdict, exact


@pytest.fixture(scope="module")
def report(quick_reports: QuickReports) -> Report:
    return quick_reports["reliable-mac"]


def table(report: Report, name: str) -> list[dict[str, str]]:
    with (report.folder / "tables" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def test_what_differs_says_why_and_can_be_run_again(report: Report) -> None:
    assert {claim.verdict for claim in report.claims} >= {Verdict.AGREES, Verdict.DIFFERS}
    for claim in report.claims:
        if claim.verdict not in (Verdict.AGREES, Verdict.UNSETTLED):
            assert claim.because, claim.id
        assert claim.command or claim.claim.rule in ("arithmetic", "undecidable"), claim.id
    text = report.page.read_text()
    assert "nan" not in re.sub(r"base64,[^\"]*", "", text).lower().split()


def test_the_paper_contradicts_itself_where_its_numbers_do(report: Report) -> None:
    found = {claim.id: claim for claim in report.claims}
    contradicted = {claim.id for claim in report.claims if claim.verdict is Verdict.CONTRADICTS}
    assert contradicted == {"conclusions-3-4", "gain-arithmetic"}
    # 3 Mbit/s, printed whole, may be 3.5 after -40 % and 2.5 after -50 %: 5.8 and 5 before.
    assert found["unharmed"].measured == exact(0)
    assert found["window"].verdict is Verdict.UNDECIDED
    # 1.5 Mbit/s for 0.3 times 2 s are 900 000 bits: 75.3 segments of 1494 bytes.
    window = found["window"].measured
    assert window is not None
    assert window.mean == pytest.approx(75.3, abs=0.01)


def test_readings_stand_in_the_order_that_they_must(report: Report) -> None:
    """Delays cost more where others wait; an ACK that a later one overtakes is not missed."""
    reno = {row["case"]: float(row["reno"]) for row in table(report, "readings")}
    assert reno["30 %: data, order kept"] < reno["30 %: data, others overtake"]
    assert reno["30 %: ACKs, others overtake"] > 0.9 * float(table(report, "loss")[0]["reno"])


def test_every_algorithm_has_its_surface(report: Report) -> None:
    for name in ("every_imposed", "every_mac"):
        assert {row["case"] for row in table(report, name)} == set(
            report.study.experiments[name].cases
        )
