"""Goodput of a link that is always busy.

*Equation.* T = MSS / (MSS + headers + overhead) · rate; 40 bytes of TCP and IP headers without
options, and 38 bytes that Ethernet adds to a frame (preamble, header, checksum, gap).

*Reference.* Equation 8 of "TCP Reno at high bit error rates", Electronics 2022, 11(14), 2254.
"""

from __future__ import annotations

from retx.models.arguments import Given, Numbers, not_negative, positive


def bit_s(
    rate_bit_s: Given,
    mss_bytes: Given = 1460,
    overhead_bytes: Given = 38,
    headers_bytes: Given = 40,
) -> Numbers:
    """Goodput in bit/s when full segments follow each other without a gap.

    Args:
        rate_bit_s: Rate of the link.
        mss_bytes: Payload of a segment.
        overhead_bytes: Overhead of a frame on the wire.
        headers_bytes: Headers of TCP and IP.
    """
    mss = positive("mss_bytes", mss_bytes)
    added = not_negative("overhead_bytes", overhead_bytes)
    added = added + not_negative("headers_bytes", headers_bytes)
    return mss / (mss + added) * not_negative("rate_bit_s", rate_bit_s)
