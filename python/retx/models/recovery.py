"""Time in which the window grows back after one halving.

*Equation.* rt = bandwidth · RTT² / (2 · packet size): the window lacks half a bandwidth-delay
product of packets, and grows by one packet per round trip if every segment is acknowledged.

*Reference.* Equation 1 of Park, Chung & Ahn 2012, "TCP's dynamic adjustment of transmission rate to
packet losses in wireless networks", EURASIP JWCN 2012:304, after the periodic model.
"""

from __future__ import annotations

from retx.models.arguments import Given, Numbers, not_negative, positive


def time_s(rate_bit_s: Given, rtt_s: Given, packet_bytes: Given = 1500) -> Numbers:
    """Seconds from one fast recovery until the pipe is full again.

    Args:
        rate_bit_s: Rate of the path.
        rtt_s: Round-trip time.
        packet_bytes: Length of a packet.
    """
    bits = 8 * positive("packet_bytes", packet_bytes)
    return not_negative("rate_bit_s", rate_bit_s) * positive("rtt_s", rtt_s) ** 2 / (2 * bits)
