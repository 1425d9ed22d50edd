"""Simulations beside emulations: the statistics, the grid, and the real thing in short."""

from __future__ import annotations

import json
import multiprocessing
import random
from math import sqrt
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli
from emulating import need_emulation
from scipy.stats import ttest_rel

import retx
from retx.comparing import comparison, grid
from retx.comparing.conditions import condition
from retx.comparing.emulations import Emulated, Plan, emulated
from retx.comparing.parting import first
from retx.comparing.statistics import Sample, difference, paired_ratio, ratio, same_distribution
from retx.errors import UsageError
from retx.plots.agreement import agreement
from retx.running import parsed_scenario

PATH = """\
duration = "20 s"
seed = 3

[[link]]
name = "path"
ends = ["server", "client"]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { discipline = "droptail", packets = 50 }
forward.channel = { model = "bernoulli", p = 0.01 }

[[flow]]
name = "download"
from = "server"
to = "client"
initiator = "to"
tcp = "linux_reno"
app = { kind = "transfer", bytes = 60_000 }
"""


@pytest.fixture(autouse=True)
def _no_calibration(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def simulated_as_emulated(scenario: Any, code: Any, plan: Plan, report: Any) -> list[Emulated]:
    """Stands for the kernel: simulations under the replications of the emulations."""
    results = []
    for number in range(plan.first, plan.first + plan.count):
        result = retx.run(json.loads(scenario.to_json()), replication=number, progress=False)
        result.summary["emulation"] = {
            "valid": True, "kernel": "none", "lateness": {"p99_s": 0.0},
        }  # fmt: skip
        results.append(Emulated(result, []))
        if report:
            report("emulation", len(results), plan.count)
    return results


@pytest.fixture
def no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons of simulations with simulations."""
    monkeypatch.setattr(comparison, "emulated", simulated_as_emulated)


def test_intervals_hold_what_they_should_as_often_as_they_say() -> None:
    """Of 2000 pairs of samples, 95 % of the intervals hold the true value, within 4 σ."""
    draws = random.Random(5)
    trials = 2000
    held = {"difference": 0, "ratio": 0}
    for _ in range(trials):
        ours = Sample.of([draws.gauss(30, 4) for _ in range(40)])
        theirs = Sample.of([draws.gauss(20, 2) for _ in range(8)])
        for name, function, truth in (("difference", difference, 10.0), ("ratio", ratio, 1.5)):
            interval = function(ours, theirs)
            assert interval
            held[name] += interval[0] <= truth <= interval[1]
    spread = 4 * sqrt(trials * 0.95 * 0.05)
    for name, count in held.items():
        assert abs(count - 0.95 * trials) < spread, name


def test_intervals_of_pairs_hold_the_ratio_as_often_as_they_say() -> None:
    """Pairs that go together, within 4 σ; they are narrower than without pairing."""
    draws = random.Random(6)
    trials, held, narrower = 2000, 0, 0
    for _ in range(trials):
        theirs = [draws.gauss(20, 5) for _ in range(10)]
        ours = [1.5 * value + draws.gauss(0, 1) for value in theirs]
        interval, alone = paired_ratio(ours, theirs), ratio(Sample.of(ours), Sample.of(theirs))
        assert interval
        assert alone
        held += interval[0] <= 1.5 <= interval[1]
        narrower += interval[1] - interval[0] < alone[1] - alone[0]
        # One lies inside just when the paired t-test finds no difference.
        near = [value + draws.gauss(0, 1) for value in theirs]
        inside = paired_ratio(near, theirs)
        assert inside
        assert (inside[0] <= 1 <= inside[1]) == (ttest_rel(near, theirs).pvalue >= 0.05)
    assert abs(held - 0.95 * trials) < 4 * sqrt(trials * 0.95 * 0.05)
    assert narrower == trials


def test_pairs_that_are_alike_have_the_ratio_one() -> None:
    values = [2.0, 2.1, 2.3]
    interval = paired_ratio(values, values)
    assert interval == pytest.approx((1.0, 1.0), abs=1e-6)  # the root of what rounding leaves
    assert paired_ratio([1.0], [1.0]) is None


def test_what_does_not_vary_has_no_width() -> None:
    ours, theirs = Sample.of([3.0, 3.0, 3.0]), Sample.of([2.0, 2.0])
    assert difference(ours, theirs) == (1.0, 1.0)
    assert ratio(ours, theirs) == (1.5, 1.5)
    assert paired_ratio([3.0, 3.0], [2.0, 2.0]) == (1.5, 1.5)


def test_a_ratio_to_what_may_be_zero_has_no_interval() -> None:
    ours = Sample.of([1.0, 2.0, 3.0])
    assert ratio(ours, Sample.of([0.0, 0.0, 1.0])) is None
    assert ratio(ours, Sample.of([0.0, 0.0])) is None
    assert ratio(ours, Sample.of([1.0])) is None


def test_distributions_with_equal_means_are_told_apart() -> None:
    draws = random.Random(1)
    narrow = [draws.gauss(10, 1) for _ in range(100)]
    assert same_distribution(narrow, [draws.gauss(10, 8) for _ in range(30)]) < 0.01
    assert same_distribution(narrow, [draws.gauss(10, 1) for _ in range(30)]) > 0.01


def test_the_first_recovery_that_differs_is_found() -> None:
    ours = [["frr", "frr", "rto"]] * 20
    theirs = [["frr", "rto"]] * 20
    found = first("f", "episode", ours, theirs)
    assert found
    assert (found.place, found.simulated + found.emulated) == (2, 1.0)
    assert "recovery 2 is a " in str(found)
    assert first("f", "episode", ours, ours) is None
    assert first("f", "episode", [[]], [[]]) is None


def test_partings_are_rarely_found_where_there_are_none() -> None:
    """At most 5 % of the time, though there are 30 places; within 4 σ."""
    draws = random.Random(8)

    def side(runs: int) -> list[list[str]]:
        return [[draws.choice(["frr", "rto"]) for _ in range(30)] for _ in range(runs)]

    trials = 200
    found = sum(first("f", "episode", side(50), side(20)) is not None for _ in range(trials))
    assert found < 0.05 * trials + 4 * sqrt(trials * 0.05 * 0.95)


def test_conditions_do_not_depend_on_how_many_are_drawn() -> None:
    drawn = [condition(number, 1) for number in range(200)]
    assert drawn[7] == condition(7, 1) != condition(7, 2)
    assert {(it.tcp, it.channel) for it in drawn[:4]} == {
        (tcp, channel) for tcp in ("linux", "linux_reno") for channel in ("random", "bursty")
    }
    for it in drawn:
        bdp = it.rate_mbit_s * 1e6 * it.rtt_ms / 1e3 / 8 / 1500
        assert 1 <= it.rate_mbit_s <= 50
        assert 10 <= it.rtt_ms <= 200
        assert 0 <= it.loss <= 0.03
        assert 0.5 * bdp - 0.5 <= it.queue_packets <= max(1, 4 * bdp + 0.5)
        assert retx.resolve(it.scenario())


@pytest.mark.usefixtures("no_kernel")
def test_a_comparison_has_a_row_per_quantity_that_both_know() -> None:
    found = retx.compare(PATH, simulations=40, emulations=5)
    table = found.table
    assert dict(table.schema) == comparison.COLUMNS
    assert table["quantity"].to_list() == list(comparison.QUANTITIES)
    row = table.row(0, named=True)
    assert (row["simulated_n"], row["emulated_n"]) == (40, 5)
    # The draws of the emulations are those after the simulations'.
    times = found.values[0]
    assert times["emulated"] == [
        retx.run(PATH, replication=number).flows["response_time_s"][0] for number in range(40, 45)
    ]
    assert row["simulated"] / row["emulated"] == row["ratio"]
    # The pairs are the same runs, as simulations stand for the kernel here.
    assert row["paired_n"] == 5
    assert row["paired_ratio"] == 1.0
    assert table["paired"].to_list() == table["emulated"].to_list()
    assert row["agrees"] == (row["difference_low"] <= 0 <= row["difference_high"])
    assert json.loads(json.dumps(found.summary))["flows"] == table.to_dicts()


@pytest.mark.usefixtures("no_kernel")
def test_another_path_is_found_to_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    def slower(scenario: Any, code: Any, plan: Plan, report: Any) -> list[Emulated]:
        late, files = parsed_scenario(
            json.loads(scenario.to_json()), None, {"link.path.delay": "30 ms"}
        )
        return simulated_as_emulated(late, files, plan, report)

    monkeypatch.setattr(comparison, "emulated", slower)
    row = retx.compare(PATH, simulations=40, emulations=20).table.row(0, named=True)
    assert not row["agrees"]
    assert row["ratio_high"] < 1
    assert row["p_value"] < 0.01


@pytest.mark.usefixtures("no_kernel")
def test_invalid_emulations_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def half(*arguments: Any) -> list[Emulated]:
        good = simulated_as_emulated(*arguments)
        return [
            it if number % 2 else Emulated(None, ["late", "late", "late"])
            for number, it in enumerate(good)
        ]

    monkeypatch.setattr(comparison, "emulated", half)
    found = retx.compare(PATH, simulations=10, emulations=4)
    assert (len(found.emulations), found.invalid, found.repeated) == (2, 2, 4)
    assert found.table["emulated_n"].unique().to_list() == [2]
    assert found.table["paired_n"].unique().to_list() == [2]
    # Each keeps its own partner.
    assert all(ours == theirs for it in found.values for ours, theirs in it["pairs"])
    assert found.summary["faults"] == ["late"] * 6


def killed_after(out: Path, conditions: int) -> None:
    """A grid that is killed when so many conditions are complete."""
    import os

    def report(what: str, done: int, of: int) -> None:
        if what == "condition" and done == conditions:
            os._exit(9)

    comparison.emulated = simulated_as_emulated
    retx.compare_grid(4, simulations=5, emulations=2, out=out, report=report)


@pytest.mark.usefixtures("no_kernel")
def test_a_killed_grid_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "grid"
    # Another interpreter, as a fork of one with threads may hang.
    process = multiprocessing.get_context("spawn").Process(target=killed_after, args=(out, 2))
    process.start()
    process.join()
    assert process.exitcode == 9
    kept = {path: path.stat().st_mtime_ns for path in out.glob("condition-*")}
    assert len(kept) == 2
    found = retx.compare_grid(4, simulations=5, emulations=2, out=out)
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    assert found.table.equals(
        retx.compare_grid(4, simulations=5, emulations=2, out=tmp_path / "whole").table
    )
    assert grid.load_grid(out).table.equals(found.table)
    with pytest.raises(UsageError, match=r"other settings \(simulations is 5, not 6\)"):
        retx.compare_grid(4, simulations=6, emulations=2, out=out)


@pytest.mark.usefixtures("no_kernel")
def test_a_grid_has_a_verdict_and_a_figure(tmp_path: Path) -> None:
    found = retx.compare_grid(3, simulations=10, emulations=3, out=tmp_path / "grid")
    rows = found.of("response_time_s")
    assert rows["number"].to_list() == [0, 1, 2]
    verdict = found.verdict()
    assert verdict["compared"] == 3
    assert verdict["agree"] == rows["agrees"].sum()
    assert verdict["off_by_max"] == (rows["ratio"] - 1).abs().max()
    figure = found.plot()
    axes = figure.axes[0]
    assert axes.get_xlim() == axes.get_ylim()
    assert figure.data["agreement"].height == 3
    figure.save(tmp_path / "agreement.png")
    with pytest.raises(UsageError, match="no quantity 'speed' in the grid; there is response"):
        found.of("speed")


def test_points_apart_are_ringed() -> None:
    names = [
        f"{side}{part}" for side in ("simulated", "emulated") for part in ("", "_low", "_high")
    ]
    table = pl.DataFrame(
        [dict.fromkeys(names, 2.0) | {"agrees": agrees} for agrees in (True, False, False)]
    )
    rings = [
        line for line in agreement(table, "x_s").axes[0].lines
        if line.get_label() == "intervals apart"
    ]  # fmt: skip
    assert [len(line.get_xdata()) for line in rings] == [2]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name a scenario file (TOML), or --grid N"),
        (["{path}", "--grid", "3"], "name a scenario file (TOML), or --grid N"),
        (["--grid", "3"], "add --out DIR"),
        (["--grid", "0", "--out", "x"], "conditions is 0: at least 1 is needed"),
        (["--grid", "3", "--out", "x", "--set", "seed=1"], "--grid draws its own"),
        (["{path}", "--out", "x"], "--out is for --grid"),
        (["{path}", "--quantity", "rto_count"], "--quantity is for --grid"),
        (["--grid", "3", "--out", "x", "--quantity", "speed"], "there is response_time_s, goodput"),
        (["{path}", "--table", "x.txt"], "must end in .csv or .parquet"),
        (["{path}", "--emulations", "1"], "emulations is 1: at least 2 is needed"),
        (["{path}", "--simulations", "1"], "simulations is 1: at least 2 is needed"),
        (["{path}", "--jobs", "0"], "jobs is 0: at least 1 is needed"),
        (["{path}", "--retries", "-1"], "retries is -1: at least 0 is needed"),
        (["{path}", "--confidence", "1"], "confidence is 1.0: it lies between 0 and 1"),
        (["{path}", "--backend", "netem"], 'no backend "netem"'),
        (["{path}", "--set", "flow.download.tcp=sack"], "no kernel can be set to"),
    ],
)
def test_misuse_is_one_sentence_and_code_2(
    arguments: list[str], sentence: str, cli: Cli, tmp_path: Path
) -> None:
    path = tmp_path / "path.toml"
    path.write_text(PATH)
    done = cli("compare", *(argument.format(path=path) for argument in arguments))
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "cwd" / "x").exists()


def test_emulations_that_are_late_are_repeated_with_the_same_draws() -> None:
    need_emulation()
    parsed, code = parsed_scenario(PATH, None, None)
    late = emulated(parsed, code, Plan(count=2, retries=1, lateness_bound_s=0, first=5), None)
    assert [it.result for it in late] == [None, None]
    assert all(len(it.faults) == 2 and "late" in it.faults[0] for it in late)
    good = emulated(parsed, code, Plan(count=3, jobs=2, lateness_bound_s=10, first=5), None)
    assert [it.result.summary["replication"] for it in good if it.result] == [5, 6, 7]


def test_the_kernel_beside_the_simulation(cli: Cli, tmp_path: Path) -> None:
    need_emulation()
    path = tmp_path / "path.toml"
    path.write_text(PATH)
    table = tmp_path / "table.csv"
    # A busy machine is late; what is asked here is another thing.
    short = ("--simulations", 20, "--emulations", 3, "--lateness-bound", 10)
    done = cli("compare", path, *short, "--json", "--table", table)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["simulations"], summary["emulations"]) == (20, 3)
    time = summary["flows"][0]
    # 60,000 bytes at 10 Mbit/s take 48 ms, the handshake and the first answer 20.
    assert time["quantity"] == "response_time_s"
    assert min(time["simulated"], time["emulated"]) > 0.068
    assert pl.read_csv(table)["quantity"].to_list()[0] == "response_time_s"
    late = cli("compare", path, "--emulations", 2, "--retries", 0, "--lateness-bound", 0)
    assert late.returncode == 0
    assert "2 emulations are NOT VALID" in late.stdout
    assert "There is nothing to compare." in late.stdout
    shown = cli("compare", path, *short).stdout
    assert "3 emulations, Linux" in shown
    assert "response time" in shown
