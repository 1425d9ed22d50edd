"""The runs of a study: one queue, kept beside the report, and gone on with."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from small_study import FIGURES, QUANTITIES, STUDY, VALUES, write_study
from sweeping import SCENARIO

import retx
from retx.study import Measured, Plan, load, reproduce
from retx.study.data import StudyError
from retx.sweeps.display import Display
from retx.sweeps.parts import _name
from retx.sweeps.running import Execution
from retx.sweeps.store import Directory

SEED = random.randrange(10**6)
"""Seed of the moments at which a study is killed; printed when a test fails."""

QUICK = Plan("quick")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write_study(tmp_path / "small")


def measured_of(study: Path, plan: Plan = QUICK) -> Measured:
    measured = Measured(load(str(study)), plan)
    measured.run_all()
    return measured


def test_a_grid_is_crossed_with_the_cases(study: Path) -> None:
    (study / "study.toml").write_text(STUDY.replace('derive_from = ["segments"]', ""))
    measured = measured_of(study)
    surface = measured.sweep("surface")
    assert surface.keys == ("case", "link.cloud.forward.channel.p", "link.cloud.delay")
    # 6 points for each random case with 3 runs, and for the third case with one.
    assert len(surface.flows) == 6 * (3 + 3 + 1)
    at = {"link.cloud.forward.channel.p": 0.01, "link.cloud.delay": "50 ms"}
    alone = retx.replicate(
        study / "s.toml", 3, seed=1, overrides={"flow.download.tcp": "cubic"} | at
    )
    place = measured.at("surface/cubic @ p=0.01, delay=50 ms")
    values = place.values("flow.download.goodput_bit_s")
    assert values == alone.flows["goodput_bit_s"].to_list()
    lost = place.values("link.cloud.forward.drops_channel")
    assert lost == alone.links.filter(direction="forward")["drops_channel"].to_list()
    there = pl.all_horizontal(
        pl.col(key).cast(pl.String) == str(value) for key, value in ({"case": "cubic"} | at).items()
    )
    kept = surface.episodes.filter(there)
    assert kept["start_s"].to_list() == alone.episodes["start_s"].to_list()
    plain = measured.sweep("plain").flows
    assert len(plain.filter(pl.col("case").cast(pl.String) == "fast")) == 1
    command = place.command()
    assert "link.cloud.forward.channel.p=0.01" in command
    assert "'link.cloud.delay=\"50 ms\"'" in command
    summary = surface.summary("goodput_bit_s")
    assert len(summary) == 18


def test_a_form_may_have_a_grid_of_its_own(study: Path) -> None:
    text = STUDY.replace('["5 ms", "50 ms"]', '{ quick = ["50 ms"], full = ["5 ms", "50 ms"] }')
    assert text != STUDY
    (study / "study.toml").write_text(text)
    for form, delays in (("quick", {"50 ms"}), ("full", {"5 ms", "50 ms"})):
        whole = measured_of(study, Plan(form, replications=2))
        assert set(whole.sweep("surface").grid["link.cloud.delay"].to_list()) == delays


@pytest.mark.parametrize(
    ("place", "quantity", "message"),
    [
        ("surface/cubic", "flow.download.rto_count", "give a value of link"),
        ("surface/cubic @ delay=6 ms", "", "link.cloud.delay is never 6 ms (it is 5 ms, 50 ms)"),
        ("plain/vegas", "", "'plain/vegas': no case 'vegas'"),
        ("plain/cubic @ seed=1", "", "'seed' must be the end of one of"),
        ("plain/cubic", "flow.download.rto", "no quantity"),
        ("plane/cubic", "", "did you mean 'plain'?"),
    ],
)
def test_a_wrong_question_is_reported(study: Path, place: str, quantity: str, message: str) -> None:
    measured = measured_of(study, Plan("quick", replications=2))
    with pytest.raises(StudyError, match=re.escape(message)):
        measured.at(place).values(quantity)


def test_quantities_are_kept_and_segments_are_not(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    reproduce(load(str(study)), Plan("quick"), out)
    found = retx.load_sweep(out / "runs")
    assert found.keys[:2] == ("experiment", "case")
    assert not list(out.glob("runs/parts/*/segments.parquet"))
    surface = found.derived.filter(pl.col("experiment") == "surface")
    assert len(surface) == 42
    assert surface["never"].null_count() == 42
    flows = found.flows.filter(pl.col("experiment").cast(pl.String) == "surface")
    both = surface.select("case", "replication", "resent").rows()
    assert both == flows.select("case", "replication", "segments_retransmitted").rows()


def test_single_runs_do_not_pile_up(study: Path) -> None:
    measured = measured_of(study, Plan("quick", replications=2))
    asked = [measured.at("plain/reno").run(number) for number in range(40)]
    assert len(measured.shown) == 32
    assert measured.at("plain/reno").run(39) is asked[39]
    assert measured.at("plain/reno").run(0).flows.equals(asked[0].flows)


def command(study: Path, out: Path, *more: object) -> list[str]:
    # Parts at short intervals, so that there is something to be killed in.
    code = (
        "import retx.sweeps.running as r; r.PART_S = 0.05; r.TICK_S = 0.02\n"
        "import sys; sys.argv[0] = 'retx'\n"
        "from retx.cli.entry import main; main()"
    )
    words = ["study", str(study), "--quick", "--out", str(out), *map(str, more)]
    return [sys.executable, "-c", code, *words]


@pytest.mark.slow
def test_killed_at_any_moment_it_ends_as_if_it_had_not_been(study: Path, tmp_path: Path) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    began = time.monotonic()
    many = ("--replications", 60)
    subprocess.run(command(study, whole, *many), check=True, capture_output=True)
    lasts = time.monotonic() - began
    moments = random.Random(SEED)
    for _ in range(2):
        run = subprocess.Popen(
            command(study, out, *many), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(moments.uniform(0.2 * lasts, lasts))
        run.kill()
        run.wait()
    done = subprocess.run(command(study, out, *many), check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), f"seed {SEED}"
    for name in ("summary.json", "report.html"):
        assert (out / name).read_bytes() == (whole / name).read_bytes(), f"seed {SEED}"
    assert not (out / ".partial").exists()


def runs_made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the stored runs that are made from here on; short runs check names before."""
    made: list[int] = []
    run = Execution.run

    def counted(self: Execution, display: Display) -> None:
        run(self, display)
        if isinstance(self._store, Directory):
            made.append(self.fresh)

    monkeypatch.setattr(Execution, "run", counted)
    return made


