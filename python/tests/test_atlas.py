"""The atlas in quick form, and how it tells who leads."""

from __future__ import annotations

import csv
from types import ModuleType

import numpy as np
import pytest
from conftest import QuickReports

import retx
from retx.study import Report, Verdict, load
from retx.sweeps.grid import read_grid


@pytest.fixture(scope="module")
def report(quick_reports: QuickReports) -> Report:
    return quick_reports["atlas"]


@pytest.fixture(scope="module")
def ranking() -> ModuleType:
    """The study's own module of that name."""
    return load("atlas").code.module("ranking")


def table(report: Report, name: str) -> list[dict[str, str]]:
    with (report.folder / "tables" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def test_every_cell_and_every_place_has_its_line(report: Report) -> None:
    assert len(table(report, "cells")) == 4 * 4 * 2 * 2 * 2
    assert len(table(report, "places")) == 4 * 4
    assert [row["rtt"] for row in table(report, "decisions")] == [
        f"{rtt}\u00a0ms" for rtt in (10, 50, 200, 600)
    ]
    cases = set(report.study.experiments["atlas"].cases)
    assert {row["case"] for row in table(report, "algorithms")} == cases
    assert {row["case"] for row in table(report, "fairness")} == cases


def test_reno_beside_reno_keeps_all(report: Report) -> None:
    row = next(row for row in table(report, "fairness") if row["case"] == "newreno")
    assert {float(row[f"rtt_{rtt}"]) for rtt in (10, 50, 200, 600)} == {100.0}


def test_what_differs_says_why_and_can_be_run_again(report: Report) -> None:
    for claim in report.claims:
        assert claim.command
        if claim.verdict not in (Verdict.AGREES, Verdict.UNSETTLED):
            assert claim.because, claim.id


def test_the_more_packets_are_held_up_the_less_vegas_has(report: Report) -> None:
    rows = {row["case"]: row for row in table(report, "held")}
    cases = ("as on the map", "one packet in 100 delayed", "one packet in ten delayed")
    map_, hundredth, tenth = (float(rows[case]["vegas_times"]) for case in cases)
    assert tenth < 0.8 * hundredth < hundredth < 0.95 < map_
    assert float(rows["delay of 2 s on average"]["vegas_times"]) > hundredth


def test_where_spikes_do_not_end_in_timeouts_veno_gains_on_reno(report: Report) -> None:
    rows = {row["case"]: row for row in table(report, "held")}
    held, passed = rows["as on the map"], rows["packets behind a delayed one overtake it"]
    assert float(passed["rto"]) < 0.5 * float(held["rto"])
    assert float(passed["reno_times"]) < 0.9 < float(held["reno_times"])


def test_every_preset_is_there_and_has_a_family(ranking: ModuleType) -> None:
    cases = set(load("atlas").experiments["atlas"].cases)
    assert set(ranking.FAMILY) == cases
    assert {entry["name"] for entry in retx.describe()["tcp"]} <= cases


def test_the_full_form_is_finer_and_holds_what_claims_name() -> None:
    grids = {
        form: read_grid(load("atlas").in_form(form).experiments["atlas"].grid).columns()
        for form in ("quick", "full")
    }
    loss, delay = "link.air.forward.channel.0.loss", "link.air.delay"
    for key in (loss, delay):
        assert set(grids["quick"][key]) < set(grids["full"][key])
    halves = [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1]
    assert sorted(set(grids["full"][loss])) == halves
    assert len(set(grids["full"][delay])) == 6
    for claim in load("atlas").claims:
        for grid in grids.values():
            assert all(value in set(grid[key]) for key, value in claim.at.items()), claim.id


@pytest.mark.parametrize(
    ("ahead", "spread", "apart"),
    [(0.5, 0.01, True), (0.0, 0.01, False), (0.5, 2.0, False)],
    ids=["ahead", "level", "noisy"],
)
def test_a_leader_is_told_only_where_runs_separate_it(
    ranking: ModuleType, ahead: float, spread: float, *, apart: bool
) -> None:
    """Logarithms of goodputs with a common random part: BBR leads by `ahead`; each has a spread."""
    generator = np.random.default_rng(7)
    luck = generator.normal(0, 3, 10)
    logs = {
        name: luck + (ahead if name == "bbr" else 0) + generator.normal(0, spread, 10)
        for name in ("bbr", "linux_bbr", "linux", "reno")
    }
    found = ranking.leader(logs)
    assert found.apart is apart
    if apart:
        # An equally good preset of the same family would be no rival.
        assert (found.best, found.rivals) == ("bbr", ())
        assert found.gain.mean == pytest.approx(np.exp(ahead), rel=0.05)


def test_level_algorithms_are_seldom_told_apart(ranking: ModuleType) -> None:
    """At most one in twenty of 400 cells without a difference names a leader (4σ: 37)."""
    generator = np.random.default_rng(11)
    decided = 0
    for _ in range(400):
        logs = {name: generator.normal(0, 1, 6) for name in ranking.FAMILY}
        decided += ranking.leader(logs).apart
    assert decided <= 20 + 4 * (400 * 0.05 * 0.95) ** 0.5
