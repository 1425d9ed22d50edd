"""Explains different goodputs of peers under random losses, by their arithmetic in retx."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import retx
from peers.comparing import GRACE, Plan
from peers.measuring import measured
from peers.retx_scenarios import scenario_text
from peers.scenarios import ALL, SEGMENT, Wired
from peers.simulators import Simulator

__all__ = ["RenoOfNs2", "RenoOfNs3", "rules", "share"]

SEEDS = range(1, 5)
LEAST_LIMIT_S = 100.0
"""Minimum CPU limit of a peer here: ratios are precise only after thousands of losses."""


class RenoOfNs2(retx.CongestionControl):
    """Reno with the arithmetic of ns-2, where it differs from RFC 5681.

    - A loss halves the window with its fraction, `halfwin = windowd() / 2` in `TcpAgent::slowdown`,
      whereas RFC 5681 §3.1 (eq. 4) halves the flight size: whole segments, on average half a
      segment less.
    - The acknowledgment that ends a recovery opens the window like any other
      (`recv_newack_helper`), whereas RFC 6582 §3.2 (step 3) sets the window.
    """

    def __init__(self) -> None:
        self.fraction = 0.0

    def on_ack(self, window: retx.Window, ack: retx.Ack) -> None:
        """RFC 5681 §3.1, eq. 2 and 3."""
        if window.in_slow_start:
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
        """Sets the threshold to half of the window, once."""
        if not repeated:
            window.ssthresh = self._half(window)
        window.cwnd = window.smss

    def _open(self, window: retx.Window) -> None:
        whole, self.fraction = divmod(window.smss**2 / window.cwnd + self.fraction, 1)
        window.cwnd += int(whole)

    def _half(self, window: retx.Window) -> int:
        return max(window.cwnd // 2, 2 * window.smss)


class RenoOfNs3(retx.CongestionControl):
    """Reno with the arithmetic of ns-3 with SACK, where it differs from RFC 5681.

    - A loss halves what `BytesInFlight()` has once the loss is marked, `EnterRecovery` in
      `TcpSocketBase`: without the segment that is lost and the three that were selectively
      acknowledged, with the two of limited transmit. Two segments less than FlightSize.
    - The window opens by whole bytes, `static_cast<uint32_t>(adder)` in
      `TcpNewReno::CongestionAvoidance`: the fraction of SMSS²/cwnd is lost.
    """

    def on_ack(self, window: retx.Window, ack: retx.Ack) -> None:
        """RFC 5681 §3.1, eq. 2 and 3."""
        if window.in_slow_start:
            window.cwnd += min(ack.bytes_acked, window.smss)
        else:
            window.cwnd += max(1, window.smss**2 // window.cwnd)

    def on_loss(self, window: retx.Window, loss: retx.Loss) -> None:
        """Halves the number of bytes in the network."""
        half = (loss.flight_size - 2 * window.smss) // 2
        window.cwnd = window.ssthresh = max(half, 2 * window.smss)

    def on_timeout(self, window: retx.Window, loss: retx.Loss, repeated: bool) -> None:
        """RFC 5681 §3.1, eq. 4."""
        if not repeated:
            window.ssthresh = max(loss.flight_size // 2, 2 * window.smss)
        window.cwnd = window.smss


@dataclass(frozen=True)
class Question:
    """A scenario, the peers for it, of which the first available one is used, and their rules."""

    scenario: str
    peers: tuple[str, ...]
    own: type[retx.CongestionControl]


QUESTIONS = (
    Question("download", ("ns2-lean", "ns2"), RenoOfNs2),
    Question("satellite", ("ns2-lean", "ns2"), RenoOfNs2),
    Question("satellite", ("ns3-native", "ns3"), RenoOfNs3),
)


def rules(plan: Plan) -> list[dict[str, Any]]:
    """Goodput of a peer relative to retx, and to retx with the peer's rules; several seeds.

    Raises:
        PeerError: A peer fails.
    """
    ready = {simulator.name: simulator for simulator in plan.simulators}
    found = []
    for question in QUESTIONS:
        peer = next((ready[name] for name in question.peers if name in ready), None)
        (scenario,) = (each for each in ALL if each.name == question.scenario)
        assert isinstance(scenario, Wired)
        if peer is not None:
            found.append(_answer(plan, question, scenario, peer))
    return found


def _answer(plan: Plan, question: Question, scenario: Wired, peer: Simulator) -> dict[str, Any]:
    own = {
        "tcp.peer.congestion_control": question.own,
        # The receiver's window is the maximum, since a window beyond it is not halved.
        "tcp.peer.max_cwnd": scenario.tcp.window * SEGMENT,
    }
    theirs, ours = [], {"RFC 5681": [], "the peer's rules": []}
    for seed in SEEDS:
        segments_per_s, simulated_s = _of_peer(plan, scenario, seed, peer)
        theirs.append(segments_per_s)
        same = scenario if scenario.transfer else replace(scenario, duration_s=simulated_s)
        for values, overrides in zip(ours.values(), ({}, own), strict=True):
            values.append(_of_retx(same, seed, overrides))
    return {
        "scenario": scenario.name,
        "title": scenario.title,
        "parameters": asdict(scenario),
        "peer": peer.name,
        "limit_s": _limit_s(plan),
        "peer_segments_per_s": theirs,
        "retx_segments_per_s": ours,
        "delivered_beside_retx": {name: share(theirs, values) for name, values in ours.items()},
    }


def share(theirs: Sequence[float], ours: Sequence[float]) -> tuple[float, float]:
    """Ratio of two means with independent draws, and its standard error."""
    ratio = statistics.mean(theirs) / statistics.mean(ours)
    return ratio, ratio * math.hypot(_relative_error(theirs), _relative_error(ours))


def _relative_error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / len(values) ** 0.5 / statistics.mean(values)


def _limit_s(plan: Plan) -> float:
    return max(plan.limit_s, LEAST_LIMIT_S)


def _of_peer(plan: Plan, scenario: Wired, seed: int, peer: Simulator) -> tuple[float, float]:
    limit_s = _limit_s(plan)
    job = replace(plan.job(scenario, seed, peer), limit_s=limit_s)
    (command,) = peer.commands(job)
    outcome = peer.outcome(job, [measured(command, GRACE * limit_s + 2)[0]])
    return outcome.segments / outcome.simulated_s, outcome.simulated_s


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
