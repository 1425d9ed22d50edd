"""Throughput limit of a sender: at most one window per round trip.

*Equation.* T ≤ W / RTT.

*Reference.* Equation 10 of "TCP Reno at high bit error rates", Electronics 2022, 11(14), 2254.
"""

from __future__ import annotations

from retx.models.arguments import Given, Numbers, not_negative, positive


def bit_s(window_bytes: Given, rtt_s: Given) -> Numbers:
    """Goodput in bit/s of a sender that is always limited by a window of this size.

    Args:
        window_bytes: The window: the receive window, or the send buffer.
        rtt_s: Round-trip time.
    """
    return 8 * not_negative("window_bytes", window_bytes) / positive("rtt_s", rtt_s)


def window_bytes(rate_bit_s: Given, rtt_s: Given) -> Numbers:
    """Window in bytes that is needed for a rate: the bandwidth-delay product.

    Args:
        rate_bit_s: The rate.
        rtt_s: Round-trip time.
    """
    return not_negative("rate_bit_s", rate_bit_s) * positive("rtt_s", rtt_s) / 8
