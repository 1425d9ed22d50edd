"""The paper's closed forms (Electronics 2022, 11(14), 2254), and the exact ones beside them."""

from __future__ import annotations

from math import comb, exp, lgamma, log, log1p

from retx import models

FILE_BYTES = 10_000_000
MSS_BYTES = 1460
RWND_BYTES = 6 * MSS_BYTES
RTT_S = 0.04
RATE_BIT_S = 10e6
OVERHEAD_BYTES = 38
"""Overhead of Ethernet on each frame."""
HEADERS_BYTES = 40
"""Headers of TCP and IP, without options."""


def per_linear(ber: float, length_bytes: int) -> float:
    """Equation 3: the first term of the exact form; beyond one for high error rates."""
    return float(models.bit_errors.packet_error_rate_linear(ber, length_bytes))


def per_exact(ber: float, length_bytes: int) -> float:
    """Probability that at least one of the bits is wrong: 1 − (1 − BER)^L."""
    return float(models.bit_errors.packet_error_rate(ber, length_bytes))


def testbed_s(p: float, size_bytes: int) -> float:
    """Padhye et al.: a file's time at the rate at which packets arrive, with the testbed's window.

    Linux acknowledges every segment while the window is this small (quick ACKs, and a delayed one
    would not wait for a second); its first timeout is the round trip and 200 ms.
    """
    rate = models.pftk.arriving_packets_s(p, RTT_S, RTT_S + 0.2, b=1, window_packets=6)
    return size_bytes / MSS_BYTES / float(rate)


def segments() -> float:
    """Equation 5: segments of the file; the last one is short."""
    return FILE_BYTES / MSS_BYTES


def retransmissions(p: float) -> float:
    """Section 4.2: n·p, what is lost of the first copies."""
    return segments() * p


def retransmissions_until_delivered(p: float) -> float:
    """n·p / (1 − p): copies of lost copies included."""
    return segments() * p / (1 - p)


def ethernet_limit() -> float:
    """Equation 8: bytes per second of payload on a link that is always busy."""
    limit = models.ethernet_limit.bit_s(RATE_BIT_S, MSS_BYTES, OVERHEAD_BYTES, HEADERS_BYTES)
    return float(limit) / 8


def window_limit() -> float:
    """Equation 10: bytes per second of one window per round trip."""
    return float(models.window_limit.bit_s(RWND_BYTES, RTT_S)) / 8


def window_time_s() -> float:
    """Equation 12 with equation 10."""
    return FILE_BYTES / window_limit()


def grown(start_bytes: float, steps: int) -> list[float]:
    """Equation 17, so many times: cwnd += MSS² / cwnd."""
    windows = [start_bytes]
    for _ in range(steps):
        windows.append(windows[-1] + MSS_BYTES**2 / windows[-1])
    return windows


def frame_s(payload_bytes: int) -> float:
    """Time of a frame on a 10 Mbit/s link."""
    return (payload_bytes + HEADERS_BYTES + OVERHEAD_BYTES) * 8 / RATE_BIT_S


def rounds() -> float:
    """Windows that the file fills."""
    return FILE_BYTES / RWND_BYTES


def start_and_end_s() -> float:
    """Time that handshake, slow start and the last round add to whole rounds.

    Segments go out 1.5 RTT after the SYN, in windows of 2, 4, 6, 6, …; of the last round only the
    way there counts.
    """
    windows = 2 + -(-(round_up(segments()) - 2 - 4) // 6)
    return (1.5 + (windows - 1) + 0.5 - rounds()) * RTT_S


def terms_s() -> dict[str, float]:
    """The response time without loss, term by term, by the cases of the experiment `terms`."""
    full, ack = frame_s(MSS_BYTES), frame_s(0)
    return {
        "window": window_time_s() + start_and_end_s(),
        "first_hop": rounds() * full,
        "second_hop": rounds() * full,
        "delayed_ack": rounds() * full,
        "all": rounds() * 2 * ack,
    }


def round_up(value: float) -> int:
    """The next whole number."""
    return -int(-value // 1)


def binomial_two_sided(n: int, p: float, count: int) -> float:
    """Chance that a count of n draws is at least as far from n·p as this one."""
    mean = n * p
    far = abs(count - mean)
    return sum(_binomial(n, p, k) for k in range(n + 1) if abs(k - mean) >= far)


def _binomial(n: int, p: float, k: int) -> float:
    if n < 100:
        return float(comb(n, k)) * p**k * (1 - p) ** (n - k)
    logs = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    return exp(logs + k * log(p) + (n - k) * log1p(-p))
