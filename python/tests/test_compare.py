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
from retx.comparing.conditions import chosen, condition
from retx.comparing.emulations import Emulated, Plan, emulated
from retx.comparing.families import FAMILIES
from retx.comparing.first_difference import first_in_histories
from retx.comparing.perturbed import simulated
from retx.comparing.statistics import Sample, difference, paired_ratio, ratio, same_distribution
from retx.errors import UsageError
from retx.plots.agreement import agreement
from retx.scenarios.parsed import parsed_scenario

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
    """The true value lies in 95 % of the intervals of 2000 pairs of samples, within 4 σ."""
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
    ours = [["fast_retransmit", "fast_retransmit", "rto"]] * 20
    theirs = [["fast_retransmit", "rto"]] * 20
    found = first_in_histories("f", "episode", ours, theirs)
    assert found
    assert (found.place, found.simulated + found.emulated) == (2, 1.0)
    assert "recovery 2 is a " in str(found)
    assert first_in_histories("f", "episode", ours, ours) is None
    assert first_in_histories("f", "episode", [[]], [[]]) is None


@pytest.mark.slow
def test_differences_are_rarely_found_where_there_are_none() -> None:
    """Equal runs seem to differ in at most 5 % of the cases; within 4 σ."""
    draws = random.Random(8)

    def side(runs: int) -> list[list[str]]:
        return [[draws.choice(["fast_retransmit", "rto"]) for _ in range(30)] for _ in range(runs)]

    trials = 200
    found = sum(
        first_in_histories("f", "episode", side(50), side(20)) is not None for _ in range(trials)
    )
    assert found < 0.05 * trials + 4 * sqrt(trials * 0.05 * 0.95)


def test_classic_conditions_are_those_of_before() -> None:
    """Drawn by the version that had no families."""
    drawn = [condition(number, 1, "classic") for number in range(200)]
    assert [
        (it.drawn.rate_mbit_s, it.drawn.rtt_ms, it.drawn.queue_packets, it.drawn.tcp)
        for it in (drawn[0], drawn[31])
    ] == [(34.7, 31.3, 113, "linux_reno"), (15.1, 69.1, 186, "linux")]
    for it in drawn:
        drew = it.drawn
        bdp = drew.rate_mbit_s * 1e6 * drew.rtt_ms / 1e3 / 8 / 1500
        assert 1 <= drew.rate_mbit_s <= 50
        assert 10 <= drew.rtt_ms <= 200
        assert 0.5 * bdp - 0.5 <= drew.queue_packets <= max(1, 4 * bdp + 0.5)
    channels = [it.scenario()["link"][0]["forward"]["channel"] for it in drawn]
    assert {(it.drawn.tcp, of["model"]) for it, of in zip(drawn, channels[:4], strict=False)} == {
        (tcp, model)
        for tcp in ("linux", "linux_reno")
        for model in ("bernoulli", "gilbert_elliott")
    }
    assert all(0 <= of.get("p", of.get("loss")) <= 0.03 for of in channels)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_a_family_draws_scenarios_that_can_be_run(family: str) -> None:
    drawn = [condition(number, 1, family) for number in range(30)]
    # A condition depends on its number and seed alone.
    assert drawn[7] == condition(7, 1, family) != condition(7, 2, family)
    assert len({str(it.scenario()) for it in drawn}) == len(drawn)
    tcps = {it.drawn.tcp.split("+")[0] for it in drawn}
    expected = {"classic": 2, "bbr": 1}.get(family, 3)
    assert len(tcps) == expected
    for it in drawn:
        retx.resolve(it.scenario())
    result = retx.run(drawn[0].scenario(), progress=False)
    assert all(flow["bytes_delivered"] > 0 for flow in result.summary["flows"])


def test_families_take_turns() -> None:
    names = list(FAMILIES)
    drawn = [condition(number, 1) for number in range(3 * len(names))]
    assert [it.family for it in drawn] == 3 * names
    assert {it.drawn.tcp for it in drawn if it.family == "small_queue"} == {
        "linux", "linux_reno", "linux_bbr",
    }  # fmt: skip
    # One is the same condition whether others are drawn beside it or not.
    assert drawn[len(names)] == condition(len(names), 1, "classic")
    with pytest.raises(UsageError, match="families is 'new'; choose one of all, classic, long_fat"):
        chosen("new")


@pytest.mark.usefixtures("no_kernel")
def test_a_comparison_has_a_row_per_quantity_that_both_know() -> None:
    found = retx.compare(PATH, simulations=40, emulations=5)
    table = found.table
    assert dict(table.schema) == comparison.COLUMNS
    known = [name for name in comparison.QUANTITIES if name != "exchange_mean_s"]
    assert table["quantity"].to_list() == known
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
    assert row["agreement"] in (("interval", "cannot tell") if row["agrees"] else ("pairs",))
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
def test_exchanges_are_compared() -> None:
    app = {"kind": "request_response", "request": 200, "response": 9000, "exchanges": 4}
    table = retx.compare(PATH, simulations=5, emulations=2, overrides={"flow.download.app": app})
    rows = table.table.filter(pl.col("quantity") == "exchange_mean_s")
    # A round trip is 10 ms, and the response takes 7.
    assert 0.017 < rows["simulated"][0] < 0.5


