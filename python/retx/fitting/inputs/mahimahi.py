"""Packet-delivery traces of Mahimahi: the time, in ms, of each opportunity to send 1500 bytes."""

from __future__ import annotations

import numpy as np

from retx.fitting.series import Rates, Series

PACKET_BITS = 1500 * 8
UNKNOWN = (
    "losses: a saturating sender fills every queue, so that what it lost is not in the trace",
    "the propagation delay and the queue: the scenario has assumed ones",
    "how the link behaves under a light load: such traces let a light load through too fast",
)


def read(text: str, name: str) -> Series:
    """Reads a trace.

    Raises:
        ValueError: A line is not a whole number, or is less than the previous one; the message
            names the line.
    """
    stamps: list[int] = []
    for number, line in enumerate(text.splitlines(), start=1):
        word = line.strip()
        if not word or word.startswith("#"):
            continue
        if not word.isdigit():
            raise ValueError(f"line {number}: “{word[:40]}” is no whole number of milliseconds")
        if stamps and int(word) < stamps[-1]:
            raise ValueError(
                f"line {number}: {word} is earlier than the previous line, {stamps[-1]}"
            )
        stamps.append(int(word))
    if not stamps or stamps[-1] == 0:
        raise ValueError("no opportunity after 0 ms: a line for each millisecond to send at")
    bins = np.arange(0, stamps[-1] + 1000, 1000)
    counts, _ = np.histogram(stamps, bins)
    seconds = np.minimum(1000, stamps[-1] - bins[:-1]).clip(1) / 1000
    rates = Rates(bins[:-1] / 1000, counts * PACKET_BITS / seconds, tuple(stamps))
    return Series("mahimahi", name, False, rates=rates, unknown=UNKNOWN)
