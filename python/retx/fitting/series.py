"""Measurements of a path in an input, by packet or by interval."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Packets:
    """Packets in the order in which they were sent."""

    times_s: Numbers
    sizes_bytes: Numbers
    """IP packet lengths."""
    lost: Numbers
    """Probability that each packet was lost; NaN if nothing is known."""
    delays_s: Numbers
    """Delay or RTT of each packet; NaN if there is none."""


@dataclass(frozen=True)
class Counts:
    """Packets counted in intervals."""

    seconds: Numbers
    packets: Numbers
    lost: Numbers
    """Number of lost packets; NaN if the input does not contain this number."""


@dataclass(frozen=True)
class Rates:
    """Rate over time."""

    times_s: Numbers
    rates_bit_s: Numbers
    opportunities_ms: tuple[int, ...] = ()
    """Delivery opportunities of 1500 bytes each, in place of rates (Mahimahi)."""


@dataclass(frozen=True)
class Series:
    """One input after reading."""

    kind: str
    """Name of the reader, such as `ping`."""
    file: str
    is_round_trip: bool
    """True if delays are RTTs, and a loss may have happened in either direction."""
    packets: Packets | None = None
    counts: Counts | None = None
    rates: Rates | None = None
    rtts_s: Numbers | None = None
    """RTTs measured by a transport protocol, if the input does not list single packets."""
    queue_wait_s: float | None = None
    """Longest wait in the queue: longest minus shortest RTT of a transport that fills the link."""
    findings: tuple[str, ...] = ()
    """Faults and peculiarities of the file; each kind is mentioned once."""
    unknown: tuple[str, ...] = field(default=())
    """Quantities that an input of this kind cannot reveal."""
