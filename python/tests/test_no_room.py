"""Files that cannot be written are named, none is left half-written, and no answer is lost."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import LOSSY

import retx
from retx.files.directory import writing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")

NO_ROOM = (
    "import resource, sys; sys.dont_write_bytecode = True;"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"
    "from retx.cli.entry import main; sys.exit(main())"
)


def test_a_full_disk_is_told_although_polars_does_not(tmp_path: Path, monkeypatch) -> None:
    lost = type("ComputeError", (Exception,), {"__module__": "polars.exceptions"})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    with pytest.raises(OSError, match="No space left on device"), writing(tmp_path / "a.parquet"):
        raise lost("parquet: transport error")


@pytest.mark.parametrize(
    ("words", "lock"),
    [
        (["sweep", "lossy.toml", "--vary", "seed=1,2", "--out", "swept"], "swept/lock"),
        (
            [
                "tune",
                "lossy.toml",
                "--vary",
                "seed=1..9",
                "--maximise",
                "goodput",
                "--trials",
                "1",
                "--storage",
                "t.db",
            ],
            "t.db.lock",
        ),
    ],
)
def test_a_full_disk_is_told_with_the_lock(tmp_path: Path, words: list[str], lock: str) -> None:
    if words[0] == "tune":
        pytest.importorskip("optuna")
    (tmp_path / "lossy.toml").write_text(LOSSY)
    done = subprocess.run(
        [sys.executable, "-c", NO_ROOM, *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.endswith(f"{lock}: File too large\n")
    assert not (tmp_path / "t.db.lock").exists()


@pytest.fixture
def on_a_full_disk(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs retx where no file can be written, and returns what it says."""
    (tmp_path / "lossy.toml").write_text(LOSSY)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", NO_ROOM, *words], cwd=tmp_path, capture_output=True, text=True
        )

    return run


def test_answers_are_printed_although_their_files_cannot_be_written(
    tmp_path: Path, on_a_full_disk
) -> None:
    retx.run(tmp_path / "lossy.toml", pcap=tmp_path / "flow.pcapng")
    for words, files, answer in (
        (["run", "lossy.toml", "--pcap", "a.pcapng"], ["a.pcapng"], "goodput"),
        (
            ["why", "lossy.toml", "--budget", "1 s", "--html", "a.html", "--plot", "why=a.png"],
            ["a.html", "a.png"],
            "limited",
        ),
        (
            ["diagnose", "flow.pcapng", "--html", "a.html", "--plot", "rtt=a.png", "--out", "d"],
            ["d/diagnosis.json", "a.html", "a.png"],
            "limited",
        ),
    ):
        before = set(tmp_path.iterdir())
        done = on_a_full_disk(*words)
        assert done.returncode == 2
        assert answer in done.stdout
        assert all(f"{file}: File too large" in done.stderr for file in files), done.stderr
        assert done.stderr.startswith("error: ")
        assert set(tmp_path.iterdir()) == before


def test_a_place_that_does_not_exist_is_refused_before_the_work(tmp_path: Path, cli) -> None:
    (tmp_path / "lossy.toml").write_text(LOSSY)
    retx.run(tmp_path / "lossy.toml", pcap=tmp_path / "flow.pcapng")
    for words in (
        ["why", tmp_path / "lossy.toml", "--html", "no/a.html"],
        ["diagnose", tmp_path / "flow.pcapng", "--html", "no/a.html"],
    ):
        done = cli(*words)
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.endswith("no/a.html: No such file or directory\n")
