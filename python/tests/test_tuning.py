"""Tuning: what is varied, what is sought, and that a tuning goes on where it was cut short."""

from __future__ import annotations

import fcntl
import json
import re
import sqlite3

import polars as pl
import pytest
from conftest import LOSSY

import retx
from retx.errors import UsageError
from retx.tuning.objective import Objective
from retx.tuning.space import Choice, parsed

QUEUE, DELAY = "link.cloud.queue.packets", "link.cloud.delay"
SHORT = {"flow.download.app.bytes": 100_000}
VARY = {QUEUE: retx.Range(2, 60), DELAY: retx.Range(5.0, 80.0, "ms", log=True)}


def tuned(trials: int, storage=None, **options) -> object:
    options = {"maximise": ["goodput"], "replications": 2, "overrides": SHORT, **options}
    return retx.tune(LOSSY, VARY, trials=trials, storage=storage, **options)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("a.b=5..200", ("a.b", retx.Range(5, 200))),
        ("a=0.1..1e-0", ("a", retx.Range(0.1, 1.0))),
        ("a=5..100 ms:log", ("a", retx.Range(5, 100, "ms", True))),
        ("a=1..10Mbit/s", ("a", retx.Range(1, 10, "Mbit/s"))),
        ("a=reno,cubic", ("a", Choice(("reno", "cubic")))),
    ],
)
def test_what_varies_is_read(word: str, expected: tuple) -> None:
    assert parsed(word) == expected


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("a", "write KEY=LOW..HIGH"),
        ("a=9..3", "the first number must be the smaller one"),
        ("a=0..3:log", "must be above 0"),
        ("a=5 ms..10 ms", "one unit after the second"),
        ("a=reno", "two different values"),
    ],
)
def test_what_does_not_vary_is_refused(word: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parsed(word)


def test_numbers_of_a_list_are_numbers() -> None:
    found = retx.tune(LOSSY, {QUEUE: [9, 40]}, maximise=["goodput"], trials=4, overrides=SHORT)
    assert set(found.trials[QUEUE]) == {9, 40}
    assert found.overrides()[QUEUE] in (9, 40)
    assert found.landscape().axes


def test_values_are_of_the_range_and_give_what_they_say(capfd) -> None:
    found = tuned(12)
    assert capfd.readouterr() == ("", "")
    assert found.trials.columns == ["trial", QUEUE, DELAY, "goodput"]
    assert found.trials[QUEUE].dtype == pl.Int64
    assert found.trials[QUEUE].is_between(2, 60).all()
    assert found.trials[DELAY].is_between(5, 80).all()
    assert found.best["goodput"][0] == found.trials["goodput"].max()
    # A trial can be run again, by its values or by its scenario.
    best = found.overrides()
    assert best[DELAY].endswith(" ms")
    again = retx.replicate(LOSSY, 2, overrides=best)
    assert again.flows["goodput_bit_s"].mean() == pytest.approx(found.best["goodput"][0])
    text = retx.replicate(found.scenario_toml(), 2)
    assert text.flows.equals(again.flows)


def test_the_search_finds_the_short_delay() -> None:
    """Goodput falls with the delay: after 30 trials the best is among the shortest."""
    found = tuned(30)
    assert found.best[DELAY][0] < 8
    late = found.trials.tail(10)[DELAY].median()
    assert late < found.trials.head(10)[DELAY].median()


def test_a_tuning_goes_on_where_it_was_cut_short(tmp_path) -> None:
    whole = tuned(14, tmp_path / "whole.db").trials
    assert tuned(5, tmp_path / "parts.db").trials.equals(whole.head(5))
    # State that a process leaves when it is killed during a trial.
    import optuna

    study = optuna.load_study(study_name="retx", storage=f"sqlite:///{tmp_path / 'parts.db'}")
    study.ask()
    assert tuned(14, tmp_path / "parts.db").trials.equals(whole)
    # Completed trials are not repeated.
    assert tuned(14, tmp_path / "parts.db", report=pytest.fail).trials.equals(whole)


def test_the_file_of_another_tuning_is_refused(tmp_path) -> None:
    path = tmp_path / "tuning.db"
    tuned(2, path)
    with pytest.raises(ValueError, match=r"another tuning \(objectives, replications differ\)"):
        tuned(2, path, maximise=["fairness"], replications=3)
    with pytest.raises(ValueError, match="scenario differ"):
        tuned(2, path, overrides={**SHORT, "link.cloud.rate": "2 Mbit/s"})
    (tmp_path / "text.db").write_text("no database at all, but a text of some length\n" * 40)
    with pytest.raises(ValueError, match="not a file that can store a tuning"):
        tuned(2, tmp_path / "text.db")
    with (tmp_path / "tuning.db.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(ValueError, match="another tuning is writing to it"):
            tuned(3, path)
    assert sqlite3.connect(path).execute("select count(*) from trials").fetchone() == (2,)


def test_several_objectives_are_traded_off() -> None:
    found = tuned(15, maximise=["goodput"], minimise=["delay", "download.rto_count"])
    names = ["goodput", "delay", "download.rto_count"]
    assert found.best.columns[-3:] == names
    rows = found.trials.select(names).rows()
    for good, slow, timeouts in found.best.select(names).iter_rows():
        better = [
            row
            for row in rows
            if row[0] >= good
            and row[1] <= slow
            and row[2] <= timeouts
            and row != (good, slow, timeouts)
        ]
        assert not better
    assert found.pareto().data["best"].equals(found.best)


def test_objectives_are_what_their_names_say() -> None:
    runs = retx.replicate(LOSSY, 2, overrides=SHORT | {"flow.download.count": 2})
    flows = runs.flows
    assert Objective("goodput", True).value(runs) == pytest.approx(flows["goodput_bit_s"].sum() / 2)
    assert Objective("delay", False).value(runs) == pytest.approx(flows["rtt_mean_s"].mean())
    assert 0.5 <= Objective("fairness", True).value(runs) <= 1
    one = flows.filter(pl.col("name") == "download.1")["rto_count"].mean()
    assert Objective("download.1.rto_count", False).value(runs) == one
    # A transfer without an end has no response time, and the mean of the others would mislead.
    cut = retx.replicate(LOSSY, 2, overrides={"duration": "0.2 s"})
    assert Objective("response_time_s", False).value(cut) is None


def test_trials_without_a_value_are_reported() -> None:
    found = tuned(3, minimise=["response_time_s"], maximise=[], overrides={"duration": "0.1 s"})
    assert found.trials["response_time_s"].null_count() == 3
    assert found.best.is_empty()
    with pytest.raises(ValueError, match="no trial has a value"):
        found.overrides()


def test_trials_in_which_nothing_is_measured_are_told_once() -> None:
    early = SHORT | {"warmup": "50 s"}
    with pytest.warns(retx.NothingMeasuredWarning) as raised:
        found = tuned(3, overrides=early)
    (warning,) = raised
    assert str(warning.message) == (
        "6 of 6 runs were over within their warmup: nothing was measured there"
    )
    assert found.trials["goodput"].null_count() == 3


def test_bad_searches_are_refused_before_they_begin(tmp_path) -> None:
    with pytest.raises(ValueError, match="no objective"):
        retx.tune(LOSSY, VARY)
    path = tmp_path / "tuning.db"
    with pytest.raises(ValueError, match="no flow 'upload'; choose one of download"):
        retx.tune(LOSSY, VARY, minimise=["upload.rto_count"], storage=path)
    with pytest.raises(ValueError, match="objective 'speed': no such quantity \\(there is goodput"):
        retx.tune(LOSSY, VARY, maximise=["speed"], storage=path)
    assert not path.exists()
    with pytest.raises(ValueError, match="named twice"):
        retx.tune(LOSSY, VARY, maximise=["goodput"], minimise=["goodput"])
    with pytest.raises(retx.ScenarioError, match=r"with link\.cloud\.queue\.packets = -1: "):
        retx.tune(LOSSY, {QUEUE: retx.Range(-1, 5)}, maximise=["goodput"])
    with pytest.raises(retx.ScenarioError, match="cubicc"):
        retx.tune(LOSSY, {"flow.download.tcp": ["reno", "cubicc"]}, maximise=["goodput"])
    with pytest.raises(ValueError, match="trials is 0"):
        tuned(0)


def test_the_table_has_units(cli, lossy) -> None:
    words = ["--vary", f"{DELAY}=5..80 ms", "--maximise", "goodput", "--minimise", "delay"]
    words += ["--trials", "3", "--replications", "1", "--set", "flow.download.app.bytes=100000"]
    shown = cli("tune", lossy, *words, "--minimise", "download.response_time_s").stdout
    assert re.search(rf"trial +{re.escape(DELAY)} \(ms\) +goodput +delay", shown)
    assert re.search(r"bit/s +[\d.]+ ms +[\d.]+ m?s", shown)


def test_landscapes_show_every_trial() -> None:
    found = tuned(6, maximise=["goodput"])
    panels = found.landscape().axes[:2]
    assert [len(axes.collections[0].get_offsets()) for axes in panels] == [6, 6]
    labels = ["cloud: limit of the queue (packets)", "cloud: propagation delay (ms)"]
    assert [axes.get_xlabel() for axes in panels] == labels
    assert panels[0].get_ylabel() == "goodput (Mbit/s)"
    (axes, _) = found.landscape(QUEUE, DELAY).axes
    assert axes.collections[0].get_offsets()[:, 0].tolist() == found.trials[QUEUE].to_list()
    with pytest.raises(ValueError, match="was not varied"):
        found.landscape(QUEUE, "seed")
    with pytest.raises(ValueError, match="no trade-off"):
        found.pareto()


def test_the_command_line_tunes(cli, lossy, tmp_path) -> None:
    where = tmp_path / "cwd"
    words = ["tune", lossy, "--vary", "flow.download.tcp=reno,linux", "--vary", f"{QUEUE}=2..60"]
    words += ["--set", "flow.download.app.bytes=100000", "--trials", "4", "--replications", "2"]
    words += ["--maximise", "goodput", "--storage", "t.db"]
    done = cli(*words, "--out", "best.toml", "--landscape", "landscape.png")
    assert done.returncode == 0, done.stderr
    assert "Best trial" in done.stdout
    assert (where / "landscape.png").read_bytes().startswith(b"\x89PNG")
    assert cli("run", "best.toml").returncode == 0
    again = json.loads(cli(*words, "--json").stdout)
    assert len(again["trials"]) == 4
    assert again["best"][0]["goodput"] == max(trial["goodput"] for trial in again["trials"])
    wrong = cli(*words, "--pareto", "x.png")
    assert (wrong.returncode, "name two" in wrong.stderr) == (2, True)
    wrong = cli(*words, "--seed", "2")
    assert (wrong.returncode, "seed differ" in wrong.stderr) == (2, True)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_the_search_does_not_take_is_refused(seed: int) -> None:
    with pytest.raises(UsageError, match=rf"seed is {seed}: the search takes one from 0 to \d+$"):
        tuned(1, seed=seed)


def test_a_directory_keeps_no_tuning(tmp_path) -> None:
    for place in (".", tmp_path):
        with pytest.raises(IsADirectoryError, match="is a directory: name a file"):
            tuned(1, place)
    assert [*tmp_path.iterdir()] == []