def later_by(ms: float) -> Any:
    """Stands for a kernel that takes so much longer a round trip, in runs that never vary."""

    def emulated(scenario: Any, code: Any, plan: Plan, report: Any) -> list[Emulated]:
        delays = {f"link.path.{way}.delay": f"{5 + ms / 2} ms" for way in ("forward", "reverse")}
        late, files = parsed_scenario(json.loads(scenario.to_json()), None, delays)
        return simulated_as_emulated(late, files, plan, report)

    return emulated


def test_what_does_not_vary_is_perturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel 0.15 ms late agrees, though no simulation is as late; one 3 ms late does not."""
    still = {"link.path.forward.channel": []}
    for ms, agrees in ((0.15, True), (3.0, False)):
        monkeypatch.setattr(comparison, "emulated", later_by(ms))
        found = retx.compare(PATH, simulations=20, emulations=3, overrides=still)
        assert found.perturbed
        assert found.summary["perturbed"]
        row = found.table.row(by_predicate=pl.col("quantity") == "rtt_mean_s", named=True)
        assert row["simulated_low"] < row["simulated"] < row["simulated_high"]
        assert (row["agreement"] in ("interval", "3 %")) == agrees
    assert not retx.compare(PATH, simulations=5, emulations=2).perturbed


def row_of(ours: list[float], theirs: list[float], pairs: list[tuple[float, float]]) -> str | None:
    """The agreement of a quantity of which this is known."""
    found = comparison.Comparison(*[retx.replicate(PATH, 2, progress=False)] * 2, [])
    found.__dict__["values"] = [
        {"flow": "f", "quantity": "q", "simulated": ours, "emulated": theirs, "pairs": pairs}
    ]
    agreement: str | None = found.table["agreement"][0]
    return agreement


def test_each_way_to_agree_has_its_name() -> None:
    apart = [(1.0, 1.1), (1.1, 1.05), (1.2, 1.18)]
    assert row_of([1.0, 1.1, 1.2], [1.1, 1.15], apart) == "interval"
    assert row_of([1.0, 1.0, 1.0001], [1.02, 1.02, 1.0201], []) == "3 %"
    assert row_of([1.0, 1.0, 1.0001], [1.2, 1.2, 1.2001], apart) == "pairs"
    assert row_of([1.0, 1.0, 1.0001], [1.2, 1.2, 1.2001], [(1.0, 1.2), (1.0, 1.2001)]) == "none"
    assert row_of([1.0], [1.2], []) is None
    # Two emulations this far apart speak neither for the simulations nor against them.
    assert row_of([1.0, 1.1, 1.2], [0.6, 1.6], apart) == "cannot tell"
    # None on either side: retransmissions of a path without loss.
    assert row_of([0.0, 0.0], [0.0, 0.0], []) == "interval"


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
    with pytest.raises(UsageError, match=r"other settings \(families is all, not bbr\)"):
        retx.compare_grid(4, simulations=5, emulations=2, families="bbr", out=out)


@pytest.mark.usefixtures("no_kernel")
def test_stored_emulations_are_compared_with_new_simulations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    out = tmp_path / "grid"
    before = retx.compare_grid(3, simulations=6, emulations=3, families="classic", out=out)
    monkeypatch.undo()  # nothing is emulated
    again = grid.simulate_again(out)
    assert again.table.equals(before.table)
    assert again.results == before.results
    # Another TCP simulates otherwise, beside the same emulations.
    monkeypatch.setattr(
        grid, "simulated", lambda scenario, runs: simulated(scenario, runs, 9),
    )  # fmt: skip
    changed = grid.simulate_again(out)
    assert changed.table["emulated"].to_list() == before.table["emulated"].to_list()
    assert changed.table["simulated"].to_list() != before.table["simulated"].to_list()
    done = cli("compare", "--simulate-again", "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["table"] == before.table.to_dicts()
    assert found["families"] == before.by_family().to_dicts()
    settings = json.loads((out / grid.SETTINGS).read_text())
    (out / grid.SETTINGS).write_text(json.dumps(settings | {"seed": 2}))
    with pytest.raises(UsageError, match="this version of retx draws another condition 0"):
        grid.simulate_again(out)
    with pytest.raises(UsageError, match="holds no results of a grid"):
        grid.simulate_again(tmp_path)


@pytest.mark.usefixtures("no_kernel")
def test_a_grid_has_a_verdict_and_a_figure(tmp_path: Path) -> None:
    found = retx.compare_grid(
        3, simulations=10, emulations=3, families="classic", out=tmp_path / "grid"
    )
    rows = found.of("response_time_s")
    assert rows["number"].to_list() == [0, 1, 2]
    verdict = found.verdict()
    assert (verdict["compared"], verdict["agree"], verdict["paired_within"]) == (3, 3, 3)
    assert verdict["agree_by_interval"] == rows["agrees"].sum()
    assert verdict["off_by_max"] == (rows["ratio"] - 1).abs().max()
    figure = found.plot()
    axes = figure.axes[0]
    assert axes.get_xlim() == axes.get_ylim()
    assert figure.data["agreement"].height == 3
    figure.save(tmp_path / "agreement.png")
    with pytest.raises(UsageError, match="no quantity 'speed' in the grid; it has response"):
        found.of("speed")


def judged(number: int, flow: str, agreement: str | None) -> dict[str, Any]:
    """A row of a grid's table."""
    agrees = None if agreement is None else agreement == "interval"
    return {
        "number": number, "family": ("bbr", "ecn")[number % 2], "flow": flow,
        "quantity": "goodput_bit_s", "agrees": agrees, "agreement": agreement,
        "ratio": 1.2, "paired_ratio": 1.01 if agreement == "pairs" else 1.1,
    }  # fmt: skip


