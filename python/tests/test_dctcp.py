"""DCTCP against the closed form of its authors, and against Reno where no queue marks."""

from __future__ import annotations

from math import sqrt

import pytest

import retx

SCENARIO = """
duration = "20 s"
sample_interval = "every_ack"

[tcp.one]
like = "sack"
congestion_control = "dctcp"
initial_ssthresh = "60 mss"
delayed_ack = { segments = 1 }

[[link]]
name = "net"
ends = ["a", "b"]
rate = "100 Mbit/s"
delay = "5 ms"

[[flow]]
name = "download"
from = "a"
to = "b"
tcp = "one"
app = "bulk"
"""
PACKET_BITS = 1538 * 8
"""A full packet with the overhead of Ethernet."""
STEP = 40
"""Queue in packets from which on every packet is marked."""


def reduction(window: float) -> float:
    """Segments that DCTCP takes from a window at the first mark of a period.

    Between two reductions the window grows by one segment in each of n round trips, in the last of
    which every packet is marked: n = W·α/2 (Alizadeh et al., SIGCOMM 2010, §3.3, where α is
    constant, so that n = √(W/2)). The reduction comes before that last round trip counts in α,
    which therefore has fallen for n − 1 round trips since it did.
    """
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        alpha = (low + high) / 2
        rounds = window * alpha / 2
        kept = (15 / 16) ** rounds
        low, high = (alpha, high) if alpha * kept + kept / 15 > alpha else (low, alpha)
    return window * low / 2


@pytest.mark.parametrize("delay_ms", [5, 10])
def test_the_sawtooth_at_a_step_is_that_of_the_closed_form(delay_ms: int) -> None:
    step = {
        "discipline": "red",
        "min_threshold": STEP - 0.001,
        "max_threshold": STEP,
        "max_probability": 1.0,
        "weight": 1.0,
        "ecn": True,
    }
    changes = {"link.net.queue": step, "link.net.delay": f"{delay_ms} ms"}
    result = retx.run(SCENARIO, overrides=changes)
    samples = result.samples
    late = samples.filter(samples["time_s"] > 10)["cwnd_bytes"] // 1460
    before = late[:-1].to_list()
    drops = {(was, was - now) for was, now in zip(before, late[1:], strict=True) if now < was}
    path = 100e6 * 2 * delay_ms / 1e3 / PACKET_BITS + STEP
    assert len(drops) == 1, drops
    [(peak, dropped)] = drops
    # Two packets are where neither the path nor the queue counts them: on the way into the queue
    # and in transmission.
    assert path - 1 <= peak <= path + 3
    # Linux rounds the reduction down, and α with it.
    assert -1.5 < dropped - reduction(peak) <= 0
    assert 0.7 < dropped / sqrt(peak / 2) <= 1
    assert result.summary["flows"][0]["goodput_bit_s"] > 90e6


def test_without_marks_it_is_reno() -> None:
    queue = {"link.net.queue": {"discipline": "droptail", "packets": 50}}
    runs = [
        retx.run(SCENARIO, overrides={**queue, "tcp.one.congestion_control": control})
        for control in ("dctcp", "reno_linux")
    ]
    dctcp, reno = (run.samples["cwnd_bytes"].to_list() for run in runs)
    assert dctcp == reno
    assert runs[0].summary["flows"][0]["segments_retransmitted"] > 0
