"""A sweep's directory survives what may come."""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from polars.testing import assert_frame_equal
from sweeping import LONG, SCENARIO, SWEEP, hashes, with_bytes

import retx
from retx.sweeps import running, store
from retx.sweeps.place import StoreError
from retx.sweeps.plan import Wanted, prepare

SEED = random.randrange(10**6)
"""Seed of the moments at which sweeps are killed; printed when a test fails."""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "s.toml"
    path.write_text(SCENARIO + SWEEP)
    return path


def command(scenario: Path, out: Path, *more: object) -> list[str]:
    return [
        sys.executable,
        "-m",
        "retx",
        "sweep",
        str(scenario),
        "--out",
        str(out),
        *map(str, more),
    ]


def test_tables_stay_until_runs_are_added(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    running.sweep_prepared(prepare(scenario, Wanted(replications=2)), out=out, tabulate=True)
    assert retx.sweep_status(out).tabulated
    retx.sweep(scenario, replications=2, out=out)
    assert (out / "tables" / "runs.parquet").exists()
    shutil.rmtree(next((out / "parts").iterdir()))
    retx.sweep(scenario, replications=2, out=out)
    assert not retx.sweep_status(out).tabulated


def test_a_directory_is_a_sweep(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    found = retx.sweep(scenario, out=out)
    assert sorted(path.name for path in out.iterdir()) == [
        "lock", "parts", "scenario.toml", "sweep.json",
    ]  # fmt: skip
    loaded = retx.load_sweep(out)
    assert_frame_equal(loaded.flows, found.flows)
    assert_frame_equal(loaded.links, found.links)
    assert_frame_equal(loaded.flows, retx.sweep(scenario).flows)
    assert len(retx.run(out / "scenario.toml").flows) == 1


def test_a_complete_sweep_is_not_run_again(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    retx.sweep(scenario, out=out)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
    retx.sweep(scenario, out=out)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")} == before


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param([], id="summaries"),
        pytest.param(["--table", "episodes"], id="episodes", marks=pytest.mark.slow),
    ],
)
def test_killed_at_any_moment_it_ends_as_if_it_had_not_been(
    tmp_path: Path, extra: list[str]
) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(with_bytes(SCENARIO + LONG, 1_000_000))
    whole, out = tmp_path / "whole", tmp_path / "out"
    began = time.monotonic()
    subprocess.run(command(scenario, whole, *extra), check=True, capture_output=True)
    lasts = time.monotonic() - began
    moments = random.Random(SEED)
    for _ in range(4):
        # Parts at short intervals, so that there is something to be killed in.
        code = (
            "import retx.sweeps.running as r; r.PART_S = 0.2; r.TICK_S = 0.05\n"
            "import sys; sys.argv[0] = 'retx'\n"
            "from retx.cli.entry import main; main()"
        )
        words = [sys.executable, "-c", code, *command(scenario, out, *extra)[3:]]
        run = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moments.uniform(0.2, lasts))
        run.kill()
        run.wait()
    subprocess.run(command(scenario, out, *extra), check=True, capture_output=True)
    assert hashes(out) == hashes(whole), f"seed {SEED}"


class Killed(BaseException):
    """Stands for the end of a process in a test that has to continue."""


