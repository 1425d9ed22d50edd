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


@pytest.mark.parametrize("links", [2, 5, 20])
def test_delays_of_a_century_on_each_link(links: int) -> None:
    """The sum of these delays over a path overflowed."""
    ways = [
        {"name": f"{n}", "ends": [f"n{n}", f"n{n + 1}"], "delay": "4e9 s"} for n in range(links)
    ]
    ways[0]["rate"] = "1 bit/s"
    flow = {"name": "f", "from": "n0", "to": f"n{links}", "tcp": "linux", "app": "bulk"}
    found = retx.run({"duration": "1 s", "link": ways, "flow": [flow]})
    assert found.flows["segments_sent"].to_list() == [0]


def test_transmission_times_of_millennia() -> None:
    """The sum of these times, the busy time of the link, overflowed: each packet takes 12 days."""
    link = {
        "name": "way",
        "ends": ["a", "b"],
        "rate": "1 bit/s",
        "delay": "1 ms",
        "overhead": 65_535,
        "mtu": 65_535,
        "queue": {"discipline": "droptail", "packets": 1_000_000},
    }
    flow = {"name": "f", "from": "a", "to": "b", "app": "cbr"}
    udp = {"packet": 60_000, "rate": "1 Tbit/s"}
    found = retx.run({"duration": "0.01 s", "link": [link], "flow": [flow | {"udp": udp}]})
    assert found.links["packets_in"][0] * (60_000 + 65_535) * 8 > 2**64 / 1e9
    assert found.links["utilisation"][0] == 1.0


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
