"""Throughput limit of a sender: at most one window per round trip.

*Equation.* T ≤ W / RTT.

*Reference.* Equation 10 of "TCP Reno at high bit error rates", Electronics 2022, 11(14), 2254.
"""

from __future__ import annotations

from retx.models.arguments import Given, Numbers, not_negative, positive


def bit_s(window_bytes: Given, rtt_s: Given) -> Numbers:
    """Goodput in bit/s of a sender that is always limited by a window of this size.

    Args:
        window_bytes: The window, the receiver's or the buffer's.
        rtt_s: Round-trip time.
    """
    return 8 * not_negative("window_bytes", window_bytes) / positive("rtt_s", rtt_s)


def window_bytes(rate_bit_s: Given, rtt_s: Given) -> Numbers:
    """The window in bytes that a rate needs: bandwidth × delay.

    Args:
        rate_bit_s: The rate.
        rtt_s: Round-trip time.
    """
    return not_negative("rate_bit_s", rate_bit_s) * positive("rtt_s", rtt_s) / 8
