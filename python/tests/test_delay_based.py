"""Congestion controls of Linux that give way to a rising delay, beside Reno."""

from __future__ import annotations

import pytest

import retx

SCENARIO = """
duration = "40 s"
warmup = "10 s"
stop = "duration"

[tcp.one]
like = "linux"

[tcp.other]
like = "linux"
congestion_control = "reno"

[[link]]
name = "net"
ends = ["a", "b"]
rate = "20 Mbit/s"
delay = "20 ms"
queue = { discipline = "droptail", packets = 300 }

[[flow]]
name = "first"
from = "a"
to = "b"
tcp = "one"
app = "bulk"
"""
BESIDE = """
[[flow]]
name = "second"
from = "a"
to = "b"
tcp = "other"
app = "bulk"
"""
SEGMENT_S = 1538 * 8 / 20e6


def run(control: object, scenario: str = SCENARIO) -> list[dict[str, float]]:
    return retx.run(scenario, overrides={"tcp.one.congestion_control": control}).summary["flows"]


@pytest.fixture(scope="module")
def reno() -> float:
    """Mean queueing delay of Reno, in segments: far more than those below permit."""
    [row] = run("reno")
    return queued(row)


def queued(row: dict[str, float]) -> float:
    """Mean number of segments that wait."""
    return (row["rtt_mean_s"] - 0.040) / SEGMENT_S


def test_cdg_empties_the_queue(reno: float) -> None:
    [row] = run("cdg")
    assert reno > 150
    assert queued(row) < 10
    assert row["segments_retransmitted"] == 0
    assert row["goodput_bit_s"] > 14e6


def test_nv_fills_the_link_with_few_segments_queued(reno: float) -> None:
    """Ten by its source; its minimum RTT creeps up, by as many about every five seconds."""
    [row] = run("nv")
    assert 5 < queued(row) < 60 < reno
    assert row["goodput_bit_s"] > 18.5e6


@pytest.mark.parametrize("control", ["cdg", "nv", {"name": "lp", "clock_offset": "none"}])
def test_they_give_way_to_reno(control: object) -> None:
    # Which flow fills the queue first depends on small differences in time, so several starts of
    # Reno count together.
    mine = reno = 0.0
    for number in range(6):
        first, second = run(control, f'{SCENARIO}{BESIDE}start = "{130 * number} ms"\n')
        mine += first["goodput_bit_s"]
        reno += second["goodput_bit_s"]
    assert mine < 0.4 * reno
