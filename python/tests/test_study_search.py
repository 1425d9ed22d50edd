"""Searches of a study: found, kept beside the report, gone on with, made anew."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import retx
from retx.study import Plan, load
from retx.study.data import StudyError
from retx.study.measured import Measured
from retx.study.searches import SEARCHES

SCENARIO = """
duration = "5 s"
stop = "duration"

[tcp.limited]
like = "reno"
max_cwnd = "8 mss"

[[link]]
name = "air"
ends = ["a", "b"]
rate = "1 Mbit/s"
delay = "20 ms"
channel = { model = "bernoulli", p = 0.02 }

[[flow]]
name = "bulk"
from = "a"
to = "b"
tcp = "limited"
app = "bulk"
"""
STUDY = """
title = "Windows"
paper = { title = "T", authors = "A", reference = "R" }

[experiment.one]
title = "One"
scenario = "air.toml"
quantity = "flow.bulk.goodput_bit_s"
case = [{ name = "as is", label = "as is" }]

[search.window]
title = "Largest window"
scenario = "air.toml"
maximise = ["goodput"]
trials = { quick = 3, full = 5 }
replications = 2
vary = { "tcp.limited.max_cwnd" = "1460..20000:log" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "windows"
    made.mkdir()
    (made / "air.toml").write_text(SCENARIO)
    (made / "study.toml").write_text(STUDY)
    (made / "published.toml").write_text("")
    (made / "claims.toml").write_text("")
    return made


def found(folder: Path, form: str, home: Path | None, seed: int = 1) -> retx.tuning.result.Tuning:
    measured = Measured(load(str(folder)), Plan(form, seed=seed), home)
    measured.run_all(progress=False)
    tuning = measured.search("window")
    assert tuning is not None
    return tuning


def test_the_full_form_goes_on_with_the_quick_one(folder: Path, tmp_path: Path) -> None:
    home = tmp_path / "report"
    quick = found(folder, "quick", home)
    assert quick.trials.height == 3
    full = found(folder, "full", home)
    assert full.trials.height == 5
    assert full.trials.head(3).equals(quick.trials)
    # The result equals that of a search that is not stored.
    assert full.trials.equals(found(folder, "full", None).trials)
    assert len(list((home / SEARCHES).glob("window-*.db"))) == 1


def test_another_scenario_or_seed_is_another_search(folder: Path, tmp_path: Path) -> None:
    home = tmp_path / "report"
    first = found(folder, "quick", home)
    (folder / "air.toml").write_text(SCENARIO.replace("0.02", "0.1"))
    second = found(folder, "quick", home)
    assert second.trials["goodput"].to_list() != first.trials["goodput"].to_list()
    other = found(folder, "quick", home, seed=2)
    assert other.trials["goodput"].to_list() != second.trials["goodput"].to_list()
    # A search that cannot be continued is replaced.
    assert len(list((home / SEARCHES).glob("window-*.db"))) == 1


def test_the_printed_command_makes_the_same_search(folder: Path, tmp_path: Path) -> None:
    tuning = found(folder, "quick", None)
    command = Measured(load(str(folder)), Plan("quick")).search_command("window")
    (tmp_path / "scenarios").symlink_to(folder)
    words = shlex.split(command)
    assert words[0] == "retx"
    run = subprocess.run(
        [sys.executable, "-m", *words, "--out", "best.toml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert run.returncode == 0
    best = tuning.scenario()["tcp"]["limited"]["max_cwnd"]
    assert retx.resolve(tmp_path / "best.toml")["tcp"]["limited"]["max_cwnd"] == best


def test_without_optuna_there_is_no_search(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retx.study.searches.is_installed", lambda _: False)
    measured = Measured(load(str(folder)), Plan("quick"))
    measured.run_all(progress=False)
    assert measured.search("window") is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'scenario = "air.toml"\nmaximise',
            'scenario = "water.toml"\nmaximise',
            "no file water.toml",
        ),
        ("quick = 3, full = 5", "quick = 3", "trials: needs quick and full"),
        ("1460..20000:log", "1460..", "vary"),
        ("replications = 2", "runs = 2", "runs: unknown key"),
    ],
)
def test_wrong_searches_are_refused(folder: Path, old: str, new: str, said: str) -> None:
    assert old in STUDY
    (folder / "study.toml").write_text(STUDY.replace(old, new))
    with pytest.raises(StudyError, match=said):
        load(str(folder))


def test_a_search_that_is_none(folder: Path) -> None:
    with pytest.raises(StudyError, match="no search 'windows'"):
        Measured(load(str(folder)), Plan("quick")).search("windows")
