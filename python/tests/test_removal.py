"""retx removes only what it wrote; `docs/what-retx-removes.md` lists every place."""

from __future__ import annotations

import ast
import fcntl
import re
import subprocess
import sys
from pathlib import Path

import pytest
from small_study import write_study

from retx.errors import UsageError
from retx.files.directory import new_directory, new_file
from retx.files.removal import foreign_in, move_aside, remove_own
from retx.study import Plan, load, reproduce
from retx.study.searches import Search
from retx.tuning.store import LOCK_CONTENT, locked

ROOT = Path(__file__).parents[2]

REMOVING = {"unlink", "rmdir", "rmtree", "remove", "removedirs"}
"""Functions that remove files."""
PLACES = {
    "cli/drawing.py": 1,  # a figure that could not be drawn: its own temporary file
    "cli/opened.py": 1,  # a file of an answer that could not be written: its own temporary file
    # Temporary files and folders of this process, parents that it made; on Windows an empty target.
    "files/directory.py": 4,
    "files/leftovers.py": 1,
    "files/removal.py": 2,
    "study/place.py": 2,  # the page of an earlier report; the empty folder of a new one
    "study/searches.py": 1,
    "sweeps/status.py": 1,  # an empty folder for parts
    "tuning/store.py": 2,  # its own lock: when done, and when a full disk keeps it empty
}
"""Number of calls of one of them in each file of the package."""


def test_every_place_that_removes_files_is_known() -> None:
    """A new place needs a guard, a test, and a row in the documentation."""
    found = {}
    for path in sorted((ROOT / "python" / "retx").rglob("*.py")):
        tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        calls = [node.func for node in tree if isinstance(node, ast.Call)]
        names = [func.attr for func in calls if isinstance(func, ast.Attribute)]
        count = sum(name in REMOVING for name in names)
        if count:
            found[path.relative_to(ROOT / "python" / "retx").as_posix()] = count
    assert found == PLACES


def test_the_tests_that_the_documentation_names_exist() -> None:
    page = (ROOT / "docs" / "what-retx-removes.md").read_text(encoding="utf-8")
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("*.py"))
    named = re.findall(r"`(test_\w+)`", page)
    assert len(named) >= 12
    assert [name for name in named if f"def {name}(" not in tests] == []


def test_links_and_foreign_files_stay(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "folder", tmp_path / "elsewhere"
    (folder / "a").mkdir(parents=True)
    (folder / "mine").mkdir()
    elsewhere.mkdir()
    (elsewhere / "own").write_text("behind a link")
    (folder / "own").write_text("retx")
    (folder / "a" / "own").write_text("retx")
    (folder / "link").symlink_to(elsewhere)
    assert foreign_in(folder, lambda name: name.name == "own") == "link"
    assert not remove_own(folder, lambda name: name.name == "own")
    assert sorted(path.name for path in folder.iterdir()) == ["link", "mine"]
    assert (elsewhere / "own").exists()
    assert not remove_own(folder / "link", lambda _: True)
    assert (elsewhere / "own").exists()


def test_what_is_moved_aside_takes_a_free_name(tmp_path: Path) -> None:
    for _ in range(3):
        (tmp_path / "x").mkdir()
        move_aside(tmp_path / "x", tmp_path / "aside")
    assert sorted(path.name for path in (tmp_path / "aside").iterdir()) == ["x", "x.2", "x.3"]


def test_left_behind_files_go_and_held_ones_stay(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from retx.files.directory import new_directory, new_file\n"
        "with new_directory(Path('out')) as out, new_file(Path('a.png')) as file:\n"
        "    (out / 'flows.parquet').write_text('half'); file.write_text('half')\n"
        "    (out / 'user_code').mkdir()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
        # The second process has removed what the first one left.
        assert len(list(tmp_path.iterdir())) == 2
    mine = [".out.notes.partial", ".a.12345678.partial.svg", ".out.abcdefgh.partial"]
    (tmp_path / mine[0]).mkdir()
    (tmp_path / mine[1]).write_text("another suffix")
    (tmp_path / mine[2]).mkdir()
    (tmp_path / mine[2] / "thesis.tex").write_text("years of work")
    held = tmp_path / ".a.abcdefgh.partial.png"
    with held.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with new_directory(tmp_path / "out"), new_file(tmp_path / "a.png"):
            pass
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted([*mine, held.name, "out", "a.png"])
    assert (tmp_path / mine[2] / "thesis.tex").exists()


@pytest.mark.parametrize("foreign", ["tables/mine.csv.bak", "scenarios/mine/s.toml", "notes.txt"])
def test_a_report_replaces_only_reports(tmp_path: Path, foreign: str) -> None:
    study, out = load(str(write_study(tmp_path / "small"))), tmp_path / "out"
    plan = Plan("quick", replications=2)
    reproduce(study, plan, out)
    reproduce(study, plan, out)
    file = out / foreign
    file.parent.mkdir(exist_ok=True)
    file.write_text("mine")
    with pytest.raises(FileExistsError, match="which retx did not write"):
        reproduce(study, plan, out)
    assert file.read_text() == "mine"
    assert (out / "report.html").exists()


def test_a_search_removes_only_its_own_earlier_files(tmp_path: Path) -> None:
    folder, out = write_study(tmp_path / "small"), tmp_path / "searches"
    out.mkdir()
    search = Search("best", "The best", "s.toml", vary={}, trials={}, replications=1)
    earlier = f"best-{'0' * 16}.db"
    mine = ["best-of-all.txt", "best-notes.db", f"best-{'0' * 16}.db.bak"]
    for name in (earlier, f"{earlier}-journal", *mine):
        (out / name).write_text("mine")
    search._file(folder, 1, out)
    assert sorted(path.name for path in out.iterdir()) == sorted(mine)


def test_a_foreign_lock_file_is_refused_and_stays(tmp_path: Path) -> None:
    lock = tmp_path / "t.db.lock"
    lock.write_text("mine")
    with pytest.raises(UsageError, match="retx did not write it"), locked(tmp_path / "t.db"):
        pass
    assert lock.read_text() == "mine"
    lock.write_bytes(b"")
    with locked(tmp_path / "t.db"):
        pass
    assert lock.exists()
    lock.write_bytes(LOCK_CONTENT)
    with locked(tmp_path / "t.db"):
        pass
    assert not lock.exists()
