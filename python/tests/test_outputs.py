"""What the command line writes, and what it never writes over."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from conftest import Cli
from test_bad_input import refused

FOREIGN = {
    "pictures": {"holiday.png": "photo", "thesis.pdf": "thesis", "measured.parquet": "data"},
    "code": {"user_code/mine.py": "x = 1"},
    "a summary": {"summary.json": '{"scenario": 1, "version": 2, "results": []}'},
    "no JSON": {"summary.json": "all is well"},
    "a scenario": {"scenario.toml": "duration = '1 s'"},
}


@pytest.mark.parametrize("name", FOREIGN)
def test_force_replaces_nothing_that_is_not_of_retx(
    name: str, cli: Cli, lossy: Path, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    for file, content in FOREIGN[name].items():
        (there / file).parent.mkdir(parents=True, exist_ok=True)
        (there / file).write_text(content)
    refused(cli("run", lossy, "--out", there, "--force"), "there", "is not replaced")
    for file, content in FOREIGN[name].items():
        assert (there / file).read_text() == content


def test_force_replaces_a_result_but_none_with_files_of_others(
    cli: Cli, lossy: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert cli("run", lossy, "--out", out, "--plot", "cwnd").returncode == 0
    assert cli("run", lossy, "--out", out, "--force", "--replications", "2").returncode == 0
    assert len(json.loads((out / "summary.json").read_text())["runs"]) == 2
    assert cli("run", lossy, "--out", out, "--force").returncode == 0
    for foreign in ("notes.txt", "holiday.png", "mine.parquet", "user_code/mine.py"):
        (out / foreign).parent.mkdir(exist_ok=True)
        (out / foreign).write_text("mine")
        refused(cli("run", lossy, "--out", out, "--force"), foreign)
        assert (out / foreign).read_text() == "mine"
        (out / foreign).unlink()
    shutil.rmtree(out / "user_code")
    assert cli("run", lossy, "--out", out, "--force").returncode == 0
