"""Grids, replications, and what runs at different points have in common."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import Cli
from polars.testing import assert_frame_equal
from sweeping import SCENARIO, SWEEP, Timid, with_bytes

import retx
from retx.errors import UsageError
from retx.sweeps.grid import read_grid

P = "link.cloud.forward.channel.p"
TCP = "flow.download.tcp"


def test_two_spellings_of_a_value_are_refused() -> None:
    delays = {"link.cloud.delay": ["5 ms", "0.005 s", "10 ms"]}
    with pytest.raises(UsageError, match=r"'5 ms' and '0.005 s' are the same: leave out one"):
        retx.sweep(SCENARIO, delays, 2)


def test_a_point_is_what_replicate_makes_of_it() -> None:
    sweep = retx.sweep(SCENARIO + SWEEP, tables=["drops", "episodes"])
    assert sweep.keys == (P, TCP)
    assert len(sweep) == 6 * 12
    for values in sweep.grid.iter_rows(named=True):
        alone = retx.replicate(SCENARIO, 12, overrides=values)
        for name in ("flows", "links", "drops", "episodes"):
            chosen = getattr(sweep, name)
            for key, value in values.items():
                chosen = chosen.filter(pl.col(key).cast(pl.String) == str(value))
            expected = getattr(alone, name)
            expected = expected.with_columns(pl.col(pl.Enum).cast(pl.String))
            # A value that no run has may have any type there.
            assert_frame_equal(chosen.drop(values), expected, check_dtypes=False)


def test_any_number_of_threads_finds_the_same() -> None:
    one, three = (retx.sweep(SCENARIO + SWEEP, threads=threads) for threads in (1, 3))
    for name in ("runs", "flows", "links"):
        assert_frame_equal(getattr(one, name), getattr(three, name))


def test_a_log_is_told_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    retx.sweep(SCENARIO + SWEEP)
    assert capsys.readouterr().err == ""  # too short for a line
    monkeypatch.setattr("retx.sweeps.display.LOG_S", 0.0)
    retx.sweep(SCENARIO + SWEEP)
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"72 of 72 runs, \d+:\d\d:\d\d left", lines[-1]), lines
    retx.sweep(SCENARIO + SWEEP, progress=False)
    assert capsys.readouterr().err == ""


def test_wlans_and_relays_are_there_where_the_scenario_has_them() -> None:
    cell = """
