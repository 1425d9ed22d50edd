"""Scenarios that nobody wrote end in a run, in a sentence or at their time (tools/attacks.py)."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "attacks.py"


@pytest.mark.parametrize("kind", ["extremes", "mutants"])
def test_no_attack_succeeds(kind: str) -> None:
    command = [sys.executable, TOOL, kind, "--count", "150", "--seed", "7", "--limit", "0.05"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " ran" in done.stdout