def test_what_is_there_is_not_run_again(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (study / "study.toml").write_text(STUDY.replace("[experiment.surface]", "[experiment.more]"))
    text = (study / "study.toml").read_text()
    (study / "study.toml").write_text(text[: text.index("[experiment.more]")])
    (study / "values.toml").write_text(VALUES[: VALUES.index("is.resent")])
    out = tmp_path / "out"
    made = runs_made(monkeypatch)

    def again(expected: int, plan: Plan = QUICK, message: str = "") -> dict[str, object]:
        made.clear()
        reproduce(load(str(study)), plan, out)
        assert sum(made) == expected
        said = capsys.readouterr().err
        assert (message in said) if message else not said
        found: dict[str, object] = json.loads((out / "summary.json").read_text())
        return found

    first = again(13)
    assert again(0) == first
    again(12, Plan("full"))
    # Fewer again: the others stay for the next time.
    assert again(0) == first
    again(0, Plan("full"))
    # A figure that changes runs nothing again; a quantity does, and a scenario.
    (study / "figures.py").write_text((study / "figures.py").read_text() + "\n# other\n")
    again(0)
    (study / "quantities.py").write_text(QUANTITIES + "\n# other\n")
    again(13, message="25 runs there are of another seed, or of an earlier state")
    (study / "s.toml").write_text(SCENARIO.replace("5 ms", "6 ms"))
    again(13, message="13 runs there are of another seed, or of an earlier state")
    again(13, Plan("quick", seed=2), message="13 runs")


def test_another_engine_runs_everything_again(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    plan = Plan("quick", replications=2)
    reproduce(load(str(study)), plan, out)
    (part,) = (out / "runs" / "parts").iterdir()
    text = (part / "part.json").read_text().replace(retx._native.ENGINE, "0.0.9+abc")
    listed = json.loads(text)
    (part / "part.json").write_text(text)
    part.rename(part.with_name(_name(listed["runs"], listed["tables"], "0.0.9+abc")))
    made = runs_made(monkeypatch)
    reproduce(load(str(study)), plan, out)
    assert sum(made) == 5 + 30
    assert "35 runs there were made by another engine (0.0.9+abc; here" in capsys.readouterr().err


def test_an_interrupted_study_keeps_its_runs_and_the_report_that_was_there(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, plan = tmp_path / "out", Plan("quick", replications=2)
    reproduce(load(str(study)), plan, out)
    before = (out / "report.html").stat().st_ino
    broken = FIGURES.replace("return ", "raise KeyboardInterrupt\n    return ")
    (study / "figures.py").write_text(broken)
    with pytest.raises(KeyboardInterrupt):
        reproduce(load(str(study)), Plan("quick", replications=3), out)
    assert (out / "report.html").stat().st_ino == before
    assert sorted(path.name for path in out.iterdir()) == [
        "report.html", "runs", "scenarios", "summary.json", "tables",
    ]  # fmt: skip
    (study / "figures.py").write_text(FIGURES)
    made = runs_made(monkeypatch)
    reproduce(load(str(study)), Plan("quick", replications=3), out)
    assert sum(made) == 0
    assert (out / "report.html").stat().st_ino != before


def test_the_same_study_twice_at_once_is_refused(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    long = ("--replications", 5_000)
    first = subprocess.Popen(command(study, out, *long), stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(600):
            if (out / "runs" / "sweep.json").exists():
                break
            time.sleep(0.05)
        second = subprocess.run(command(study, out), capture_output=True, text=True, check=False)
        first.send_signal(signal.SIGINT)
        _, errors = first.communicate(timeout=30)
    finally:
        first.kill()
        first.wait()
    assert first.returncode == 130
    assert f"runs are in {out / 'runs'}; go on with: retx study {study} --quick" in errors
    assert second.returncode == 2
    assert f"another sweep (process {first.pid}) is writing there" in second.stderr


def test_a_failing_quantity_names_its_run(study: Path, tmp_path: Path) -> None:
    (study / "quantities.py").write_text("def quantities(run):\n    return {'x': 1 / 0}\n")
    with pytest.raises(
        retx.UserCodeError, match=r"quantities: experiment = .*, case = .*, replication .*: Zero"
    ):
        reproduce(load(str(study)), Plan("quick"), tmp_path / "out")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('link.cloud.delay = ["5', 'link.clod.delay = ["5', "experiment.surface: .*link.clod"),
        ('delay = ["5 ms", "50 ms"]', "delay = []", "experiment.surface: .*an empty list"),
        ('tables = ["episodes"]', 'tables = ["episode"]', "no table 'episode'"),
        ("link.cloud.delay = ", "replications = 5 # ", "replications: set it in the experiment"),
    ],
)
def test_a_wrong_experiment_is_reported(study: Path, old: str, new: str, message: str) -> None:
    assert old in STUDY
    (study / "study.toml").write_text(STUDY.replace(old, new))
    with pytest.raises(ValueError, match=message):
        measured_of(study)


def test_one_study_can_be_copied_and_goes_on(study: Path, tmp_path: Path) -> None:
    plan = Plan("quick", replications=2)
    reproduce(load(str(study)), plan, tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    reproduce(load(str(study)), plan, tmp_path / "b")
    assert (tmp_path / "a" / "summary.json").read_bytes() == (
        tmp_path / "b" / "summary.json"
    ).read_bytes()
