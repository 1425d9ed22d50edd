"""Directories with files of somebody else, or of somebody who means harm (`test_removal` too).

A name is no proof that retx wrote a file: `scenario.toml` and `tables/` are names that users take.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import LOSSY
from small_study import write_study

import retx
from retx.comparing import grid
from retx.errors import UsageError
from retx.files.directory import new_directory, new_file
from retx.files.regular import read_regular
from retx.fitting.fit import Fit, fit
from retx.study import Plan, load, place, reproduce
from retx.sweeps.place import StoreError
from retx.tuning.store import locked

GRID = {"link.cloud.forward.channel.p": [0.01, 0.02]}
MINE = "years of work"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the results of a sweep and of a run."""
    home = tmp_path_factory.mktemp("made")
    (home / "s.toml").write_text(LOSSY)
    command(home, "sweep", "s.toml", "--vary", f"{next(iter(GRID))}=0.01,0.02", "--out", "sweep")
    retx.run(LOSSY, out=home / "run")
    return home


def command(home: Path, *words: str) -> str:
    """Output of the command line, which must end within a minute."""
    done = subprocess.run(
        [sys.executable, "-m", "retx", *words],
        cwd=home, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert "internal error" not in done.stderr
    return done.stdout + done.stderr


def again(home: Path) -> str:
    """The sweep goes on in `sweep`."""
    vary = f"{next(iter(GRID))}=0.01,0.02"
    return command(home, "sweep", "s.toml", "--vary", vary, "--out", "sweep")


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "home")


OF_SWEEP = ["sweep.json", "scenario.toml", "lock", "tables/flows.parquet"]


@pytest.mark.parametrize("name", OF_SWEEP)
def test_a_sweep_writes_to_no_file_behind_a_link(home: Path, name: str) -> None:
    mine, link = home / "mine", home / "sweep" / name
    mine.write_text(MINE)
    link.unlink()
    link.symlink_to(mine)
    assert "is a link" in again(home)
    assert "is a link" in command(home, "sweep", "s.toml", "--out", "sweep", "--force")
    assert mine.read_text() == MINE
    assert link.is_symlink()


@pytest.mark.parametrize("name", ["scenario.toml", "sweep.json", "tables/flows.parquet", "lock"])
def test_names_alone_are_no_sweep(tmp_path: Path, name: str) -> None:
    file = tmp_path / "out" / name
    file.parent.mkdir(parents=True)
    file.write_text(MINE)
    for force in (False, True):
        with pytest.raises(StoreError, match="does not belong to a sweep"):
            retx.sweep(LOSSY, GRID, 1, out=tmp_path / "out", force=force)
    assert file.read_text() == MINE


@pytest.mark.parametrize("name", [*OF_SWEEP[:3], "parts/*/part.json", "parts/*/flows.parquet"])
@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_a_sweep_with_a_fifo_or_a_device_ends(home: Path, name: str, kind: str) -> None:
    (file,) = (home / "sweep").glob(name)
    file.unlink()
    os.mkfifo(file) if kind == "fifo" else file.symlink_to("/dev/zero")
    said = [again(home), command(home, "plot", "sweep", "metric", "--metric", "goodput")]
    assert (
        "is not a regular file" in "".join(said) or "is a link" in said[0] or "damaged" in said[0]
    )


@pytest.mark.parametrize("name", ["summary.json", "scenario.toml", "flows.parquet"])
def test_a_result_with_a_fifo_ends(home: Path, name: str) -> None:
    (home / "run" / name).unlink()
    os.mkfifo(home / "run" / name)
    command(home, "plot", "run", "cwnd")
    assert "is not replaced" in command(home, "run", "s.toml", "--out", "run", "--force")
    assert (home / "run" / name).is_fifo()


def test_a_fifo_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    signal.alarm(20)
    try:
        for path in (tmp_path / "fifo", Path("/dev/zero"), tmp_path):
            with pytest.raises(OSError, match="is not a regular file"):
                read_regular(path)
    finally:
        signal.alarm(0)


def test_a_link_in_a_result_is_foreign(home: Path) -> None:
    mine, link = home / "mine", home / "run" / "flows.parquet"
    mine.write_text(MINE)
    link.unlink()
    link.symlink_to(mine)
    with pytest.raises(FileExistsError, match=r"it holds flows\.parquet, which retx did not"):
        retx.run(LOSSY, out=home / "run", force=True)
    assert link.is_symlink()


@pytest.mark.parametrize(
    "name", ["report.html", "summary.json", "tables/mine.csv", "scenarios/mine.toml"]
)
def test_names_alone_are_no_report(tmp_path: Path, name: str) -> None:
    study, out = load(str(write_study(tmp_path / "small"))), tmp_path / "out"
    (out / name).parent.mkdir(parents=True)
    (out / name).write_text('{"study": 1}' if name == "summary.json" else MINE)
    before = (out / name).read_text()
    with pytest.raises(FileExistsError, match="which retx did not write"):
        reproduce(study, Plan("quick", replications=2), out)
    assert (out / name).read_text() == before


def write_report(folder: Path, table: str) -> None:
    """A report with one table, by the functions of studies."""
    place.check_ours(folder)
    with place.report_directory(folder) as directory:
        for name in (f"tables/{table}.csv", "scenarios/s.toml", "report.html"):
            (directory / name).parent.mkdir(exist_ok=True)
            (directory / name).write_text(table)
        files = [f"tables/{table}.csv", "scenarios/s.toml"]
        summary = dict.fromkeys(place.OF_SUMMARY) | {"files": files}
        (directory / "summary.json").write_text(json.dumps(summary))


