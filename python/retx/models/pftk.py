"""Throughput of Reno with timeouts and a window limit.

*Equations.* With b segments per ACK, T₀ the first timeout, W_m the receiver's window in packets:

    E[W] = (2+b)/(3b) + √(8(1−p)/(3bp) + ((2+b)/(3b))²)
    f(p) = 1 + p + 2p² + 4p³ + 8p⁴ + 16p⁵ + 32p⁶
    Q(w) = min(1, (1−(1−p)³)(1+(1−p)³(1−(1−p)^(w−3))) / (1−(1−p)^w))
    E[W] < W_m:  B = ((1−p)/p + E[W] + Q(E[W])/(1−p)) / (RTT(b/2·E[W]+1) + Q(E[W]) f(p) T₀/(1−p))
    else:        B = ((1−p)/p + W_m + Q(W_m)/(1−p))
                     / (RTT(b/8·W_m + (1−p)/(p·W_m) + 2) + Q(W_m) f(p) T₀/(1−p))

approximately B ≈ min(W_m/RTT, 1/(RTT√(2bp/3) + T₀·min(1, 3√(3bp/8))·p(1+32p²))).

B is the rate of packets *sent*. For the rate of packets that *arrive*, the numerator has E[W]/2
instead of E[W], since the rest of a round after a loss is lost, too. It has Q instead of Q/(1−p),
since only one packet of a series of timeouts arrives.

*Reference.* Padhye, Firoiu, Towsley & Kurose 1998, "Modeling TCP throughput", SIGCOMM; its full
model (equations 32 and 33 of the journal version, IEEE/ACM ToN 8(2), 2000), and the rate of
arrivals (section V there).

*What it assumes.* After the first loss in a round (one window of packets), all later packets of the
round are lost; rounds are independent. If packet losses are independent, the model overestimates
the losses: errors of 20 to 30 % are to be expected.
"""

from __future__ import annotations

import numpy as np

from retx.models.arguments import Given, Numbers, at_least, below, not_negative, positive


def packets_s(
    p: Given, rtt_s: Given, rto_s: Given, b: Given = 2, window_packets: Given = np.inf
) -> Numbers:
    """Packets sent per second, full model; without losses one window per round trip.

    Args:
        p: Loss indications per packet sent.
        rtt_s: Round-trip time.
        rto_s: First timeout, T₀.
        b: Segments that an ACK acknowledges.
        window_packets: The receiver's window; no limit by default.
    """
    return _rate(_Path(p, rtt_s, rto_s, b, window_packets), arrived=False)


def arriving_packets_s(
    p: Given, rtt_s: Given, rto_s: Given, b: Given = 2, window_packets: Given = np.inf
) -> Numbers:
    """Packets that arrive per second, full model.

    Args:
        p: Loss indications per packet sent.
        rtt_s: Round-trip time.
        rto_s: First timeout, T₀.
        b: Segments that an ACK acknowledges.
        window_packets: The receiver's window; no limit by default.
    """
    return _rate(_Path(p, rtt_s, rto_s, b, window_packets), arrived=True)


def approximate_packets_s(
    p: Given, rtt_s: Given, rto_s: Given, b: Given = 2, window_packets: Given = np.inf
) -> Numbers:
    """Packets sent per second, approximate model.

    Args:
        p: Loss indications per packet sent.
        rtt_s: Round-trip time.
        rto_s: First timeout, T₀.
        b: Segments that an ACK acknowledges.
        window_packets: The receiver's window; no limit by default.
    """
    path = _Path(p, rtt_s, rto_s, b, window_packets)
    p, b = path.p, path.b
    timeouts = path.rto * np.minimum(1, 3 * np.sqrt(3 * b * p / 8)) * p * (1 + 32 * p**2)
    with np.errstate(divide="ignore"):
        rate = 1 / (path.rtt * np.sqrt(2 * b * p / 3) + timeouts)
    limited: Numbers = np.minimum(path.window / path.rtt, rate)
    return limited


def window_packets(p: Given, b: Given = 2) -> Numbers:
    """E[W]: mean window in packets at the loss that ends its growth, without a limit.

    Args:
        p: Loss indications per packet sent.
        b: Segments that an ACK acknowledges.
    """
    p, b = below("p", p), at_least("b", b, 1)
    with np.errstate(divide="ignore"):
        window: Numbers = _window(p, b)
    return window


def timeout_share(p: Given, window_packets: Given) -> Numbers:
    """Q(w): probability that a loss in a window of w packets is detected by a timeout.

    Args:
        p: Loss indications per packet sent.
        window_packets: The window, w.
    """
    return _timeout_share(below("p", p), positive("window_packets", window_packets))


def timeouts_s(p: Given, rto_s: Given) -> Numbers:
    """Mean duration of a series of timeouts, in seconds: T₀ f(p)/(1 − p).

    Args:
        p: Loss rate.
        rto_s: First timeout, T₀.
    """
    p = below("p", p)
    return positive("rto_s", rto_s) * _backoff(p) / (1 - p)


class _Path:
    """Arguments after checks, broadcast to one shape."""

    def __init__(self, p: Given, rtt: Given, rto: Given, b: Given, window: Given) -> None:
        self.p, self.rtt, self.rto, self.b, self.window = np.broadcast_arrays(
            below("p", p),
            positive("rtt_s", rtt),
            not_negative("rto_s", rto),
            at_least("b", b, 1),
            at_least("window_packets", window, 1),
        )


def _rate(path: _Path, *, arrived: bool) -> Numbers:
    p, rtt, b = path.p, path.rtt, path.b
    with np.errstate(divide="ignore", invalid="ignore"):
        free = _window(p, b)
        limited = free >= path.window
        window = np.where(limited, path.window, free)
        share = _timeout_share(p, window)
        kept = window / 2 + share if arrived else window + share / (1 - p)
        packets = (1 - p) / p + kept
        limited_s = b / 8 * window + (1 - p) / (p * window) + 2
        seconds = rtt * np.where(limited, limited_s, b / 2 * window + 1)
        seconds = seconds + share * _backoff(p) * path.rto / (1 - p)
        rate: Numbers = np.where(p == 0, path.window / rtt, packets / seconds)[()]
    return rate


def _window(p: Numbers, b: Numbers) -> Numbers:
    start = (2 + b) / (3 * b)
    window: Numbers = start + np.sqrt(8 * (1 - p) / (3 * b * p) + start**2)
    return window


def _timeout_share(p: Numbers, window: Numbers) -> Numbers:
    # 1 − (1 − p)ⁿ is computed by expm1, which is accurate for small p.
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log1p(-p)
        three, later, all_of_it = (-np.expm1(n * log) for n in (3, window - 3, window))
        share = three * (1 + (1 - p) ** 3 * later) / all_of_it
    share = np.where(p == 0, 3 / window, share)
    # In a window of at most three packets, a loss cannot cause three duplicate ACKs.
    certain: Numbers = np.where((window <= 3) | (share > 1), 1.0, share)[()]
    return certain


def _backoff(p: Numbers) -> Numbers:
    return 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6
