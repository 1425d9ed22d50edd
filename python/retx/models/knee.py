"""Loss rate above which random losses, rather than queues, determine the throughput.

*Equation.* Random losses hurt when p·(μτ)² > 1, with μτ the bandwidth-delay product in packets: to
keep the pipe full, a window needs about (μτ)² packets without a loss to grow.

*Reference.* Lakshman & Madhow 1997, "The performance of TCP/IP for networks with high
bandwidth-delay products and random loss", IEEE/ACM ToN 5(3); abstract.
"""

from __future__ import annotations

from retx.models.arguments import Given, Numbers, positive, probability


def loss_rate(rate_bit_s: Given, rtt_s: Given, packet_bytes: Given = 1500) -> Numbers:
    """The loss rate at the knee, 1/(μτ)².

    Args:
        rate_bit_s: Rate of the bottleneck.
        rtt_s: Round-trip time without queues.
        packet_bytes: Length of a packet.
    """
    return 1 / _pipe(rate_bit_s, rtt_s, packet_bytes) ** 2


def load(p: Given, rate_bit_s: Given, rtt_s: Given, packet_bytes: Given = 1500) -> Numbers:
    """p·(μτ)²; above 1, random losses keep the pipe from being full.

    Args:
        p: Loss rate.
        rate_bit_s: Rate of the bottleneck.
        rtt_s: Round-trip time without queues.
        packet_bytes: Length of a packet.
    """
    return probability("p", p) * _pipe(rate_bit_s, rtt_s, packet_bytes) ** 2


def _pipe(rate_bit_s: Given, rtt_s: Given, packet_bytes: Given) -> Numbers:
    """Packets in flight in a full pipe."""
    bits = 8 * positive("packet_bytes", packet_bytes)
    return positive("rate_bit_s", rate_bit_s) * positive("rtt_s", rtt_s) / bits
