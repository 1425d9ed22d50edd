"""The square-root law of congestion avoidance.

*Equation.* T = (MSS / RTT) · C / √p, with C = √(3/2) when every segment is acknowledged and
C = √(3/4) with delayed ACKs; in general C = √(3/(2b)) for b segments per ACK. Losses are periodic
and detected without timeouts, and no window limits the sender.

*Reference.* Mathis, Semke, Mahdavi & Ott 1997, "The macroscopic behavior of the TCP congestion
avoidance algorithm", ACM CCR 27(3), equation 3.
"""

from __future__ import annotations

import numpy as np

from retx.models.arguments import Given, Numbers, at_least, positive, probability


def packets_s(p: Given, rtt_s: Given, b: Given = 1) -> Numbers:
    """Packets per second; infinite without losses.

    Args:
        p: Loss rate: loss events per packet; losses in the same window are one event.
        rtt_s: Round-trip time.
        b: Segments that an ACK acknowledges.
    """
    p, rtt, b = probability("p", p), positive("rtt_s", rtt_s), at_least("b", b, 1)
    with np.errstate(divide="ignore"):
        rate: Numbers = np.sqrt(1.5 / b) / (rtt * np.sqrt(p))
    return rate


def bit_s(p: Given, rtt_s: Given, b: Given = 1, mss_bytes: Given = 1460) -> Numbers:
    """Goodput in bit/s.

    Args:
        p: Loss rate: loss events per packet; losses in the same window are one event.
        rtt_s: Round-trip time.
        b: Segments that an ACK acknowledges.
        mss_bytes: Payload of a segment.
    """
    return 8 * positive("mss_bytes", mss_bytes) * packets_s(p, rtt_s, b)
