"""Locks that cannot be written are named, and no empty one is left."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import LOSSY

from retx.files.directory import writing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")

NO_ROOM = (
    "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"
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
