"""Scenarios and functions that tests of sweeps share."""

from __future__ import annotations

import hashlib
from pathlib import Path

import retx

SCENARIO = """\
title = "A short download at several loss rates"
duration = "300 s"
seed = 5

[[link]]
name = "cloud"
ends = ["server", "client"]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { discipline = "droptail", packets = 20 }
forward.channel = { model = "bernoulli", p = 0.01 }

[[flow]]
name = "download"
from = "server"
to = "client"
tcp = "reno"
app = { kind = "transfer", bytes = 100_000 }
"""

SWEEP = """
[sweep]
replications = 12
"link.cloud.forward.channel.p" = [0, 0.01, 0.05]
"flow.download.tcp" = ["reno", "cubic"]
"""

LONG = """
[sweep]
replications = 150
"link.cloud.forward.channel.p" = [0, 0.01, 0.05]
"flow.download.tcp" = ["reno", "cubic"]
"""
"""Scenario whose run takes some seconds; `with_bytes` sets how long."""


def with_bytes(text: str, count: int) -> str:
    return text.replace("bytes = 100_000", f"bytes = {count}")


def hashes(directory: Path) -> dict[str, str]:
    """Hash of every file of a sweep, except its lock and files moved aside."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != "lock" and "aside" not in path.parts
    }


class Timid(retx.CongestionControl):
    def on_ack(self, window: retx.Window, ack: retx.Ack) -> None:
        window.cwnd = 2 * window.smss

    def on_loss(self, window: retx.Window, loss: retx.Loss) -> None:
        window.cwnd = window.smss

    def on_timeout(self, window: retx.Window, loss: retx.Loss, repeated: bool) -> None:
        window.cwnd = window.smss
