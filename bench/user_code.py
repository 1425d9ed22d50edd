"""Measures acknowledgments per second of a congestion control in Python, compared with Rust."""

from __future__ import annotations

import time

import retx

SCENARIO = """
duration = "20 s"
stop = "duration"

[tcp.python]
like = "newreno"
congestion_control = "reno"

[[link]]
name = "wire"
ends = ["a", "b"]
rate = "1 Gbit/s"
delay = "5 ms"
queue = { discipline = "droptail", packets = 1000 }

[[flow]]
name = "bulk"
from = "a"
to = "b"
tcp = "python"
app = "bulk"
"""
REPEATS = 5


class Reno(retx.CongestionControl):
    """Shortest congestion control that behaves like Reno."""

    def on_ack(self, window: retx.Window, ack: retx.Ack) -> None:
        """RFC 5681 §3.1."""
        smss, cwnd = window.smss, window.cwnd
        if cwnd < window.ssthresh:
            window.cwnd = cwnd + min(ack.bytes_acked, smss)
        else:
            window.cwnd = cwnd + max(smss * smss // cwnd, 1)

    def on_loss(self, window: retx.Window, loss: retx.Loss) -> None:
        """RFC 5681 §3.2."""
        window.cwnd = window.ssthresh = max(loss.flight_size // 2, 2 * window.smss)

    def on_timeout(self, window: retx.Window, loss: retx.Loss, repeated: bool) -> None:
        """RFC 5681 §3.1."""
        if not repeated:
            window.ssthresh = max(loss.flight_size // 2, 2 * window.smss)
        window.cwnd = window.smss


def measure(choice: object) -> tuple[int, float]:
    """Number of acknowledgments, and the shortest duration of several runs."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = retx.run(
            SCENARIO,
            overrides={"tcp.python.congestion_control": choice},
            tables=False,
            segments=False,
            progress=False,
        )
        times.append(time.perf_counter() - start)
    return int(result.flows["acks_sent"][0]), min(times)


def main() -> None:
    """Prints both speeds, and the cost of a call."""
    costs = []
    for name, choice in (("Rust", "reno"), ("Python", Reno)):
        acks, seconds = measure(choice)
        costs.append(seconds / acks)
        print(f"reno in {name:6}  {acks:8,} ACKs  {seconds:6.2f} s  {acks / seconds:10,.0f} ACKs/s")
    print(f"a call of on_ack costs {1e9 * (costs[1] - costs[0]):,.0f} ns")


if __name__ == "__main__":
    main()
