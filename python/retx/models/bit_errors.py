"""Packet error rate from the bit error rate, and the reverse.

*Equations.* PER = 1 − (1 − BER)^L with L bits that fail independently (exact); PER ≈ BER·L is the
first term of the series, and exceeds 1 for high error rates.

*Reference.* Exact: independence of the bits. Linear: equation 3 of "TCP Reno at high bit error
rates", Electronics 2022, 11(14), 2254.
"""

from __future__ import annotations

import numpy as np

from retx.models.arguments import Given, Numbers, not_negative, probability


def packet_error_rate(ber: Given, length_bytes: Given) -> Numbers:
    """Probability that at least one bit of a packet is wrong.

    Args:
        ber: Probability that a bit is wrong.
        length_bytes: Length of the packet.
    """
    ber, bits = probability("ber", ber), 8 * not_negative("length_bytes", length_bytes)
    with np.errstate(divide="ignore", invalid="ignore"):
        exact: Numbers = -np.expm1(bits * np.log1p(-ber))
    # A packet without bits has no errors. The formula would compute 0·log 0 if every bit is wrong.
    return np.where(bits == 0, 0.0, exact)[()]


def packet_error_rate_linear(ber: Given, length_bytes: Given) -> Numbers:
    """Linear form: the expected number of bit errors in a packet, which may exceed 1.

    Args:
        ber: Probability that a bit is wrong.
        length_bytes: Length of the packet.
    """
    return probability("ber", ber) * 8 * not_negative("length_bytes", length_bytes)


def bit_error_rate(per: Given, length_bytes: Given) -> Numbers:
    """Bit error rate at which packets of this length have this error rate (exact form).

    Args:
        per: Probability that a packet is wrong.
        length_bytes: Length of the packet.
    """
    per, bits = probability("per", per), 8 * not_negative("length_bytes", length_bytes)
    with np.errstate(divide="ignore"):
        rate: Numbers = -np.expm1(np.log1p(-per) / bits)
    return rate
