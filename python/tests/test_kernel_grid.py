"""tools/kernel_grid.py judges simulations by stored figures of the kernel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from emulating import need_emulation

import retx

TOOL = Path(__file__).parents[2] / "tools" / "kernel_grid.py"
PATH = """\
duration = "20 s"
seed = 3

[[link]]
name = "path"
ends = ["server", "client"]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { discipline = "droptail", packets = 50 }
forward.channel = { model = "bernoulli", p = 0.01 }

[[flow]]
name = "download"
from = "server"
to = "client"
tcp = "linux"
app = { kind = "transfer", bytes = 400_000 }
"""
HEAD = "scenario,preset,flow,metric,emulated,low,high,emulations\n"


def judge(
    directory: Path, rows: list[tuple[str, float, float]], *options: str
) -> subprocess.CompletedProcess[str]:
    """Rows are metric, mean and half an interval of five emulations."""
    (directory / "01-path.toml").write_text(PATH)
    lines = [
        f"01-path,linux_reno,download,{metric},{mean},{mean - half},{mean + half},5\n"
        for metric, mean, half in rows
    ]
    (directory / "emulated.csv").write_text(HEAD + "".join(lines))
    return subprocess.run(
        [sys.executable, TOOL, directory, "--simulations", "10", *options],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def response_s() -> float:
    runs = retx.replicate(PATH, 10, overrides={"flow.download.tcp": "linux_reno"})
    return sum(it.summary["flows"][0]["response_time_s"] for it in runs) / 10


def test_each_way_to_agree_is_named(tmp_path: Path, response_s: float) -> None:
    rows = [
        ("response", 1.2 * response_s, 0.3 * response_s),
        ("response", 1.02 * response_s, 1e-9),
        ("goodput", 100.0, 1.0),
        ("rto", 7.0, 1.0),
    ]
    done = judge(tmp_path, rows, "--all")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[4] for line in lines[:4]] == ["inside", "3", "DIFFERS", "DIFFERS"]
    assert "does not decide" in lines[3]
    assert lines[4].startswith("2 of 3 figures agree")
    assert lines[4].endswith("0 of 1 conditions in all of them")


def test_exit_codes(tmp_path: Path, response_s: float) -> None:
    rows = [("response", response_s, 0.01 * response_s), ("rto", 7.0, 1.0)]
    assert judge(tmp_path, rows).returncode == 0
    assert judge(tmp_path, rows, "02").returncode == 2
    assert judge(tmp_path, [("response", 2 * response_s, 0.01)], "01").returncode == 1


def test_pairs_decide_where_stored_figures_differ(tmp_path: Path, response_s: float) -> None:
    need_emulation()
    done = judge(tmp_path, [("response", 2 * response_s, 0.01)], "--emulate", "3")
    assert "same draws: " in done.stdout, done.stderr
    verdict = done.stdout.splitlines()[0].split()[4]
    assert (verdict, done.returncode) in (("pairs", 0), ("DIFFERS", 1))
