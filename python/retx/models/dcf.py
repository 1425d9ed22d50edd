"""Saturation throughput of a cell of 802.11 stations (distributed coordination function).

*Equations.* n stations always have a packet; an attempt collides with probability p and a station
attempts in a slot with probability τ. With windows W_i = W·2^min(i, m):

    infinite retries:  τ = 2 / (1 + W + pW·Σ_{i<m} (2p)^i)
    at most R attempts: τ = Σ_{i<R} p^i / Σ_{i<R} p^i (W_i + 1)/2
    p = 1 − (1 − τ)^(n−1)
    P_tr = 1 − (1 − τ)^n,  P_s = nτ(1 − τ)^(n−1) / P_tr
    S = P_s P_tr E[P] / ((1 − P_tr)σ + P_tr P_s T_s + P_tr (1 − P_s) T_c)
    basic:   T_s = H + E[P] + SIFS + δ + ACK + DIFS + δ,  T_c = H + E[P] + DIFS + δ
    RTS/CTS: T_s = RTS + SIFS + δ + CTS + SIFS + δ + (basic T_s),  T_c = RTS + DIFS + δ

A packet is given up with probability p^R.

*Reference.* Bianchi 2000, "Performance analysis of the IEEE 802.11 distributed coordination
function", IEEE JSAC 18(3), equations 7 to 17; the retry limit as in Wu, Peng, Long, Cheng & Ma
2002, INFOCOM, written as the mean number of attempts divided by the mean number of slots.

*Where we differ.* After a collision all stations wait for a DIFS, as in the paper; the standard's
EIFS is longer. `after_collision_s` sets another time.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple

import numpy as np

from retx.models.arguments import Given, ModelError, Numbers, count, not_negative

HALVINGS = 60
"""Number of bisections of the unit interval, down to the last bit of a double."""
ACK_BYTES, CTS_BYTES, RTS_BYTES = 14, 14, 20


@dataclass(frozen=True)
class Timing:
    """Timing of transmissions on the medium; times in seconds."""

    rate_bit_s: float
    """Rate of data frames."""
    control_rate_bit_s: float
    """Rate of acknowledgments, RTS and CTS."""
    preamble_s: float
    overhead_bytes: int
    """Bytes that the MAC adds to a packet."""
    slot_s: float
    sifs_s: float
    propagation_s: float = 1e-6

    @property
    def difs_s(self) -> float:
        """SIFS plus two slots."""
        return self.sifs_s + 2 * self.slot_s

    def data_s(self, payload_bytes: Given) -> Numbers:
        """Duration of a data frame."""
        payload = not_negative("payload_bytes", payload_bytes)
        return self.preamble_s + 8 * (payload + self.overhead_bytes) / self.rate_bit_s

    def control_s(self, length_bytes: int) -> float:
        """Duration of a control frame."""
        return self.preamble_s + 8 * length_bytes / self.control_rate_bit_s


FHSS = Timing(1e6, 1e6, 128e-6, 34, 50e-6, 28e-6)
"""Frequency hopping as in the paper: a MAC header of 272 bits, 1 Mbit/s."""
DSSS_11 = Timing(11e6, 2e6, 192e-6, 36, 20e-6, 10e-6)
"""802.11b at 11 Mbit/s with the long preamble; header, checksum, LLC and SNAP of 36 bytes."""


class Contention(NamedTuple):
    """Attempt and collision probabilities of the stations."""

    tau: Numbers
    """Probability that a station attempts in a slot."""
    p: Numbers
    """Probability that an attempt collides."""


def contention(
    stations: Given, cw_min: Given = 31, stages: int = 5, attempts: int | None = None
) -> Contention:
    """Attempt and collision probabilities of saturated stations.

    Args:
        stations: Number of stations, n.
        cw_min: Smallest contention window: W = cw_min + 1.
        stages: Number of doublings of the window, m.
        attempts: Maximum number of attempts for a packet, R; no limit by default.

    Raises:
        ModelError: A number is out of range.
    """
    n, window = np.broadcast_arrays(count("stations", stations), count("cw_min", cw_min, 0) + 1)
    for name, number, least in (("stages", stages, 0), ("attempts", attempts, 1)):
        if number is not None and not (isinstance(number, Integral) and number >= least):
            raise ModelError(f"{name} is {number!r}: it must be a whole number, {least} or above")
    low, high = np.zeros(n.shape), np.ones(n.shape)
    # 1 − (1 − τ(p))^(n−1) decreases with p, so the equation has a single solution, which bisection
    # finds.
    for _ in range(HALVINGS):
        p = (low + high) / 2
        below = 1 - (1 - _attempting(p, window, stages, attempts)) ** (n - 1) > p
        low, high = np.where(below, p, low), np.where(below, high, p)
    p = ((low + high) / 2)[()]
    return Contention(_attempting(p, window, stages, attempts), p)


def bit_s(
    stations: Given,
    payload_bytes: Given = 1500,
    timing: Timing = DSSS_11,
    *,
    cw_min: Given = 31,
    stages: int = 5,
    attempts: int | None = None,
    rts: bool = False,
    after_collision_s: float | None = None,
) -> Numbers:
    """Payload throughput of all stations together, in bit/s.

    Args:
        stations: Number of stations, n.
        payload_bytes: Length of a packet.
        timing: Timing of the medium: `DSSS_11`, `FHSS` or a custom `Timing`.
        cw_min: Smallest contention window: W = cw_min + 1.
        stages: Number of doublings of the window, m.
        attempts: Maximum number of attempts for a packet, R; no limit by default.
        rts: True if RTS and CTS precede each data frame.
        after_collision_s: Time that other stations wait after a collision; DIFS by default.
    """
    tau, _ = contention(stations, cw_min, stages, attempts)
    n = count("stations", stations)
    data, gap = timing.data_s(payload_bytes), timing.sifs_s + timing.propagation_s
    success = data + gap + timing.control_s(ACK_BYTES) + timing.difs_s + timing.propagation_s
    collided = data
    if rts:
        request = timing.control_s(RTS_BYTES)
        success = success + request + gap + timing.control_s(CTS_BYTES) + gap
        collided = np.asarray(request)
    waited = timing.difs_s if after_collision_s is None else after_collision_s
    collided = collided + waited + timing.propagation_s
    some, one = 1 - (1 - tau) ** n, n * tau * (1 - tau) ** (n - 1)
    slot = (1 - some) * timing.slot_s + one * success + (some - one) * collided
    return one * 8 * not_negative("payload_bytes", payload_bytes) / slot


def given_up(stations: Given, attempts: int = 7, cw_min: Given = 31, stages: int = 5) -> Numbers:
    """Share of packets that collide at every attempt.

    Args:
        stations: Number of stations, n.
        attempts: Maximum number of attempts for a packet, R.
        cw_min: Smallest contention window: W = cw_min + 1.
        stages: Number of doublings of the window, m.
    """
    return contention(stations, cw_min, stages, attempts).p ** attempts


def _attempting(p: Numbers, window: Numbers, stages: int, attempts: int | None) -> Numbers:
    if attempts is None:
        doubled: Numbers = sum((2 * p) ** stage for stage in range(stages)) + np.zeros_like(p)
        return 2 / (1 + window + p * window * doubled)
    reached = [p**stage for stage in range(attempts)]
    slots = [
        share * (window * 2.0 ** min(stage, stages) + 1) / 2 for stage, share in enumerate(reached)
    ]
    ratio: Numbers = np.sum(reached, axis=0) / np.sum(slots, axis=0)
    return ratio
