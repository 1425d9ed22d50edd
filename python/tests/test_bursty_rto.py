"""The study bursty-rto in quick form, and its fit."""

from __future__ import annotations

import csv
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from conftest import QuickReports

from retx.study import Report, Verdict, exact, load
from retx.study.library import find
from retx.study.measured import Measured


@pytest.fixture(scope="module")
def report(quick_reports: QuickReports) -> Report:
    return quick_reports["bursty-rto"]


def table(report: Report, name: str) -> list[dict[str, str]]:
    with (report.folder / "tables" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def test_table_2_comes_out_to_the_digit(report: Report) -> None:
    rows = table(report, "exchange")
    assert [row["situation"] for row in rows] == list("12345678")
    assert {row["verdict"] for row in rows} == {"agrees"}
    assert (rows[7]["srtt_ms"], rows[7]["mdev_ms"], rows[7]["backoff"]) == ("310", "580", "4")
    found = {claim.id: claim for claim in report.claims}
    assert found["table-2"].measured == exact(0)
    assert found["silence"].measured == exact(57.86)
    assert found["proposal"].measured == exact(3.61625)
    assert found["no-new-data"].measured == exact(0)
    assert found["nagle"].verdict is Verdict.DIFFERS


def test_the_silence_is_that_of_the_scenario_and_its_page() -> None:
    scenario = Path(__file__).parents[2] / "scenarios/bursty-rto.toml"
    assert (find("bursty-rto") / "silence.toml").read_text() == scenario.read_text()


def test_what_differs_says_why(report: Report) -> None:
    assert len(report.rows) == 13
    everything = [*report.claims, *(line for lines in report.rows.values() for line in lines)]
    for line in everything:
        if line.verdict not in (Verdict.AGREES, Verdict.UNSETTLED):
            assert line.because, line.id
        assert line.command or line.claim.rule in ("arithmetic", "at_most", "undecidable"), line.id


def number(cell: str) -> float:
    """Number in a cell that may be marked."""
    return float(cell.removeprefix("✓ ").replace("\u202f", ""))


def test_bursts_that_wait_explain_the_silences_and_fading_does_not(report: Report) -> None:
    for test in "124":
        rows = {row["quantity"]: row for row in table(report, f"test_{test}")}
        for name in ("Throughput (Mbit/s)", "Total idle time (s)"):
            assert rows[name]["verdict"] in ("agrees", "not settled")
            assert not rows[name]["fading"].startswith("✓")
        idle = rows["Total idle time (s)"]
        assert float(idle["measured"]) > 2 * number(idle["fading"])
        # Numbers that the channels are fitted to agree on all kinds.
        for name in ("Frame error rate", "Longest burst of erroneous frames (frames)"):
            assert rows[name]["fading"].startswith("✓"), (test, name)


def test_stalls_move_tests_3_and_5(report: Report) -> None:
    rows = {row["case"]: row for row in table(report, "good")}
    for test in "35":
        base, none = (rows[f"test {test}: {what}"] for what in ("as in table I", "no stalls"))
        assert base["idle_total_s"].startswith("✓")
        for column in ("throughput", "idle_total_s"):
            assert not none[column].startswith("✓")
    # A window that closes lengthens no round trip; packets that wait do.
    held = rows["test 5: stalls of the server of the same total length, exponential, mean 200 ms"]
    base = rows["test 5: as in table I"]
    assert base["throughput"].startswith("✓")
    assert number(held["rtt_sd_ms"]) > 3 * number(base["rtt_sd_ms"])


def test_the_proposal_pays_where_the_channel_is_bad_often(report: Report) -> None:
    ratio = {row["case"]: float(row["ratio"]) for row in table(report, "pays")}
    for test in "24":
        assert ratio[f"test {test}: bad periods of 0.3 s in addition to the fading"] > 1.1
        # Twenty runs in quick form: only the order of the two kinds of outages is beyond doubt.
        longer = ratio[f"test {test}: outages three times as long"]
        assert longer < min(1.25, ratio[f"test {test}: outages for three times the time"])


def test_policies_share_the_channel_under_fading(report: Report) -> None:
    """Fading is drawn before the first frame, so the same test is the same run everywhere."""
    measured = Measured(report.study, report.plan)
    same = [("fading", "2"), ("policies_fading", "2 keep")]
    runs = [measured.at(f"{name}/{case}").run().flows["goodput_bit_s"][0] for name, case in same]
    assert len(set(runs)) == 1


def test_errors_on_data_only_lose_no_acks(report: Report) -> None:
    study = report.study
    for name in ("policies", "policies_outages"):
        experiment = study.experiments[name]
        assert experiment.overrides("2 keep data")["wlan.office.channel_senders"] == ["server"]
    measured = Measured(study, report.plan)
    assert measured.at("policies_outages/2 keep").run().stations["drops_retry_limit"][1] > 0
    data_only = measured.at("policies_outages/2 keep data").run().stations
    # The remaining losses are collisions, four in a row.
    assert data_only["drops_retry_limit"][1] <= 1
    assert data_only["frames_erroneous"][1] == data_only["frames_collided"][1]


def fit() -> Any:
    spec = spec_from_file_location("fit", find("bursty-rto") / "fit.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["fit"] = module
    spec.loader.exec_module(module)
    return module


def test_the_studys_channel_is_one_that_the_fit_finds() -> None:
    script, study = fit(), load("bursty-rto")
    series = study.published.series
    row = {name: series[name].values["2"] for name in script.COLUMNS}
    assert script.distance(row, row) == 0
    waiting = study.experiments["table_1"].overrides("2")["wlan.office.channel"]
    assert script.distance(script.measured(waiting, 16), row) < 0.01
    channel = study.experiments["fading"].overrides("2")["wlan.office.channel"][0]
    best = script.distance(script.measured(channel, 16), row)
    # A sum of three squared logarithms: all three within a tenth.
    assert best < 0.01
    for change in ({"mean_snr_db": 8.2}, {"mean_snr_db": 7.2}, {"doppler_hz": 11.0}):
        assert script.distance(script.measured(channel | change, 16), row) > 3 * best