def test_broken_off_while_parts_are_merged(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    monkeypatch.setattr(store, "RUNS_PER_PART", 25)
    retx.sweep(scenario, out=whole)
    assert len(list((whole / "parts").iterdir())) == 3
    monkeypatch.setattr(running, "TICK_S", 0.0)
    monkeypatch.setattr(running, "PART_S", 0.0)
    written = []

    def write_part(*arguments: object) -> object:
        part = real(*arguments)
        written.append(part)
        if part.count == 25:
            raise Killed
        return part

    real = store.write_part
    monkeypatch.setattr(store, "write_part", write_part)
    with pytest.raises(Killed):
        retx.sweep(scenario, out=out)
    monkeypatch.setattr(store, "write_part", real)
    # Some runs are in two parts now; each counts once.
    assert sum(part.count for part in written) > 72
    assert_frame_equal(retx.load_sweep(out).flows, retx.load_sweep(whole).flows)
    retx.sweep(scenario, out=out)
    assert hashes(out) == hashes(whole)


def test_killed_while_a_part_is_removed(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of the part is not taken for a damaged one, which would be kept aside."""
    whole, out = tmp_path / "whole", tmp_path / "out"
    monkeypatch.setattr(store, "RUNS_PER_PART", 25)
    retx.sweep(scenario, out=whole)
    monkeypatch.setattr(running, "TICK_S", 0.0)
    monkeypatch.setattr(running, "PART_S", 0.0)
    real = Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        if path.name == "runs.parquet":
            raise Killed
        real(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    with pytest.raises(Killed):
        retx.sweep(scenario, out=out)
    monkeypatch.setattr(Path, "unlink", real)
    retx.sweep(scenario, out=out)
    assert not (out / "aside").exists()
    assert hashes(out) == hashes(whole)


@pytest.mark.parametrize("gone", [True, False], ids=["before", "after"])
def test_killed_as_a_part_gave_way_to_another(scenario: Path, tmp_path: Path, gone: bool) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    retx.sweep(scenario, out=whole)
    shutil.copytree(whole, out)
    (part,) = (out / "parts").iterdir()
    aside = part.with_name(f".{part.name}.abcd_123.old")
    shutil.copytree(part, aside)
    if gone:
        shutil.rmtree(part)
    retx.sweep(scenario, out=out)
    assert not aside.exists()
    assert hashes(out) == hashes(whole)


def flip(path: Path, at: int | None = None) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if at is None else at] ^= 0x10
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("flows.parquet", flip, "flows.parquet: its checksum"),
        ("links.parquet", lambda path: os.truncate(path, 100), "links.parquet: 100 bytes instead"),
        ("runs.parquet", Path.unlink, "runs.parquet: No such file"),
        ("part.json", lambda path: flip(path, 20), "part.json"),
        ("part.json", lambda path: path.write_text("{}"), "part.json"),
        ("part.json", lambda path: path.write_text(""), "part.json"),
    ],
)
def test_a_damaged_part_is_named_and_redone(
    scenario: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    damage: object,
    message: str,
) -> None:
    out = tmp_path / "out"
    monkeypatch.setattr(store, "RUNS_PER_PART", 25)
    retx.sweep(scenario, out=out)
    before = hashes(out)
    victim = sorted((out / "parts").iterdir())[1]
    damage(victim / name)
    with pytest.raises(StoreError, match="run the sweep again"):
        retx.load_sweep(out)
    status = retx.sweep_status(out)
    assert len(status.damaged) == 1
    assert message in status.damaged[0]
    assert status.runs < 72
    retx.sweep(scenario, out=out)
    warned = capsys.readouterr().err
    assert str(victim) in warned
    assert message in warned
    assert "done again" in warned
    assert hashes(out) == before
    # Damaged files may still be of use: they are moved aside, not removed.
    assert [path.name for path in (out / "aside").iterdir()] == [victim.name]


def put_foreign(parts: Path) -> dict[Path, bytes]:
    """Puts what a user might into the folder of parts; the files, with their content."""
    elsewhere = parts.parent.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    (parts / "mine" / "deep").mkdir(parents=True)
    (parts / f"{'0' * 32}x").mkdir()
    (parts / ".mine.partial").mkdir()
    (parts / "empty").mkdir()
    files = {
        parts / "mine" / "deep" / "thesis.tex": b"years of work",
        parts / "notes.txt": b"a plain file",
        parts / f"{'0' * 32}x" / "part.json": b"{}",
        parts / ".mine.partial" / "draft": b"a hidden folder",
        elsewhere / "data.parquet": b"behind a link",
    }
    for path, content in files.items():
        path.write_bytes(content)
    (parts / "link").symlink_to(elsewhere)
    (parts / ("f" * 32)).symlink_to(elsewhere)
    (parts / "broken").symlink_to(parts / "nowhere")
    return files


def check_foreign(files: dict[Path, bytes], parts: Path) -> None:
    assert {path: path.read_bytes() for path in files} == files
    assert (parts / "link").is_symlink()
    assert (parts / "broken").is_symlink()
    assert (parts / "empty").is_dir()


def test_foreign_files_among_parts_stay_and_stop_nothing(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    retx.sweep(scenario, out=out, overrides={"sweep.replications": 3})
    files = put_foreign(out / "parts")
    # More runs: a new part is written, and both are merged.
    found = retx.sweep(scenario, out=out)
    assert found.flows.height == 72
    assert f"{out / 'parts' / 'mine'}: retx did not write this" in capsys.readouterr().err
    check_foreign(files, out / "parts")
    assert retx.sweep_status(out).runs == 72
    assert_frame_equal(retx.load_sweep(out).flows, found.flows)


def test_a_foreign_file_in_a_part_is_moved_aside_when_the_part_gives_way(
    scenario: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    retx.sweep(scenario, out=out, overrides={"sweep.replications": 3})
    (part,) = (out / "parts").iterdir()
    (part / "mine.parquet").write_bytes(b"mine")
    found = retx.sweep(scenario, out=out)
    assert (out / "aside" / part.name / "mine.parquet").read_bytes() == b"mine"
    assert_frame_equal(retx.load_sweep(out).flows, found.flows)


def test_force_refuses_where_foreign_files_are(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    retx.sweep(scenario, out=out)
    files = put_foreign(out / "parts")
    with pytest.raises(StoreError, match="which retx did not write: move it away"):
        retx.sweep(scenario, out=out, force=True)
    check_foreign(files, out / "parts")
    assert retx.sweep_status(out).runs == 72


def test_force_removes_a_sweep_and_its_damaged_parts(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    retx.sweep(scenario, out=out)
    (part,) = (out / "parts").iterdir()
    (part / "flows.parquet").write_bytes(b"damaged")
    retx.sweep(scenario, out=out)
    assert (out / "aside" / part.name).is_dir()
    retx.sweep(scenario, out=out, force=True)
    assert not (out / "aside").exists()


def forge(part: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Changes the list of a part as somebody would who knows how its name is made."""
    listed = json.loads((part / "part.json").read_text())
    change(listed)
    (part / "part.json").write_text(json.dumps(listed))
    text = json.dumps([listed["engine"], listed["tables"], listed["runs"]])
    name = hashlib.sha256(text.encode()).hexdigest()[:32]
    return part.rename(part.with_name(name))


def more_runs(listed: dict[str, Any], count: object) -> None:
    key = next(iter(listed["runs"]))
    listed["runs"][key] = [[0, count]]


FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "10¹² runs": lambda listed: more_runs(listed, 10**12),
    "a run more": lambda listed: more_runs(listed, 99),
    "no number": lambda listed: more_runs(listed, 1e300),
    "a negative number": lambda listed: more_runs(listed, -5),
    "a truth value": lambda listed: more_runs(listed, True),
    "no ranges": lambda listed: listed.update(runs={"x": 7}),
    "a list": lambda listed: listed.update(runs=[[0, 1]]),
    "a file outside": lambda listed: listed.update(
        tables=["../../s"], files={"../../s.parquet": {"bytes": 0, "sha256": ""}}
    ),
    "tables that are none": lambda listed: listed.update(tables=3),
    "files that are none": lambda listed: listed.update(files={"runs.parquet": 3}),
}


@pytest.mark.parametrize("kind", FORGED)
def test_a_forged_part_is_an_error_and_no_hang(scenario: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    whole = retx.sweep(scenario, out=out)
    (part,) = (out / "parts").iterdir()
    forged = forge(part, FORGED[kind])
    status = retx.sweep_status(out)
    assert len(status.damaged) == 1
    with pytest.raises(StoreError, match="the part is damaged"):
        retx.load_sweep(out)
    assert_frame_equal(retx.sweep(scenario, out=out).flows, whole.flows)
    assert (out / "aside" / forged.name).is_dir()


@pytest.mark.parametrize(
    "change",
    [
        {"replications": 10**400},
        {"replications": "many"},
        {"replications": -1},
        {"points": 5},
        {"points": [{"key": "x", "values": [], "replications": 1.5}]},
        {"keys": [[]]},
        {"cases": [{"name": 1}]},
        {"until": {"x": 1}},
    ],
    ids=str,
)
def test_a_forged_plan_is_an_error_and_no_hang(
    scenario: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    out = tmp_path / "out"
    retx.sweep(scenario, out=out)
    plan = json.loads((out / "sweep.json").read_text())
    (out / "sweep.json").write_text(json.dumps(plan | change))
    command = [sys.executable, "-m", "retx", "sweep", "--status", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "internal error" not in done.stderr
    assert done.returncode in {0, 2}
    (out / "sweep.json").write_text("[" * 100_000)
    with pytest.raises(StoreError, match="is damaged"):
        retx.sweep_status(out)
    retx.sweep(scenario, out=out)


def test_a_file_in_place_of_the_parts_is_refused(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "parts").write_text("mine")
    with pytest.raises(StoreError, match="a file named parts"):
        retx.sweep(scenario, out=out)
    assert (out / "parts").read_text() == "mine"


def test_two_sweeps_into_one_directory_are_refused(tmp_path: Path) -> None:
    scenario, out = tmp_path / "s.toml", tmp_path / "out"
    scenario.write_text(with_bytes(SCENARIO + LONG, 100_000_000))
    first = subprocess.Popen(command(scenario, out), stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(600):
            if (out / "sweep.json").exists():
                break
            time.sleep(0.05)
        second = subprocess.run(command(scenario, out), capture_output=True, text=True, check=False)
        assert second.returncode == 2
        assert f"another sweep (process {first.pid}) is writing there" in second.stderr
        alone = [sys.executable, "-m", "retx", "sweep", "--status", str(out)]
        printed = subprocess.run(alone, capture_output=True, text=True, check=True).stdout
        assert "under way" in printed
        first.send_signal(signal.SIGINT)
        _, errors = first.communicate(timeout=30)
    finally:
        first.kill()
    assert first.returncode == 130
    assert f"runs are in {out}; go on with: retx sweep {scenario} --out {out}\n" in errors
    assert errors.endswith("interrupted\n")
    printed = subprocess.run(alone, capture_output=True, text=True, check=True).stdout
    assert "broken off" in printed


def test_what_an_interrupted_sweep_has_found_is_kept(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    whole = retx.sweep(scenario, out=tmp_path / "whole")
    seen = []

    def stop(fraction: float) -> None:
        seen.append(fraction)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        retx.sweep(scenario, out=out, progress=stop)
    assert 0 < seen[0] <= 1
    assert len(retx.load_sweep(out)) == round(seen[0] * 72)
    assert_frame_equal(retx.sweep(scenario, out=out).flows, whole.flows)


def test_values_and_replications_can_be_added(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    few = {"link.cloud.forward.channel.p": [0.05]}
    retx.sweep(scenario, few, 4, out=out)
    grown = {"link.cloud.forward.channel.p": [0, 0.05]}
    assert len(retx.sweep(scenario, grown, 9, out=out)) == 18
    retx.sweep(scenario, grown, 9, out=tmp_path / "anew")
    assert hashes(out) == hashes(tmp_path / "anew")


def test_the_order_of_values_is_the_order_of_the_files(scenario: Path, tmp_path: Path) -> None:
    for values in ([0, 0.05], [0.05, 0]):
        retx.sweep(scenario, {"link.cloud.forward.channel.p": values}, 4, out=tmp_path / "out")
    retx.sweep(scenario, {"link.cloud.forward.channel.p": values}, 4, out=tmp_path / "anew")
    assert hashes(tmp_path / "out") == hashes(tmp_path / "anew")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"replications": 3}, "runs that are not part of this sweep"),
        ({"seed": 9}, "runs that are not part of this sweep"),
        ({"overrides": {"link.cloud.delay": "6 ms"}}, "runs that are not part of this sweep"),
        ({"tables": ["drops"]}, "keeps other tables"),
        (
            {"until": {"metric": "rto_count", "relative_half_width": 0.1, "max_replications": 99}},
            "has another `until`",
        ),
    ],
)
def test_another_sweep_is_refused(
    scenario: Path, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    out = tmp_path / "out"
    retx.sweep(scenario, out=out)
    before = hashes(out)
    with pytest.raises(StoreError, match=message):
        retx.sweep(scenario, out=out, **change)
    assert hashes(out) == before
    retx.sweep(scenario, out=out, force=True, **change)
    assert hashes(out) != before


def test_another_engine_is_refused(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    retx.sweep(scenario, out=out)
    text = (out / "sweep.json").read_text()
    (out / "sweep.json").write_text(text.replace(retx._native.ENGINE, "0.0.9+abc"))
    with pytest.raises(StoreError, match=r"made by another engine \(0.0.9\+abc; here"):
        retx.sweep(scenario, out=out)


def test_a_directory_of_something_else_is_refused(scenario: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("dear")
    for force in (False, True):
        with pytest.raises(StoreError, match=r"holds thesis.tex, which does not belong to a sweep"):
            retx.sweep(scenario, out=other, force=force)
    with pytest.raises(StoreError, match="is not the directory of a sweep"):
        retx.load_sweep(other)
    with pytest.raises(FileNotFoundError):
        retx.load_sweep(tmp_path / "nothing")
    assert [path.name for path in other.iterdir()] == ["thesis.tex"]


def test_a_damaged_plan_is_written_anew(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    retx.sweep(scenario, out=out)
    before = hashes(out)
    (out / "sweep.json").write_text("{")
    with pytest.raises(StoreError, match="is damaged: run the sweep again"):
        retx.load_sweep(out)
    retx.sweep(scenario, out=out)
    assert hashes(out) == before


def test_a_full_disk_loses_nothing_that_was_written(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    limit = 3000  # bytes of a file: enough for the plan, not for a table

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    full = subprocess.run(
        command(scenario, out), capture_output=True, text=True, check=False, preexec_fn=small,
        env=environment,
    )  # fmt: skip
    assert full.returncode == 2, full.stderr
    assert "File too large" in full.stderr
    assert "go on with: retx sweep" in full.stderr
    assert list((out / "parts").iterdir()) == []
    retx.sweep(scenario, out=out)
    retx.sweep(scenario, out=tmp_path / "whole")
    assert hashes(out) == hashes(tmp_path / "whole")


def test_precision_is_taken_up_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    until = {"metric": "goodput_bit_s", "relative_half_width": 0.1, "max_replications": 80}
    grid = {"link.cloud.forward.channel.p": [0.01, 0.05]}
    retx.sweep(SCENARIO, grid, until=until, out=tmp_path / "whole")
    monkeypatch.setattr(running, "TICK_S", 0.002)  # some runs end in that time
    out = tmp_path / "out"
    calls = 0

    def stop(_: float) -> None:
        nonlocal calls
        calls += 1
        if calls % 2 == 0:
            raise Killed

    for _ in range(200):
        try:
            retx.sweep(SCENARIO, grid, until=until, out=out, progress=stop)
            break
        except Killed:
            pass
    assert calls > 2
    assert hashes(out) == hashes(tmp_path / "whole")


def test_a_copy_elsewhere_is_the_same_sweep(scenario: Path, tmp_path: Path) -> None:
    retx.sweep(scenario, out=tmp_path / "out")
    shutil.copytree(tmp_path / "out", tmp_path / "copy")
    assert_frame_equal(
        retx.load_sweep(tmp_path / "copy").flows, retx.load_sweep(tmp_path / "out").flows
    )
