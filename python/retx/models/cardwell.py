"""Duration of a transfer, including slow start and the first loss.

*Equations.* d segments are sent; γ = 1 + 1/b, and w₁ is the initial window, in segments:

    E[d_ss] = (1−(1−p)^d)(1−p)/p + 1, at most d          segments in slow start (equation 5)
    E[W_ss] = E[d_ss](γ−1)/γ + w₁/γ                      window at its end (11)
    E[T_ss] = RTT·log_γ(E[d_ss](γ−1)/w₁ + 1)             if E[W_ss] ≤ W_max (15), else
              RTT·(log_γ(W_max/w₁) + 1 + (E[d_ss] − (γW_max − w₁)/(γ−1))/W_max)
    E[T_loss] = (1−(1−p)^d)·(Q(E[W_ss])·f(p)T₀/(1−p) + (1−Q)·RTT)          (16 to 20)
    E[T_ca] = (d − E[d_ss]) / R, R the arrival rate by the model `pftk`     (21 to 24)
    E[T] = E[T_ss] + E[T_loss] + E[T_ca] + E[T_delack]                      (25)
    handshake: RTT + T_s·((1−p_r)/(1−2p_r) + (1−p_f)/(1−2p_f) − 2)          (4)

*Reference.* Cardwell, Savage & Anderson 2000, "Modeling TCP latency", INFOCOM. The paper's text was
not available. The equations are those on which two independent restatements agree. One restatement
is the code of a flow simulator, which also numbers the equations (jsommers/fs,
`tcpmodels/csa00.py`).

*Where we differ.* The paper's E[d_ss] exceeds d by up to one segment when losses are rare; it is
capped at d.
"""

from __future__ import annotations

import numpy as np

from retx.models import pftk
from retx.models.arguments import Given, Numbers, at_least, below, not_negative, positive


def latency_s(
    segments: Given,
    p: Given,
    rtt_s: Given,
    rto_s: Given,
    *,
    b: Given = 2,
    initial_window_packets: Given = 2,
    window_packets: Given = np.inf,
    delayed_ack_s: Given = 0.1,
) -> Numbers:
    """Mean seconds from the first segment sent to the acknowledgment of the last.

    Args:
        segments: Segments of the transfer, d.
        p: Loss rate of data segments.
        rtt_s: Round-trip time.
        rto_s: First timeout, T₀.
        b: Segments that an ACK acknowledges.
        initial_window_packets: Initial window, w₁.
        window_packets: Largest window, W_max; no limit by default.
        delayed_ack_s: Mean time that the ACK of a first, single segment waits: 0.1 s with BSD's
            timer; 0 when the initial window has two segments or more.
    """
    d, p = at_least("segments", segments, 1), below("p", p)
    rtt, b = positive("rtt_s", rtt_s), at_least("b", b, 1)
    started = _in_slow_start(d, p)
    first = at_least("initial_window_packets", initial_window_packets, 1)
    largest = at_least("window_packets", window_packets, 1)
    reached = np.minimum(_reached(started, b, first), largest)
    losing = -np.expm1(d * np.log1p(-p))
    share = pftk.timeout_share(p, reached)
    recovery = losing * (share * pftk.timeouts_s(p, rto_s) + (1 - share) * rtt)
    rate = pftk.arriving_packets_s(p, rtt_s, rto_s, b, window_packets)
    rest = (d - started) / rate
    total: Numbers = (
        rtt * _rounds(started, b, first, largest)
        + recovery
        + rest
        + not_negative("delayed_ack_s", delayed_ack_s)
    )
    return total


def handshake_s(
    rtt_s: Given, p_forward: Given = 0, p_reverse: Given = 0, initial_rto_s: Given = 1
) -> Numbers:
    """Mean seconds from the SYN to the end of the three-way handshake.

    Args:
        rtt_s: Round-trip time.
        p_forward: Loss rate from the opener to the listener, below 1/2.
        p_reverse: Loss rate back, below 1/2.
        initial_rto_s: Timeout of the first SYN, T_s; 1 s (RFC 6298), 3 s in the paper.
    """
    back, there = below("p_reverse", p_reverse, 0.5), below("p_forward", p_forward, 0.5)
    waits = (1 - back) / (1 - 2 * back) + (1 - there) / (1 - 2 * there) - 2
    return positive("rtt_s", rtt_s) + positive("initial_rto_s", initial_rto_s) * waits


def slow_start_segments(segments: Given, p: Given) -> Numbers:
    """E[d_ss]: segments sent in slow start, until the first loss or the end.

    Args:
        segments: Segments of the transfer, d.
        p: Loss rate of data segments.
    """
    return _in_slow_start(at_least("segments", segments, 1), below("p", p))


def _in_slow_start(d: Numbers, p: Numbers) -> Numbers:
    with np.errstate(divide="ignore", invalid="ignore"):
        before_loss = -np.expm1(d * np.log1p(-p)) * (1 - p) / p + 1
    return np.minimum(d, np.where(p == 0, d, before_loss))[()]


def _reached(started: Numbers, b: Numbers, first: Numbers) -> Numbers:
    gamma = 1 + 1 / b
    return started * (gamma - 1) / gamma + first / gamma


def _rounds(started: Numbers, b: Numbers, first: Numbers, largest: Numbers) -> Numbers:
    """Round trips of slow start; each multiplies the window by γ, up to `largest`."""
    gamma = 1 + 1 / b
    free = np.log(started * (gamma - 1) / first + 1) / np.log(gamma)
    with np.errstate(invalid="ignore"):
        growing = (gamma * largest - first) / (gamma - 1)
        capped = np.log(largest / first) / np.log(gamma) + 1 + (started - growing) / largest
    return np.where(_reached(started, b, first) <= largest, free, capped)
