"""Burst losses: loss rate and burst lengths of the two-state chain of Gilbert and Elliott.

*Equations.* The probabilities per packet are p = P(good → bad) and r = P(bad → good). A packet
survives with probability k in the good state and h in the bad state.

- Share of packets in the bad state: π = p/(p + r). Loss rate: L = (1 − k)(1 − π) + (1 − h)π.
- Mean burst: L/(L − P₁₁), where P₁₁ is the probability that two successive packets are lost; 1/r
  for k = 1, h = 0.
- Chain with k = 1, h = 0 from loss rate and mean burst B: r = 1/B, p = L·r/(1 − L).
- Chain with k = 1 from moments of a trace (1 = lost) a = P(1), b = P(1|1), c = P(111)/(P(101) +
  P(111)): 1 − r = (ac − b²)/(2ac − b(a + c)), h = 1 − b/(1 − r), p = ar/(1 − h − a).
- Chain in continuous time with mean sojourns T_g and T_b, for packets at a spacing τ: p = π(1 −
  exp(−(1/T_g + 1/T_b)τ)), r = (1 − π)(1 − exp(−(1/T_g + 1/T_b)τ)).

*Reference.* Gilbert 1960, "Capacity of a burst-noise channel"; Elliott 1963; Hasslinger & Hohlfeld
2008, "The Gilbert–Elliott model for packet loss in real time services on the Internet".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from retx.models.arguments import Given, ModelError, Numbers, at_least, below, positive, probability


class Chain(NamedTuple):
    """Parameters of the chain, as in the channel `gilbert_elliott`."""

    p: Numbers
    r: Numbers
    k: Numbers
    h: Numbers


def loss_rate(p: Given, r: Given, k: Given = 1, h: Given = 0) -> Numbers:
    """Share of packets lost.

    Args:
        p: P(good → bad) per packet.
        r: P(bad → good) per packet.
        k: Probability that a packet survives the good state.
        h: Probability that a packet survives the bad state.
    """
    chain = _checked(p, r, k, h)
    bad = chain.p / (chain.p + chain.r)
    return (1 - chain.k) * (1 - bad) + (1 - chain.h) * bad


def burst_mean_packets(p: Given, r: Given, k: Given = 1, h: Given = 0) -> Numbers:
    """Mean number of consecutive losses.

    Args:
        p: P(good → bad) per packet.
        r: P(bad → good) per packet.
        k: Probability that a packet survives the good state.
        h: Probability that a packet survives the bad state.
    """
    chain = _checked(p, r, k, h)
    bad, good_loss, bad_loss = chain.p / (chain.p + chain.r), 1 - chain.k, 1 - chain.h
    lost = good_loss * (1 - bad) + bad_loss * bad
    after_good = (1 - chain.p) * good_loss + chain.p * bad_loss
    after_bad = chain.r * good_loss + (1 - chain.r) * bad_loss
    both = (1 - bad) * good_loss * after_good + bad * bad_loss * after_bad
    with np.errstate(divide="ignore", invalid="ignore"):
        return lost / (lost - both)


def burst_lengths(most: int, p: float, r: float, k: float = 1, h: float = 0) -> Numbers:
    """Probabilities of loss bursts of 1, 2, … `most` packets.

    Args:
        most: Largest requested length.
        p: P(good → bad) per packet.
        r: P(bad → good) per packet.
        k: Probability that a packet survives the good state.
        h: Probability that a packet survives the bad state.

    Raises:
        ModelError: The chain loses nothing, or everything.
    """
    chain = _checked(p, r, k, h)
    move = np.array([[1 - chain.p, chain.p], [chain.r, 1 - chain.r]])
    lost, kept = np.array([1 - chain.k, 1 - chain.h]), np.array([chain.k, chain.h])
    stationary = np.array([chain.r, chain.p]) / (chain.p + chain.r)
    # State probabilities at the first packet of a burst, which follows a surviving packet.
    start = (stationary * kept) @ move * lost
    if start.sum() == 0:
        raise ModelError("the chain loses no packet, or every one: there are no runs of losses")
    state, found = start / start.sum(), np.empty(max(int(most), 0))
    for length in range(len(found)):
        ahead = state @ move
        found[length] = ahead @ kept
        state = ahead * lost
    return found


def from_loss_and_burst(loss: Given, mean_burst_packets: Given) -> Chain:
    """Chain with k = 1 and h = 0 for a loss rate and a mean burst length.

    Args:
        loss: Loss rate, below 1.
        mean_burst_packets: Mean number of consecutive losses.

    Raises:
        ModelError: No chain has this loss rate and burst length: p would exceed 1.
    """
    loss, burst = below("loss", loss), at_least("mean_burst_packets", mean_burst_packets, 1)
    r = 1 / burst
    p = loss * r / (1 - loss)
    if np.any(p > 1):
        raise ModelError(
            "no chain loses so much in such short runs: a run has at least loss/(1 − loss) packets"
        )
    return Chain(p, r, np.ones_like(p), np.zeros_like(p))


def from_moments(a: Given, b: Given, c: Given) -> Chain:
    """Chain with k = 1 (Gilbert's) for these moments of a trace.

    Args:
        a: P(1), the loss rate.
        b: P(1|1), the probability that a loss follows a loss.
        c: P(111)/(P(101) + P(111)).

    Raises:
        ModelError: No such chain has these moments.
    """
    a, b, c = probability("a", a), probability("b", b), probability("c", c)
    with np.errstate(divide="ignore", invalid="ignore"):
        stay = (a * c - b**2) / (2 * a * c - b * (a + c))
        h = 1 - b / stay
        p = a * (1 - stay) / (1 - h - a)
    chain = Chain(p, 1 - stay, np.ones_like(p), h)
    if not all(np.all((value >= 0) & (value <= 1)) for value in chain):
        raise ModelError(
            f"no chain with k = 1 has the moments {a}, {b}, {c}: the trace is not Gilbert's, "
            "or too short"
        )
    return chain


def moments(p: Given, r: Given, h: Given = 0) -> tuple[Numbers, Numbers, Numbers]:
    """Moments a, b and c, as in `from_moments`, of a chain with k = 1.

    Args:
        p: P(good → bad) per packet.
        r: P(bad → good) per packet.
        h: Probability that a packet survives the bad state.
    """
    chain = _checked(p, r, 1, h)
    bad_loss = 1 - chain.h
    lost = bad_loss * chain.p / (chain.p + chain.r)
    again = (1 - chain.r) * bad_loss
    # Transitions over two packets: the middle one is lost (1), or survives (0), in either state.
    three = again**2
    gap = (1 - chain.r) ** 2 * chain.h * bad_loss + chain.r * chain.p * bad_loss
    return lost, again, three / (three + gap)


def from_sojourns(mean_good_s: Given, mean_bad_s: Given, spacing_s: Given) -> Chain:
    """Chain per packet that a channel `gilbert_elliott_time` forms for packets at a fixed spacing.

    Args:
        mean_good_s: Mean time in the good state.
        mean_bad_s: Mean time in the bad state.
        spacing_s: Time between packets.
    """
    good, bad = positive("mean_good_s", mean_good_s), positive("mean_bad_s", mean_bad_s)
    moved = -np.expm1(-(1 / good + 1 / bad) * positive("spacing_s", spacing_s))
    share = bad / (good + bad)
    p = share * moved
    return Chain(p, (1 - share) * moved, np.ones_like(p), np.zeros_like(p))


def sojourns_s(p: Given, r: Given, spacing_s: Given) -> tuple[Numbers, Numbers]:
    """Mean sojourn times in the good and the bad state, from the per-packet probabilities p and r.

    Args:
        p: P(good → bad) per packet.
        r: P(bad → good) per packet; p + r below 1.
        spacing_s: Time between packets.

    Raises:
        ModelError: p + r is 1 or above: no chain in time forgets its state within one packet.
    """
    chain = _checked(p, r, 1, 0)
    together = chain.p + chain.r
    if np.any(together >= 1):
        raise ModelError("p + r must be less than 1: no chain in time forgets within one packet")
    rates = -np.log1p(-together) / positive("spacing_s", spacing_s)
    with np.errstate(divide="ignore"):
        return together / (chain.p * rates), together / (chain.r * rates)


def netem(p: float, r: float, k: float = 1, h: float = 0) -> str:
    """Arguments of `tc qdisc … netem` for the chain; netem takes per cents, 1 − h and 1 − k.

    Args:
        p: P(good → bad) per packet.
        r: P(bad → good) per packet.
        k: Probability that a packet survives the good state.
        h: Probability that a packet survives the bad state.
    """
    chain = _checked(p, r, k, h)
    shares = (chain.p, chain.r, 1 - chain.h, 1 - chain.k)
    return "loss gemodel " + " ".join(f"{100 * float(share):.10g}%" for share in shares)


def from_netem(
    p: Given, r: Given | None = None, lost_bad: Given = 1, lost_good: Given = 0
) -> Chain:
    """Chain of netem's `loss gemodel p r 1-h 1-k`, with probabilities from 0 to 1.

    netem takes the probabilities of *loss* in the bad and the good state; this model takes the
    probabilities of survival: k = 1 − `lost_good`, h = 1 − `lost_bad`.

    Args:
        p: P(good → bad) per packet.
        r: P(bad → good) per packet; 1 − p without it, which makes losses independent.
        lost_bad: 1 − h, the loss probability in the bad state.
        lost_good: 1 − k, the loss probability in the good state.
    """
    good = probability("p", p)
    bad, kept = 1 - probability("lost_bad", lost_bad), 1 - probability("lost_good", lost_good)
    return _checked(good, 1 - good if r is None else r, kept, bad)


def itu(p: Given, r: Given) -> tuple[Numbers, Numbers]:
    """Loss rate and burst ratio (ITU-T G.107) of the chain with k = 1 and h = 0.

    The burst ratio is the mean burst length divided by that of independent losses at the same rate,
    1/(p + r).

    Args:
        p: P(good → bad) per packet.
        r: P(bad → good) per packet.
    """
    chain = _checked(p, r, 1, 0)
    return chain.p / (chain.p + chain.r), 1 / (chain.p + chain.r)


def from_itu(loss: Given, burst_ratio: Given) -> Chain:
    """Chain with k = 1 and h = 0 for a loss rate and a burst ratio (ITU-T G.107).

    Args:
        loss: Loss rate as a share of one; G.107 writes it in per cent (Ppl).
        burst_ratio: Burst ratio; 1 for independent losses.

    Raises:
        ModelError: No chain has this loss rate and burst ratio: p or r would exceed 1.
    """
    share, ratio = probability("loss", loss), positive("burst_ratio", burst_ratio)
    p, r = share / ratio, (1 - share) / ratio
    if np.any((p > 1) | (r > 1)):
        raise ModelError(
            "no chain has so small a burst ratio: it is at least the larger of loss and 1 − loss"
        )
    return Chain(p, r, np.ones_like(p), np.zeros_like(p))


def _checked(p: Given, r: Given, k: Given, h: Given) -> Chain:
    chain = Chain(
        *np.broadcast_arrays(
            probability("p", p), probability("r", r), probability("k", k), probability("h", h)
        )
    )
    if np.any(chain.p + chain.r == 0):
        raise ModelError("p and r are both 0: the chain never leaves its initial state")
    return chain
