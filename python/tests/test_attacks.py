"""Scenarios that nobody wrote end in a run, in a sentence or at their time (tools/attacks.py)."""

import subprocess
import sys
from pathlib import Path

import pytest

import retx

TOOL = Path(__file__).parents[2] / "tools" / "attacks.py"


@pytest.mark.parametrize("kind", ["extremes", "mutants"])
def test_no_attack_succeeds(kind: str) -> None:
    command = [sys.executable, TOOL, kind, "--count", "150", "--seed", "7", "--limit", "0.05"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " ran" in done.stdout


def test_a_minimum_rto_below_the_resolution_of_the_timers() -> None:
    """Found by the attack: an RTO of nothing, by which the pause before a restart was divided."""
    scenario = """
duration = "20 s"
[tcp.mine]
like = "linux"
loss_detection = "timeout_only"
min_rto = "2 ns"
rtt_granularity = "0.319 s"
[[link]]
name = "wire"
ends = ["a", "b"]
rate = "2 Mbit/s"
delay = "10 ms"
[[flow]]
name = "ftp"
from = "a"
to = "b"
tcp = "mine"
app = { kind = "transfer", bytes = 300_000 }
"""
    assert retx.run(scenario).flows["bytes_delivered"].to_list() == [300_000]
