"""Effects of the switches of the study high-ber, from its quick run."""

from __future__ import annotations

import csv

import pytest
from conftest import QuickReports

from retx.study import Report, Verdict

SERIES_4 = {"1": 66.83, "10": 1943.61}


@pytest.fixture(scope="module")
def report(quick_reports: QuickReports) -> Report:
    return quick_reports["high-ber"]


def table(report: Report, name: str) -> dict[str, dict[str, str]]:
    """Rows by the label in their first column."""
    with (report.folder / "tables" / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {next(iter(row.values())): row for row in rows}


def row_of(rows: dict[str, dict[str, str]], beginning: str) -> dict[str, str]:
    """The first row whose label begins so."""
    return next(row for label, row in rows.items() if label.startswith(beginning))


def test_even_losses_alone_bring_the_row_at_1_percent(report: Report) -> None:
    rows = table(report, "open")
    base, even = row_of(rows, "as assumed"), row_of(rows, "losses evenly spaced")
    assert float(base["time_1_s"]) > SERIES_4["1"] + 10
    assert float(even["time_1_s"]) == pytest.approx(SERIES_4["1"], abs=0.3)
    assert (base["verdict_1"], even["verdict_1"]) == ("differs", "agrees")
    # Other changes that lower this row move the other one away from its number.
    for other in ("growth by bytes acknowledged", "limited transmit"):
        row = row_of(rows, other)
        assert row["verdict_1"] == "agrees", other
        away = SERIES_4["10"] - float(row["time_10_s"])
        assert away > 2 * abs(SERIES_4["10"] - float(base["time_10_s"])), other


def test_acks_decide_how_fast_the_window_grows(report: Report) -> None:
    rows = table(report, "loss_costs")
    one, two, three = (
        float(row_of(rows, label)["growth"])
        for label in (
            "221, an ACK for every segment",
            "segment 221",
            "221, an ACK for every third segment",
        )
    )
    assert one < two < 13 < three < 15
    # Nothing makes the paper's 27 rounds.
    assert max(float(row["rounds"]) for row in rows.values()) < 20


def test_the_window_closes_where_the_application_reads_late(report: Report) -> None:
    rows = table(report, "late_reader")
    assert float(rows["reads at once"]["rwnd_bytes"]) == 8760
    assert float(row_of(rows, "reads two segments")["rwnd_bytes"]) == 2920


def test_neither_window_nor_start_changes_what_is_dropped(report: Report) -> None:
    rows = table(report, "dropping")
    for label in ("window of 3 MSS", "window of 24 MSS", "the download starts 5 s later"):
        assert float(rows[label]["lost"]) == pytest.approx(0.01, rel=0.05), label
    assert {float(row_of(rows, "every 100th packet,")["resent"])} == {68}
    assert float(rows["every 100th packet"]["resent"]) == 69


def test_the_number_of_drops_alone_would_have_to_be_far_smaller(report: Report) -> None:
    rows = table(report, "fewer_drops")
    all_of_them, few = row_of(rows, "10 %, settings of"), row_of(rows, "3 %")
    assert float(few["time_s"]) == pytest.approx(259.665, rel=0.1)
    assert float(all_of_them["resent"]) > 4 * float(few["resent"])


def test_bit_errors_spare_acks(report: Report) -> None:
    rows = table(report, "ber_parts")
    data, acks, both = (
        float(row_of(rows, label)["ratio"]) for label in ("data lost", "ACKs lost", "both lost")
    )
    assert acks < 0.6 < both < 1 < data
    assert acks * data == pytest.approx(both, rel=0.1)
    errors = table(report, "bit_errors")
    assert float(row_of(errors, "1e-4, packets of 1250")["lost"]) == pytest.approx(0.632, abs=0.03)
    assert float(row_of(errors, "every packet")["delivered_bytes"]) == 0


def test_what_cannot_be_decided_names_runs(report: Report) -> None:
    for claim in report.claims:
        if claim.verdict is Verdict.UNDECIDED:
            assert claim.switched, claim.id
            assert claim.command, claim.id
