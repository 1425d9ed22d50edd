"""Where ns-2 delivers more than retx over a link that loses: two of its rules, put into retx."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import retx
from peers.measuring import measured
from peers.retx_scenarios import scenario_text
from peers.scenarios import ALL, SEGMENT, Wired
from peers.simulators import Job, Ns2

__all__ = ["RenoOfNs2", "rules", "share"]

SCENARIOS = ("download", "satellite")
SEEDS = range(1, 7)
NO_LIMIT_S = 1e6


class RenoOfNs2(retx.CongestionControl):
    """Reno with ns-2's arithmetic where that is not RFC 5681's.

    - A loss halves the window with its fraction, `halfwin = windowd() / 2` in `TcpAgent::slowdown`,
      where RFC 5681 §3.1 (eq. 4) halves what is in flight: whole segments, half a segment less on
      average.
    - The acknowledgment that ends a recovery opens the window like any other
      (`recv_newack_helper`), where RFC 6582 §3.2 (step 3) sets it.
    """

    def __init__(self) -> None:
        self.fraction = 0.0

    def on_ack(self, window: retx.Window, ack: retx.Ack) -> None:
        """RFC 5681 §3.1, eq. 2 and 3."""
        if window.cwnd < window.ssthresh:
            window.cwnd += min(ack.bytes_acked, window.smss)
        else:
            self._open(window)

    def on_loss(self, window: retx.Window, loss: retx.Loss) -> None:
        """Half of the window."""
        window.cwnd = window.ssthresh = self._half(window)

    def on_recovery_end(self, window: retx.Window, now: float) -> None:
        """The acknowledgment that ends it counts."""
        self._open(window)

    def on_timeout(self, window: retx.Window, loss: retx.Loss, repeated: bool) -> None:
        """Half of the window is the threshold, once."""
        if not repeated:
            window.ssthresh = self._half(window)
        window.cwnd = window.smss

    def _open(self, window: retx.Window) -> None:
        whole, self.fraction = divmod(window.smss**2 / window.cwnd + self.fraction, 1)
        window.cwnd += int(whole)

    def _half(self, window: retx.Window) -> int:
        return max(window.cwnd // 2, 2 * window.smss)


def rules(folder: Path) -> list[dict[str, Any]]:
    """Goodput of ns-2, of retx, and of retx with ns-2's two rules; whole runs, several seeds.

    Raises:
        PeerError: ns-2 is missing or fails.
    """
    peer = Ns2("ns2-lean", lean=True)
    peer.prepare()
    found = []
    for scenario in (each for each in ALL if each.name in SCENARIOS):
        assert isinstance(scenario, Wired)
        as_ns2 = {
            "tcp.peer.congestion_control": RenoOfNs2,
            # A window that the receiver does not grant is not halved.
            "tcp.peer.max_cwnd": scenario.tcp.window * SEGMENT,
        }
        theirs = [_of_ns2(peer, scenario, seed, folder) for seed in SEEDS]
        ours = {
            "RFC 5681": [_of_retx(scenario, seed, {}) for seed in SEEDS],
            "ns-2's two rules": [_of_retx(scenario, seed, as_ns2) for seed in SEEDS],
        }
        found.append(
            {
                "name": scenario.name,
                "title": scenario.title,
                "parameters": asdict(scenario),
                "ns2_segments_per_s": theirs,
                "retx_segments_per_s": ours,
                "delivered_beside_retx": {name: share(theirs, own) for name, own in ours.items()},
            }
        )
    return found


def share(theirs: Sequence[float], ours: Sequence[float]) -> tuple[float, float]:
    """The ratio of two means, and its standard error, where both have draws of their own."""
    ratio = statistics.mean(theirs) / statistics.mean(ours)
    return ratio, ratio * math.hypot(_relative_error(theirs), _relative_error(ours))


def _relative_error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / len(values) ** 0.5 / statistics.mean(values)


def _of_ns2(peer: Ns2, scenario: Wired, seed: int, folder: Path) -> float:
    job = Job(scenario, seed, NO_LIMIT_S, folder)
    (command,) = peer.commands(job)
    outcome = peer.outcome(job, [measured(command, NO_LIMIT_S)[0]])
    return outcome.segments / outcome.simulated_s


def _of_retx(scenario: Wired, seed: int, overrides: dict[str, Any]) -> float:
    flow = retx.run(
        scenario_text(scenario, seed),
        overrides=overrides,
        tables=False,
        segments=False,
        progress=False,
    ).flows.row(0, named=True)
    segments: int = flow["bytes_delivered"] // SEGMENT
    return segments / (flow["finish_s"] or scenario.duration_s)
