"""Tests of macOS and Windows, simulated: their `sys.platform`, and no module that they lack."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import retx

SIMULATED = """\
import os, sys, types
import asyncio, ctypes, multiprocessing, polars, rich.console, subprocess, tempfile, typer.testing
sys.platform = {platform!r}
from retx import _native
for name in ("emulate", "emulate_calibrate", "emulate_clean", "emulate_worker"):
    delattr(_native, name)  # as in an extension that was built there
if sys.platform == "win32":
    sys.modules["fcntl"] = None
    sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, LK_UNLCK=0, locking=lambda *_: None)
from retx.cli import main
sys.argv = ["retx", *{arguments!r}]
main()
"""


def elsewhere(platform: str, where: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SIMULATED.format(platform=platform, arguments=arguments)],
        cwd=where,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_a_sweep_runs_and_is_kept(platform: str, lossy: Path) -> None:
    words = ["sweep", lossy.name, "--replications", "2", "--out", "sweep", "--json"]
    done = elsewhere(platform, lossy.parent, *words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    assert retx.load_sweep(lossy.parent / "sweep").flows.height == 2


@pytest.mark.parametrize(
    "words", [["emulate", "lossy.toml"], ["compare", "lossy.toml"], ["emulate", "--calibrate"]]
)
def test_an_emulation_is_refused_in_one_sentence(words: list[str], lossy: Path) -> None:
    done = elsewhere("darwin", lossy.parent, *words)
    assert done.returncode == 2
    assert "emulation needs Linux" in done.stderr
    assert "Traceback" not in done.stderr
