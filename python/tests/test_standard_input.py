"""Inputs from a pipe, and names that are long or not UTF-8."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LOSSY

import retx

LONG = "y" * 245


def retx_of(words: list[object], where: Path, given: bytes = b"") -> tuple[str, str]:
    """Output and errors of a command."""
    command = [sys.executable, "-m", "retx", *(os.fspath(word) for word in words)]
    done = subprocess.run(command, input=given, cwd=where, capture_output=True, check=False)
    assert done.returncode == 0, done
    return done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def capture(tmp_path: Path) -> bytes:
    retx.run(LOSSY, pcap=tmp_path / "of.pcapng")
    return (tmp_path / "of.pcapng").read_bytes()


def test_a_scenario_comes_through_a_pipe(tmp_path: Path) -> None:
    """Files that the scenario names are searched in the current directory."""
    retx_of(["run", "-", "--out", "a"], tmp_path, LOSSY.encode())
    assert retx.load(tmp_path / "a").flows.equals(retx.run(LOSSY).flows)
    retx_of(["sweep", "-", "--vary", "seed=1,2", "--replications", "1"], tmp_path, LOSSY.encode())
    assert len(retx.load(tmp_path / "out" / "stdin-sweep")) == 2
    done = subprocess.run(
        [sys.executable, "-m", "retx", "run", "-"], input=b"x = 1", capture_output=True, check=False
    )
    assert done.stderr.startswith(b"error: standard input:1: x: unknown key")


def test_a_capture_comes_through_a_pipe(tmp_path: Path, capture: bytes) -> None:
    said, _ = retx_of(["diagnose", "-", "--html", "page.html"], tmp_path, capture)
    assert said.startswith("-: ")
    assert "From -, " in (tmp_path / "page.html").read_text()
    retx_of(["fit", "-", "-o", "fit.toml"], tmp_path, capture)
    assert "of '-'" in (tmp_path / "fit.toml").read_text()
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with subprocess.Popen(["sh", "-c", "cat of.pcapng > fifo"], cwd=tmp_path):
        assert len(retx.diagnose(fifo).flows) == 1


@pytest.mark.parametrize("command", ["diagnose", "fit"])
def test_errors_name_the_standard_input_and_not_its_copy(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "retx", command, "-"], input=b"", capture_output=True, check=False
    )
    assert done.stderr.startswith(b"error: standard input: the file is empty"), done.stderr


def test_names_of_inputs_may_be_any_bytes(tmp_path: Path, capture: bytes) -> None:
    scenario, file = (os.fsdecode(name) for name in (b"caf\xe9.toml", b"caf\xe9.pcapng"))
    (tmp_path / scenario).write_text(LOSSY)
    (tmp_path / file).write_bytes(capture)
    retx_of(["run", scenario], tmp_path)
    said, _ = retx_of(["diagnose", file], tmp_path)
    assert said.startswith("caf\\xe9.pcapng: ")
    retx_of(["fit", file, "-o", "fit.toml"], tmp_path)
    (tmp_path / scenario).write_text("x = 1")
    done = subprocess.run(
        [sys.executable, "-m", "retx", "run", scenario],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.stderr.startswith(b"error: caf\\xe9.toml:1: x: unknown key")


def test_names_of_outputs_may_be_long(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(LOSSY)
    written = (["--csv", f"{LONG}.csv"], ["--pcap", f"{LONG}.pcapng"], ["--out", LONG])
    for words in (*written, ["--out", LONG, "--force"]):
        retx_of(["run", "s.toml", *words], tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "s.toml", LONG, f"{LONG}.csv", f"{LONG}.pcapng"
    }  # fmt: skip
