"""Emulations of a study: made, kept, left out and refused, and said to be."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from emulating import need_emulation

from retx._native import EmulationRefusedError
from retx.comparing.emulations import Emulated, emulate_each
from retx.study import Measured, Plan, load
from retx.study.data import StudyError
from retx.study.emulated import Emulator

TIME = "flow.download.response_time_s"


def one_case(home: Path, emulations: int | None = 2) -> Measured:
    """The testbed of high-ber without loss, by itself."""
    study = load("high-ber")
    whole = study.experiments["kernel"]
    app = {"kind": "transfer", "bytes": 200_000}
    one = replace(whole, cases={"0": whole.cases["0"]}, quick={"flow.download.app": app})
    study = replace(study, experiments={"kernel": one})
    return Measured(study, Plan("quick", replications=2, emulations=emulations), home)


def test_emulations_stand_beside_simulations_and_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_emulation()
    # Valid however late, as a busy machine would leave them out.
    monkeypatch.setattr(
        "retx.study.emulated.emulate_each",
        lambda control, scenario, code, plan: emulate_each(
            control, scenario, code, replace(plan, lateness_bound_s=60.0)
        ),
    )
    measured = one_case(tmp_path)
    measured.run_all()
    found = measured.at("kernel/0").emulated()
    simulated = measured.at("kernel/0").mean()
    assert found is not None
    assert found.n == 2
    # 200,000 bytes in flights of 8760, one each 44 ms: no sooner than in the model, and later only
    # by what the machine is busy with.
    assert simulated <= found.mean < 2 * simulated
    assert "Emulated: 2 runs with Linux " in measured.emulations("kernel")
    (file,) = (tmp_path / "emulations").iterdir()
    kept = json.loads(file.read_text())
    for run, busy in zip(kept["runs"], (1.0, 7.0), strict=True):
        run["summary"]["machine"] = {"load": busy, "cores": 2}
    file.write_text(json.dumps(kept))

    # Another time, where nothing can be emulated.
    def refuse(*_: Any) -> list[Emulated]:
        raise EmulationRefusedError("there is nothing to emulate with")

    monkeypatch.setattr("retx.study.emulated.emulate_each", refuse)
    again = one_case(tmp_path)
    again.run_all()
    assert again.at("kernel/0").emulated() == found
    assert "busy, with up to 3.5 processes for each core" in again.emulations("kernel")
    # A third is not there.
    more = one_case(tmp_path, 3)
    more.run_all()
    assert more.at("kernel/0").emulated() is None
    assert more.emulations("kernel") == "Not emulated here: there is nothing to emulate with."


def test_what_was_late_is_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "retx.study.emulated.emulate_each",
        lambda *_: [Emulated(None, ["too late"] * 3), Emulated(None, ["too late"] * 3)],
    )
    measured = one_case(tmp_path)
    measured.run_all()
    assert measured.at("kernel/0").emulated() is None
    assert measured.emulations("kernel").endswith("Late each time, and left out: 2.")
    (kept,) = (tmp_path / "emulations").iterdir()
    assert [run["summary"] for run in json.loads(kept.read_text())["runs"]] == [None, None]
    kept.write_text("{")
    with pytest.raises(StudyError, match="delete it"):
        one_case(tmp_path).run_all()


def test_an_interrupted_study_cancels_its_emulations() -> None:
    need_emulation()
    study = load("high-ber")
    long = replace(study, experiments={"kernel": study.experiments["kernel"]})
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), Emulator() as emulator:
        # Each takes 50 s.
        Measured(long, Plan("quick")).begin_emulations(emulator)
        time.sleep(1)
        raise KeyboardInterrupt
    assert time.monotonic() - began < 30


def test_none_are_asked_for(tmp_path: Path) -> None:
    measured = one_case(tmp_path, 0)
    measured.run_all()
    assert measured.at("kernel/0").emulated() is None
    assert measured.emulations("kernel") == "Not emulated here: left out by --emulations 0."
    assert not (tmp_path / "emulations").exists()
    with pytest.raises(StudyError, match="no experiment 'kernal'; did you mean 'kernel'"):
        measured.at("kernal/0").emulated(TIME)