@pytest.mark.parametrize("name", ["tables/mine.csv", "scenarios/mine.toml", ".new/tables/b.csv"])
def test_a_report_replaces_only_what_it_has_listed(tmp_path: Path, name: str) -> None:
    write_report(tmp_path, "a")
    (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
    (tmp_path / name).write_text(MINE)
    if name.startswith(".new"):  # of a report, it seems
        write_report(tmp_path, "b")
    else:
        with pytest.raises(FileExistsError, match=f"it holds {name}"):
            write_report(tmp_path, "b")
        assert (tmp_path / name).read_text() == MINE


class Killed(BaseException):
    """End of a process."""


@pytest.mark.parametrize("moment", range(24))
@pytest.mark.parametrize("is_first", [True, False])
def test_a_report_that_was_killed_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int, is_first: bool
) -> None:
    """Killed at each change of the directory; the tables have other names each time."""
    if not is_first:
        write_report(tmp_path, "a")
    count = 0

    def counted(function: Callable[..., object]) -> Callable[..., object]:
        def called(*arguments: object, **options: object) -> object:
            nonlocal count
            if count == moment:
                raise Killed
            count += 1
            return function(*arguments, **options)

        return called

    with monkeypatch.context() as patch:
        for name in ("mkdir", "write_text", "rename", "unlink", "rmdir"):
            patch.setattr(Path, name, counted(getattr(Path, name)))
        with suppress(Killed):
            write_report(tmp_path, "b")
    page = tmp_path / "report.html"
    if page.exists():
        table = page.read_text()
        assert [path.name for path in (tmp_path / "tables").iterdir()] == [f"{table}.csv"]
    write_report(tmp_path, "c")
    files = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert files == ["c.csv", "report.html", "s.toml", "summary.json"]
    assert {path.name for path in tmp_path.iterdir()} == {
        "report.html", "scenarios", "summary.json", "tables"
    }  # fmt: skip


def fitted(folder: Path) -> Fit:
    """A fit with a table beside the scenario."""
    file = folder / "packets.csv"
    rows = [f"{number / 100},{number % 7 == 0:d},0.02" for number in range(4000)]
    file.write_text("\n".join(["time_s,lost,delay_s", *rows]))
    return fit(trace=file)


def test_a_fit_replaces_no_table_but_its_own(tmp_path: Path) -> None:
    found, table = fitted(tmp_path), tmp_path / "path.trace.csv"
    table.write_text(MINE)
    for scenario in (None, 'channel = { model = "trace", file = "path.trace.csv" }'):
        if scenario:
            (tmp_path / "path.toml").write_text(scenario)
        with pytest.raises(FileExistsError, match="is not replaced"):
            found.save(tmp_path / "path.toml", replay=True)
        assert table.read_text() == MINE
    table.unlink()
    found.save(tmp_path / "path.toml", replay=True)
    table.write_text("old")
    found.save(tmp_path / "path.toml", replay=True)
    assert table.read_text() != "old"


def test_a_tuning_takes_no_lock_behind_a_link(tmp_path: Path) -> None:
    lock, mine = tmp_path / "t.db.lock", tmp_path / "mine"
    for exists in (False, True):
        if exists:
            mine.write_bytes(b"")
        lock.unlink(missing_ok=True)
        lock.symlink_to(mine)
        with pytest.raises(UsageError, match="retx did not write it"), locked(tmp_path / "t.db"):
            pass
        assert lock.is_symlink()
        assert mine.exists() == exists
    lock.unlink()
    os.mkfifo(lock)
    with pytest.raises(OSError, match="is not a regular file"), locked(tmp_path / "t.db"):
        pass


def test_a_tuning_that_fails_leaves_no_lock(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(tmp_path / "t.db"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_a_tuning_adds_no_tables_to_another_database(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    file = tmp_path / "mine.db"
    with sqlite3.connect(file) as database:
        database.execute("create table diary(entry)")
    before = file.read_bytes()
    vary = {"link.cloud.delay": retx.Range(5, 20, "ms")}
    with pytest.raises(UsageError, match="a database of another program, with the table diary"):
        retx.tune(LOSSY, vary, maximise=["goodput"], trials=1, storage=file)
    assert file.read_bytes() == before


def test_a_grid_is_written_into_no_other_directory(tmp_path: Path) -> None:
    (tmp_path / "condition-0000.json").write_text(MINE)
    with pytest.raises(FileExistsError, match="is not empty, and holds no"), grid._kept(tmp_path):
        pass
    assert (tmp_path / "condition-0000.json").read_text() == MINE


def test_a_fifo_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(LOSSY)
    target = tmp_path / "f.csv"
    os.mkfifo(target)
    words = [sys.executable, "-m", "retx", "run", "s.toml", "--csv", "f.csv"]
    run = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL)
    assert target.read_text().startswith("name,")
    assert run.wait(60) == 0
    assert target.is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.csv", "s.toml"]


def test_a_device_is_written_to_and_not_replaced() -> None:
    """A terminal, as root could replace the null device for every program of the machine."""
    end, terminal = os.openpty()
    try:
        with new_file(Path(os.ttyname(terminal))) as file:
            file.write_text("shown")
        assert os.read(end, 100) == b"shown"
    finally:
        os.close(terminal)
        os.close(end)


def test_an_own_directory_is_replaced_whole(tmp_path: Path) -> None:
    """The guards above refuse nothing that retx has written."""
    for _ in range(2):
        retx.sweep(LOSSY, GRID, 1, out=tmp_path / "sweep")
        retx.sweep(LOSSY, GRID, 1, out=tmp_path / "sweep", force=True)
        retx.run(LOSSY, out=tmp_path / "run", force=True)
    with new_directory(tmp_path / "run", replace=True) as directory:
        (directory / "summary.json").write_text("{}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "sweep"]
