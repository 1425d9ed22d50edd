"""The paper's closed forms (Electronics 2022, 11(14), 2254), and the exact ones beside them."""

from __future__ import annotations

from math import ceil

from scipy.special import bdtr, bdtrc

from retx import models

from .quantities import (
    HEADERS_BYTES,
    MSS_BYTES,
    OVERHEAD_BYTES,
    RATE_BIT_S,
    RTT_S,
    RWND_BYTES,
    frame_s,
)

FILE_BYTES = 10_000_000
SEGMENTS = FILE_BYTES / MSS_BYTES
"""Equation 5: segments of the file; the last one is short."""


def testbed_s(p: float) -> float:
    """Padhye et al.: the file's time at the rate of arriving packets, with the testbed's window.

    Linux acknowledges every segment while the window is this small (quick ACKs, and a delayed one
    would not wait for a second); its first timeout is the round trip and 200 ms.
    """
    rate = models.pftk.arriving_packets_s(p, RTT_S, RTT_S + 0.2, b=1, window_packets=6)
    return SEGMENTS / float(rate)


def ethernet_limit() -> float:
    """Equation 8: bytes per second of payload on a link that is always busy."""
    limit = models.ethernet_limit.bit_s(RATE_BIT_S, MSS_BYTES, OVERHEAD_BYTES, HEADERS_BYTES)
    return float(limit) / 8


def window_limit() -> float:
    """Equation 10: bytes per second of one window per round trip."""
    return float(models.window_limit.bit_s(RWND_BYTES, RTT_S)) / 8


def grown(steps: int) -> list[float]:
    """Equation 17, so many times, from three segments: cwnd += MSS² / cwnd."""
    windows = [3.0 * MSS_BYTES]
    for _ in range(steps):
        windows.append(windows[-1] + MSS_BYTES**2 / windows[-1])
    return windows


def terms_s() -> dict[str, float]:
    """The response time without loss, term by term, by the cases of the experiment `terms`.

    Segments go out 1.5 RTT after the SYN, in windows of 2, 4, 6, 6, …; of the last round only the
    way there counts.
    """
    full, ack = frame_s(MSS_BYTES), frame_s(0)
    rounds = FILE_BYTES / RWND_BYTES
    windows = 2 + ceil((ceil(SEGMENTS) - 2 - 4) / 6)
    start_and_end_s = (1.5 + (windows - 1) + 0.5 - rounds) * RTT_S
    return {
        "window": FILE_BYTES / window_limit() + start_and_end_s,
        "first_hop": rounds * full,
        "second_hop": rounds * full,
        "delayed_ack": rounds * full,
        "all": rounds * 2 * ack,
    }


def chance_of_few(count: int, p: float) -> float:
    """Chance that a number of lost segments is at least as far from its mean as this small one."""
    n = ceil(SEGMENTS)
    return float(bdtr(count, n, p) + bdtrc(ceil(2 * n * p - count) - 1, n, p))