duration = "2 s"
[[wlan]]
name = "cell"
stations = ["ap", "laptop"]
[[flow]]
name = "f"
from = "ap"
to = "laptop"
tcp = "reno"
app = "bulk"
"""
    sweep = retx.sweep(cell, {"flow.f.tcp": ["reno", "cubic"]}, 2)
    assert sweep.stations.height == 2 * sweep.wlans.height == 8
    assert sweep.stations["wlan"].unique().to_list() == ["cell"]
    assert (sweep.links.height, sweep.relays.height) == (0, 0)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ([1, 2.5], [1, 2.5]),
        (range(3), [0, 1, 2]),
        (np.linspace(0, 1, 3), [0.0, 0.5, 1.0]),
        ({"from": 1, "to": 10, "steps": 4}, [1, 4, 7, 10]),
        ({"from": 0, "to": 1, "steps": 3}, [0, 0.5, 1]),
        ({"from": 0.1, "to": 0.5, "step": 0.1}, [0.1, 0.2, 0.3, 0.4, 0.5]),
        ({"from": 1e-4, "to": 0.1, "steps": 4, "scale": "log"}, [1e-4, 1e-3, 1e-2, 0.1]),
        ({"from": 1, "to": 100, "steps": 5, "scale": "log", "round": True}, [1, 3, 10, 32, 100]),
        ({"from": "10 ms", "to": "40 ms", "step": "10 ms"}, ["10 ms", "20 ms", "30 ms", "40 ms"]),
        ({"from": "1 ms", "to": "4 ms", "steps": 3, "scale": "log"}, ["1 ms", "2 ms", "4 ms"]),
        (["1 ms", "1 s"], ["1 ms", "1 s"]),
        ([{"model": "bernoulli", "p": 0.1}], [{"model": "bernoulli", "p": 0.1}]),
    ],
)
def test_values_of_a_key(given: object, values: list[object]) -> None:
    grid = read_grid({"a.b": given})
    assert [value for (value,) in grid.points] == values
    assert [type(value) for (value,) in grid.points] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("grid", "points"),
    [
        ({"a": [0.1, 0.2, 0.1]}, [(0.1,), (0.2,)]),
        ({"a": [1, 1.0, True, "1"]}, [(1,), (True,), ("1",)]),
        ({"a": [{"p": 1}, {"p": 2}, {"p": 1}], "b": [2, 2]}, [({"p": 1}, 2), ({"p": 2}, 2)]),
        ({"zip": [{"a": [1, 1, 1], "b": [2, 3, 2]}]}, [(1, 2), (1, 3)]),
    ],
)
def test_a_point_named_twice_is_one(grid: dict[str, object], points: list[object]) -> None:
    assert list(read_grid(grid).points) == points


def test_a_hypercube_over_few_values_has_each_point_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    grid = read_grid({"latin_hypercube": {"points": 6, "a": [1, 2]}})
    warning = "warning: sweep.latin_hypercube: of 6 points 2 differ, and each is run once: "
    assert capsys.readouterr().err.startswith(warning)
    read_grid({"latin_hypercube": {"points": 6, "a": {"from": 0, "to": 1}}})
    assert capsys.readouterr().err == ""
    assert sorted(grid.points) == [(1,), (2,)]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float64("nan")])
@pytest.mark.parametrize("shape", [lambda it: [0.1, it], lambda it: {"from": 0.1, "to": it}])
def test_values_are_finite(value: float, shape: Callable[[float], object]) -> None:
    with pytest.raises(retx.ScenarioError, match=rf"^sweep\.a\.b\S*: {value} is not finite"):
        read_grid({"a.b": shape(value)})


def test_a_value_named_twice_counts_no_run_twice() -> None:
    sweep = retx.sweep(SCENARIO, {P: [0.1, 0.1]}, replications=2)
    assert (len(sweep), sweep.summary("goodput_bit_s")["n"].to_list()) == (2, [2])


def test_a_grid_is_the_product_of_its_axes() -> None:
    grid = read_grid(
        {
            "a.x": [1, 2],
            "zip": [{"b.x": ["p", "q"], "b.y": [0.1, 0.2]}],
            "latin_hypercube": {"points": 3, "c": {"z": {"from": 0, "to": 1}}},
        }
    )
    assert grid.keys == ("a.x", "b.x", "b.y", "c.z")
    assert len(grid.points) == 2 * 2 * 3
    assert {point[1:3] for point in grid.points} == {("p", 0.1), ("q", 0.2)}
    assert len({point[3] for point in grid.points}) == 3


def test_a_hypercube_has_one_point_in_each_part_of_every_key() -> None:
    cube = {
        "points": 20,
        "seed": 4,
        "a.x": {"from": 10, "to": 30},
        "a.y": {"from": "1 ms", "to": "100 ms", "scale": "log"},
        "a.z": ["p", "q"],
    }
    grid = read_grid({"latin_hypercube": cube})
    x, y, z = zip(*grid.points, strict=True)
    assert sorted(int((value - 10) / 20 * 20) for value in x) == list(range(20))
    shares = [np.log10(float(value.removesuffix(" ms"))) / 2 for value in y]
    assert sorted(int(share * 20) for share in shares) == list(range(20))
    assert sorted(z) == ["p"] * 10 + ["q"] * 10
    assert read_grid({"latin_hypercube": cube}) == grid
    assert read_grid({"latin_hypercube": cube | {"seed": 5}}) != grid


def test_keys_need_no_quotes_in_a_file() -> None:
    quoted = SCENARIO + '[sweep]\n"link.cloud.forward.channel.p" = [0, 0.1]\n'
    bare = SCENARIO + "[sweep]\nlink.cloud.forward.channel.p = [0, 0.1]\n"
    assert_frame_equal(
        retx.sweep(quoted, replications=2).flows, retx.sweep(bare, replications=2).flows
    )


def test_columns_of_the_grid_have_types() -> None:
    grid = {
        P: [0, 0.5],
        "link.cloud.delay": ["20 ms", "5 ms"],
        "tcp.reno.sack": [True, False],
        "flow.download.app": [{"kind": "transfer", "bytes": 1000}],
        "seed": [3, 4],
    }
    columns = retx.sweep(SCENARIO, grid, 1).grid
    assert columns.schema[P] == pl.Float64
    assert columns.schema["seed"] == pl.Int64
    assert columns.schema["tcp.reno.sack"] == pl.Boolean
    assert columns["link.cloud.delay"].unique(maintain_order=True).to_list() == ["20 ms", "5 ms"]
    assert columns["link.cloud.delay"].sort().to_list()[0] == "20 ms"
    assert columns["flow.download.app"][0] == '{ kind = "transfer", bytes = 1000 }'


def test_a_class_of_your_own_may_be_a_value() -> None:
    sweep = retx.sweep(SCENARIO, {"tcp.reno.congestion_control": [Timid, "reno"]}, 2)
    slow, fast = sweep.summary("response_time_s")["mean"]
    assert slow > fast


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ("replications = 0", "s.toml:21: sweep.replications: 0: expected a whole number from 1"),
        (
            f'"{P}" = [0, 2]',
            f"s.toml:21: sweep: {P} = 2: 2 is not a probability: it lies between 0 and 1",
        ),
        (
            '"link.clod.rate" = ["1 Mbit/s"]',
            's.toml:21: sweep: link.clod.rate = "1 Mbit/s": no link "clod"; did you mean "cloud"?',
        ),
        (
            '"link.cloud.rate" = "1 Mbit/s"',
            's.toml:21: sweep.link.cloud.rate: "1 Mbit/s": expected a list of values, or a range',
        ),
        ('"seed" = []', "s.toml:21: sweep.seed: an empty list"),
        ('"replicatoins" = [3]', 'did you mean "replications"?'),
        ('"sweep.seed" = [3]', "a sweep does not vary itself"),
        (
            '"link.cloud.delay" = { from = "1 ms", to = "1 s", steps = 3 }',
            's.toml:21: sweep.link.cloud.delay.to: "1 ms" and "1 s" differ in unit',
        ),
        (
            "seed = { from = 1, to = 5 }",
            "s.toml:21: sweep.seed: lacks `steps` (how many values) or `step`",
        ),
        ("seed = { from = 1, to = 5, step = -1 }", "sweep.seed.step: -1 does not lead from 1 to 5"),
        (
            'seed = { from = 0, to = 5, steps = 3, scale = "log" }',
            "sweep.seed.from: 0: equal ratios",
        ),
        ("seed = { from = 1, to = 5, stepz = 3 }", "unknown key; did you mean"),
        ("[[sweep.zip]]\nseed = [1, 2]", "s.toml:21: sweep.zip.0: expected two keys or more"),
        (
            '[[sweep.zip]]\nseed = [1, 2]\nwarmup = ["1 s"]',
            "s.toml:23: sweep.zip.0.warmup: 1 values beside 2 of seed",
        ),
        (
            '[[sweep.zip]]\nseed = [1, 2]\nwarmup = ["1 s", "1 h"]',
            's.toml:23: sweep: warmup = "1 h": 1 h leaves nothing of the duration',
        ),
        ("[sweep.latin_hypercube]\nseed = 3", "sweep.latin_hypercube: lacks `points`"),
        (
            "[sweep.latin_hypercube]\npoints = 3\nwarmup = { from = 1, to = 2, steps = 2 }",
            "s.toml:23: sweep.latin_hypercube.warmup.steps: a hypercube takes values from",
        ),
        ("warmup = [1]\n[sweep.latin_hypercube]\npoints = 2\nwarmup = [1]", "varies twice"),
        (
            'until = { metric = "goodput_bit_s", relative_half_width = 5, max_replications = 9 }',
            "s.toml:21: sweep.until.relative_half_width: 5: expected a number between 0 and 1",
        ),
        (
            'until = { metric = "goodput", relative_half_width = 0.1, max_replications = 99 }',
            "no column 'goodput' in flows; did you mean 'goodput_bit_s'?",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, sweep: str, message: str) -> None:
    scenario = written(tmp_path, sweep)
    with pytest.raises((retx.ScenarioError, UsageError)) as raised:
        retx.sweep(scenario, out=tmp_path / "out")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["s.toml"]


def written(directory: Path, sweep: str) -> Path:
    """The scenario, with what the sweep says from line 21 on."""
    lines = SCENARIO.rstrip().count("\n") + 1
    path = directory / "s.toml"
    path.write_text(SCENARIO.rstrip() + "\n" * (20 - lines) + "[sweep]\n" + sweep + "\n")
    return path


def test_on_the_command_line(cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "cwd", "replications = 0")
    done = cli("sweep", "s.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: s.toml:21: sweep.replications: 0: expected")
    assert [path.name for path in (tmp_path / "cwd").iterdir()] == ["s.toml"]
    written(tmp_path / "cwd", "replications = 4")
    vary = ["--vary", f"{P}=[0, 0.05]", "--vary", f'{TCP}=["reno", "cubic"]']
    shown = cli("sweep", "s.toml", *vary, "--set", "link.cloud.delay=1 ms", "--threads", 1)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "16 runs" in shown.stdout
    found = retx.load_sweep(tmp_path / "cwd" / "out" / "s-sweep")
    expected = retx.sweep(
        SCENARIO,
        {P: [0, 0.05], TCP: ["reno", "cubic"]},
        4,
        overrides={"link.cloud.delay": "1 ms"},
    )
    assert_frame_equal(found.flows, expected.flows)


def test_other_sweeps_of_a_scenario_get_default_directories_of_their_own(
    cli: Cli, tmp_path: Path
) -> None:
    written(tmp_path / "cwd", "replications = 2")

    def swept(*arguments: object) -> tuple[list[str], str]:
        done = cli("sweep", "s.toml", "--threads", 1, *arguments)
        assert done.returncode == 0, done.stderr
        return sorted(path.name for path in (tmp_path / "cwd" / "out").iterdir()), done.stderr

    first = ["--vary", f"{P}=0,0.05"]
    assert swept(*first) == (["s-sweep"], "")
    found, said = swept("--vary", f"{TCP}=reno,cubic")
    assert found == ["s-sweep", "s-sweep-2"]
    assert said.startswith(
        "out/s-sweep holds another sweep, which is kept: this one goes to out/s-"
    )
    # The first sweep is continued where it is, and the second one, too.
    assert swept(*first, "--replications", 3) == (["s-sweep", "s-sweep-2"], "")
    assert swept("--vary", f"{TCP}=reno,cubic,sack")[0] == ["s-sweep", "s-sweep-2"]
    assert swept("--seed", 9, *first)[0] == ["s-sweep", "s-sweep-2", "s-sweep-3"]
    out = tmp_path / "cwd" / "out"
    assert [len(retx.load_sweep(out / name)) for name in ("s-sweep", "s-sweep-2")] == [6, 6]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tables": ["segmets"]}, "no table 'segmets'"),
        ({"tables": ["samples"]}, "samples need a `sample_interval`"),
        ({"threads": 0}, "threads is 0"),
        ({"threads": 2, "dask": "tcp://127.0.0.1:1"}, "exclude each other"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        retx.sweep(SCENARIO, {P: [0]}, 1, **arguments)


def test_what_was_not_kept_says_how_to_keep_it() -> None:
    sweep = retx.sweep(SCENARIO, {P: [0]}, 1)
    with pytest.raises(retx.NotRecordedError, match="tables="):
        _ = sweep.segments
    kept = retx.sweep(SCENARIO, {P: [0]}, 1, tables=["drops"])
    assert (kept.drops.height, kept.drops.columns[:3]) == (0, [P, "replication", "time_s"])


def test_a_failed_run_is_named() -> None:
    scenario = SCENARIO.replace('tcp = "reno"', 'tcp = "own"') + '[tcp.own]\nlike = "reno"\n'
    grid = {P: [0.3], "tcp.own.congestion_control": [Fails]}
    with pytest.raises(retx.UserCodeError, match=f"^{P} = 0.3, .*, replication \\d+: .*on_ack"):
        retx.sweep(scenario, grid, 3)


class Fails(Timid):
    def on_ack(self, window: retx.Window, ack: retx.Ack) -> None:
        raise ZeroDivisionError


# Common random numbers.


def of_tcp(table: pl.DataFrame, tcp: str) -> pl.DataFrame:
    return table.filter(pl.col(TCP).cast(pl.String) == tcp)


def test_two_tcps_meet_the_same_fates_frame_by_frame() -> None:
    """The nth frame into a channel that decides per packet has one fate, whatever the TCP."""
    scenario = with_bytes(SCENARIO, 40_000)
    sweep = retx.sweep(scenario, {TCP: ["reno", "cubic"], P: [0.2]}, 20, tables=["segments"])
    compared = 0
    for replication in range(20):
        each = [
            of_tcp(sweep.segments, tcp)
            .filter(replication=replication)
            .sort("sent_s", maintain_order=True)["fate"]
            .to_list()
            for tcp in ("reno", "cubic")
        ]
        # All that the server sends goes into the channel; after the last segment the TCPs differ in
        # pure acknowledgments.
        common = min(map(len, each)) - 2
        assert each[0][:common] == each[1][:common]
        compared += each[0][:common].count("channel")
    assert compared > 50


def test_two_tcps_meet_the_same_path_of_a_channel_that_moves_with_time() -> None:
    """Frames of either TCP that leave within a millisecond of each other meet the same state."""
    scenario = SCENARIO.replace(
        '{ model = "bernoulli", p = 0.01 }',
        '{ model = "gilbert_elliott_time", mean_good = "500 ms", mean_bad = "300 ms" }',
    )
    tcps = ["reno", "cubic"]
    sweep = retx.sweep(scenario, {TCP: tcps}, 30, tables=["segments"])
    near = []
    for replication in range(30):
        one, other = (
            of_tcp(sweep.segments, tcp)
            .filter(replication=replication)
            .select("sent_s", "fate")
            .sort("sent_s")
            for tcp in tcps
        )
        near.append(
            one.join_asof(other, on="sent_s", strategy="nearest", tolerance=1e-3).drop_nulls()
        )
    found = pl.concat(near)
    same = (found["fate"] == found["fate_right"]).mean()
    assert found.filter(pl.col("fate") == "channel").height > 15
    # Within a millisecond the state changes with a probability of 2 · 3/8 · 1/300.
    assert same > 1 - 0.02


def test_runs_in_which_nothing_is_measured_are_told_once(cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "cwd", '"flow.download.app.bytes" = [1000, 100_000_000]')
    setting = ("--set", "warmup=2 s", "--replications", 3)
    sentence = "3 of 6 runs were over within their warmup: nothing was measured there"
    for _ in range(2):  # made, and found there
        done = cli("sweep", "s.toml", *setting)
        assert (done.returncode, done.stderr) == (0, f"warning: {sentence}\n")
    with pytest.warns(retx.NothingMeasuredWarning) as raised:
        retx.sweep(SCENARIO, replications=2, overrides={"warmup": "99 s"})
    assert [str(it.message)[:11] for it in raised] == ["2 of 2 runs"]


# Stopping by precision.

UNTIL = {
    "metric": "goodput_bit_s",
    "relative_half_width": 0.1,
    "confidence": 0.95,
    "max_replications": 150,
}


def test_runs_go_on_until_the_mean_is_known() -> None:
    grid = {P: [0, 0.01, 0.05]}
    sweep = retx.sweep(SCENARIO, grid, until=UNTIL)
    summary = sweep.summary()
    counts = summary["n"].to_list()
    # Without loss all runs are the same: the first look is the last.
    assert counts[0] == 10
    assert max(counts) > 10
    for row in summary.iter_rows(named=True):
        narrow = (row["high"] - row["low"]) / 2 / row["mean"] <= 0.1
        assert narrow or row["n"] == 150
    for threads in (1, 5):
        again = retx.sweep(SCENARIO, grid, until=UNTIL, threads=threads)
        assert_frame_equal(again.flows, sweep.flows)
    few = retx.sweep(SCENARIO, grid, 5, until=UNTIL | {"max_replications": 12})
    assert few.summary()["n"].to_list() == [5, 12, 12]


def test_a_metric_that_no_run_has_is_refused_before_the_first(tmp_path: Path) -> None:
    out = tmp_path / "out"
    until = UNTIL | {"metric": "flow.upload.goodput_bit_s"}
    with pytest.raises(UsageError, match=r"no flow 'upload' in any run; choose one of download"):
        retx.sweep(SCENARIO, {P: [0]}, until=until, out=out)
    until |= {"metric": "link.clud.forward.utilisation"}
    with pytest.raises(UsageError, match=r"no link 'clud' in any run; did you mean 'cloud'"):
        retx.sweep(SCENARIO, {P: [0]}, until=until, out=out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (
            "flow.downlaod.goodput_bit_s",
            "no flow 'downlaod' in any run; did you mean 'download'? (choose one of download",
        ),
        (
            "link.clud.forward.utilisation",
            "no link 'clud' in any run; did you mean 'cloud'? (choose one of cloud)",
        ),
        ("goodput", "did you mean 'goodput_bit_s'?"),
    ],
)
def test_a_misspelt_metric_is_refused_before_the_first_run(
    metric: str, message: str, cli: Cli, tmp_path: Path
) -> None:
    written(tmp_path / "cwd", '"flow.download.count" = [1, 3]')
    done = cli("sweep", "s.toml", "--metric", metric)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: metric: ")
    assert message in done.stderr
    assert not (tmp_path / "cwd" / "out").exists()


def test_a_metric_may_name_what_only_some_points_have(cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "cwd", 'replications = 2\n"flow.download.count" = [1, 3]')
    shown = cli("sweep", "s.toml", "--metric", "flow.download.2.rto_count")
    assert (shown.returncode, shown.stderr) == (0, "")