def test_a_condition_agrees_if_all_its_flows_do() -> None:
    rows = [
        judged(0, "a", "interval"),
        judged(1, "a", "3 %"), judged(1, "b", "none"),
        judged(2, "a", "pairs"), judged(2, "b", "pairs"),
        judged(3, "a", None),
    ]  # fmt: skip
    found = grid.Grid([{}] * 4)
    found.__dict__["table"] = pl.DataFrame(rows, schema=grid.ABOUT | comparison.COLUMNS)
    verdict = found.verdict("goodput_bit_s")
    assert verdict["conditions"] == 4
    assert (verdict["compared"], verdict["agree"], verdict["agree_by_interval"]) == (3, 2, 1)
    assert (verdict["paired_within"], verdict["off_by_more"]) == (1, 3)
    assert found.by_family(["goodput_bit_s"]).rows() == [("bbr", 2, "2 of 2"), ("ecn", 2, "0 of 1")]


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
        ([], "name a scenario file (TOML), or use --grid N"),
        (["{path}", "--grid", "3"], "name a scenario file (TOML), or use --grid N"),
        (["--grid", "3"], "add --out DIR"),
        (["--grid", "0", "--out", "x"], "conditions is 0: it must be at least 1"),
        (["--grid", "3", "--out", "x", "--set", "seed=1"], "--grid draws its own"),
        (["{path}", "--out", "x"], "--out is for --grid"),
        (["{path}", "--quantity", "rto_count"], "--quantity is for --grid"),
        (["{path}", "--families", "bbr"], "--families is for --grid"),
        (
            ["--grid", "3", "--out", "x", "--families", "new"],
            "choose one of all, classic, long_fat",
        ),
        (["--simulate-again"], "--simulate-again needs --out DIR"),
        (["--grid", "3", "--out", "x", "--simulate-again"], "and nothing to emulate"),
        (
            ["--grid", "3", "--out", "x", "--quantity", "speed"],
            "choose one of response_time_s, exchange_mean_s",
        ),
        (["{path}", "--table", "x.txt"], "must end in .csv or .parquet"),
        (["{path}", "--emulations", "1"], "emulations is 1: it must be at least 2"),
        (["{path}", "--simulations", "1"], "simulations is 1: it must be at least 2"),
        (["{path}", "--jobs", "0"], "jobs is 0: it must be at least 1"),
        (["{path}", "--retries", "-1"], "retries is -1: it must be at least 0"),
        (["{path}", "--confidence", "1"], "confidence is 1.0: it must be between 0 and 1"),
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


DEAF = {
    "link.path.rate": "5 Mbit/s",
    "link.path.delay": "20 ms",
    "link.path.queue.packets": 30,
    "link.path.forward.channel": [],
    "link.path.reverse.channel": {
        "model": "outage", "times": [{"start": "0.7 s", "duration": "1.5 s"}],
    },
    "flow.download.tcp": "linux",
    "flow.download.app.bytes": 1_000_000,
}  # fmt: skip


def test_a_mean_rtt_is_the_same_quantity_on_both_sides() -> None:
    """All ACKs of a while are lost; the echo that comes after it is no round trip."""
    need_emulation()
    ours = retx.run(PATH, overrides=DEAF).summary["flows"][0]
    for _ in range(3):
        summary = retx.emulate(PATH, overrides=DEAF, lateness_bound_s=10).summary
        # A busy machine delays packets, and thus lengthens the RTT.
        if summary["emulation"]["lateness"]["p99_s"] < 0.002:
            break
    theirs = summary["flows"][0]
    assert theirs["idle_max_s"] > 0.5
    # Between 40 ms and those with 31 packets of 2.5 ms.
    assert max(ours["rtt_sd_s"], theirs["rtt_sd_s"]) < 0.0775 / 2
    assert theirs["rtt_mean_s"] == pytest.approx(ours["rtt_mean_s"], rel=0.1)
