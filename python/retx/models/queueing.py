"""A queue before one server, with Poisson arrivals.

*Equations.* Load ρ = arrivals × mean service time < 1. M/M/1: L_q = ρ²/(1 − ρ). M/D/1:
L_q = ρ²/(2(1 − ρ)) (Pollaczek–Khinchine, without variance of service). Waiting W_q = L_q·s/ρ for a
service time s (Little).

*Reference.* Kleinrock 1975, "Queueing Systems I", sections 3.2 and 5.6.
"""

from __future__ import annotations

from retx.models.arguments import Given, Numbers, below, positive


def mm1_queue_packets(load: Given) -> Numbers:
    """Mean number of waiting packets, without the one in service; exponential service times.

    Args:
        load: ρ, below 1.
    """
    load = below("load", load)
    return load**2 / (1 - load)


def md1_queue_packets(load: Given) -> Numbers:
    """Mean number of waiting packets, without the one in service; constant service time.

    Args:
        load: ρ, below 1.
    """
    return mm1_queue_packets(load) / 2


def mm1_wait_s(load: Given, service_s: Given) -> Numbers:
    """Mean waiting time before service; exponential service times.

    Args:
        load: ρ, below 1.
        service_s: Mean service time.
    """
    load = below("load", load)
    return load / (1 - load) * positive("service_s", service_s)


def md1_wait_s(load: Given, service_s: Given) -> Numbers:
    """Mean waiting time before service; constant service time.

    Args:
        load: ρ, below 1.
        service_s: Service time of a packet: its length divided by the rate.
    """
    return mm1_wait_s(load, service_s) / 2
