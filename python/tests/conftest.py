"""What the tests share: a small scenario, and the command line as a user has it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

LOSSY = """\
title = "A short download over a noisy channel"
duration = "100 s"
seed = 7
sample_interval = "every_ack"

[[link]]
name = "cloud"
ends = ["server", "client"]
rate = "10 Mbit/s"
delay = "20 ms"
queue = { discipline = "droptail", packets = 20 }
forward.channel = { model = "bernoulli", p = 0.02 }

[[flow]]
name = "download"
from = "server"
to = "client"
tcp = "newreno"
app = { kind = "transfer", bytes = 500_000 }
"""

ENDLESS = """\
duration = "1000000 s"
stop = "duration"

[[link]]
name = "wire"
ends = ["a", "b"]
rate = "10 Gbit/s"
delay = "1 ms"

[[flow]]
name = "flood"
from = "a"
to = "b"
tcp = "reno"
app = { kind = "bulk" }
"""
"""Hours of work: for tests that stop it."""

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    path = tmp_path / "lossy.toml"
    path.write_text(LOSSY)
    return path


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Runs `retx` in an empty directory."""
    where = tmp_path / "cwd"
    where.mkdir()

    def call(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "retx", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **{"cwd": where, **options},  # type: ignore[call-overload]
        )

    return call
