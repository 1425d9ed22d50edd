"""Residual loss of links that repair their losses, and the cost of the repair.

*Equations.* Frames are lost independently with probability q. ARQ with at most m transmissions:
residual loss q^m, on average (1 − q^m)/(1 − q) transmissions of a packet. FEC with blocks of k data
frames and n − k parity frames, any k of which suffice: a packet is lost if its own frame and at
least n − k of the other frames are lost, with probability q·P(Bin(n − 1, q) ≥ n − k).

*Reference.* Lin & Costello 2004, "Error Control Coding", chapter 22; RFC 5510 for codes of which
any k of n suffice.
"""

from __future__ import annotations

import numpy as np

from retx.models.arguments import Given, ModelError, Numbers, count, probability


def arq_residual(loss_rate: Given, transmissions: Given) -> Numbers:
    """Residual loss rate of packets on a link with ARQ.

    Args:
        loss_rate: Loss rate of frames, q.
        transmissions: Maximum number of transmissions of a packet, including the first, m.
    """
    return probability("loss_rate", loss_rate) ** _most(transmissions)


def arq_transmissions(loss_rate: Given, transmissions: Given) -> Numbers:
    """Mean number of transmissions of a packet.

    Args:
        loss_rate: Loss rate of frames, q.
        transmissions: Maximum number of transmissions of a packet, including the first, m.
    """
    q = probability("loss_rate", loss_rate)
    most = _most(transmissions)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(q == 1, most, (1 - q**most) / (1 - q))[()]


def fec_residual(loss_rate: Given, k: Given, n: Given) -> Numbers:
    """Residual loss rate of packets on a link with FEC.

    Args:
        loss_rate: Loss rate of frames, q.
        k: Data frames of a block.
        n: Frames of a block, parity included.
    """
    # Importing scipy.stats would triple the import time of `retx.models`.
    from scipy.stats import binom

    q, k, n = probability("loss_rate", loss_rate), count("k", k), count("n", n)
    if np.any(k > n):
        raise ModelError("k exceeds n: a block has at least as many frames as data frames")
    lost: Numbers = q * binom.sf(n - k - 1, n - 1, q)
    return lost


def _most(transmissions: Given) -> Numbers:
    return count("transmissions", transmissions, endless=True)
