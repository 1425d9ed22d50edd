"""The study satellite-threshold in quick form."""

from __future__ import annotations

import csv

import pytest
from conftest import QuickReports

from retx.study import Report, exact


@pytest.fixture(scope="module")
def report(quick_reports: QuickReports) -> Report:
    return quick_reports["satellite-threshold"]


def table(report: Report, name: str) -> list[dict[str, str]]:
    with (report.folder / "tables" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def test_the_path_has_the_papers_base_rtts(report: Report) -> None:
    found = {claim.id: claim.measured for claim in report.claims}
    assert (found["base"], found["short-base"]) == (exact(51), exact(6))


def test_the_rule_does_nothing_at_the_base_rtt_nor_without_errors(report: Report) -> None:
    """No run differs."""
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
    """A few are exempt: the timestamp that a late segment echoes may be older than a round trip."""
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


def test_a_switch_changes_one_thing(report: Report) -> None:
    """A second key may only follow from the first, as a longer queue from a faster link."""
    together = [
        {"link.space.rate", "link.space.queue.packets"},
        {"tcp.sender.loss_detection", "tcp.sender.sack"},
    ]
    for name in ("open", "open_westwood", "shrink"):
        for case in report.study.experiments[name].cases.values():
            keys = {key.replace("westwood", "sender") for key in case.set}
            assert len(keys) <= 1 or keys in together, case.name


def by_case(report: Report, name: str) -> dict[str, dict[str, str]]:
    return {row["case"]: row for row in table(report, name)[1:]}


def test_without_the_timeouts_throughput_levels_off(report: Report) -> None:
    rows = by_case(report, "levels")
    for column in ("one", "two", "three"):
        assert float(rows["as assumed"][column]) > 0.15
        assert abs(float(rows["timeouts are congestion"][column])) < 0.1


def test_only_a_faster_link_leaves_several_connections_something_to_gain(report: Report) -> None:
    rows = by_case(report, "gains")
    faster = rows["3 Mbit/s with a queue of 188 packets"]
    for column in ("two", "three", "short_6"):
        assert float(faster[column]) > 1.15
        others = [float(row[column]) for case, row in rows.items() if "bit/s" not in case]
        assert max(others) < 1.1


def test_the_better_the_recovery_the_more_the_rule_brings_back(report: Report) -> None:
    rows = by_case(report, "recovered")
    recoveries = ("as assumed", "recovery by SACK", "recovery by RACK-TLP")
    for column in ("share_5", "share_6", "back_5", "back_6"):
        found = [float(rows[case][column]) for case in recoveries]
        assert found == sorted(found)
        assert found[2] > 1.3 * found[0]
    assert all(float(row["share_5"]) < 0.9 for row in rows.values())


def test_tahoe_and_not_reno_shrinks_its_window_to_one(report: Report) -> None:
    rows = by_case(report, "shrink")
    for column in ("at_5", "at_6", "at_7"):
        assert float(rows["Reno, as assumed"][column]) < 0.7
        assert float(rows["Tahoe's response"][column]) == 1
