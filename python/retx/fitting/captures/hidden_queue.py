"""Queue of a flow without timestamps that was captured at the receiver's end.

*What it does.* There, the times of sending are unknown, so no delay shows the queue. But a packet
that a queue dropped takes no time of the bottleneck, while one that a channel lost behind the
bottleneck does. If the packets around a loss arrive at the bottleneck's rate without a gap, the
loss was therefore a drop before the bottleneck, which a full queue explains.

*Limit of the queue.* The duplicate ACKs that follow a drop trigger the retransmission, which waits
in the queue that has dropped its original. The limit is the time from the third duplicate ACK to
the retransmission's arrival, minus the round trip without queueing, times the rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retx.fitting.captures.estimates import LOST

AROUND = 8
"""Number of arrivals on either side of a loss. Network cards that report several packets together
hide gaps between fewer.
"""
BEFORE_RETRANSMISSION = 2
"""Number of arrivals after that which reveals a loss, up to the third duplicate ACK."""


def with_hidden_queue(flow: Mapping[str, Any], path: Mapping[str, Any]) -> Mapping[str, Any]:
    """Measurements of a path, with the queue that the spacing of arrivals reveals."""
    queue, bit_s = path["queue"], path["rate_bit_s"]["value"]
    is_visible = any(queue["full"]) or any(queue["elsewhere"])
    if flow["place"] != "receiver" or is_visible or bit_s is None:
        return path
    copies = path["copies"]
    lost = np.array([value or 0.0 for value in copies["lost"]]) > LOST
    times = np.array(copies["times_s"])
    segment_s = path["segment_wire_bytes"] * 8 / bit_s
    dropped = _without_gap(lost, times, segment_s, AROUND)
    if 2 * dropped.sum() > lost.sum():
        # The bottleneck may have been idle soon before or after the other losses.
        dropped |= _without_gap(lost, times, segment_s, 1)
    if not dropped.any():
        return path
    by_queue = np.where(dropped, 1.0, np.array(copies["by_queue"]))
    evidence = (
        f"{dropped.sum()} of {lost.sum()} lost packets left no gap between the arrivals around them"
    )
    counts = {
        "full": [int(dropped.sum())] * 2,
        "elsewhere": [int((lost & ~dropped).sum()), int((~dropped).sum())],
    }
    waits = list(_waits(dropped, lost, times, copies["starts"]))
    base_s = path["round_trip_s"]["value"]
    found = {**queue, **counts, "bytes": {**queue["bytes"], "evidence": evidence}}
    if waits and base_s is not None:
        # The packet in transmission does not belong to the queue.
        packets = (np.median(waits) - base_s) / segment_s - BEFORE_RETRANSMISSION - 1
        packets = max(0.5, float(packets))
        wire = path["segment_wire_bytes"]
        found["packets"] = packets
        found["kind"] = "tail_drop"
        found["bytes"] = {
            "value": packets * wire,
            "low": max(0.0, packets - 1) * wire,
            "high": (packets + 1) * wire,
            "evidence": f"{evidence}; so much was before the first retransmissions",
        }
    return {**path, "queue": found, "copies": {**copies, "by_queue": by_queue.tolist()}}


def _without_gap(
    lost: NDArray[np.bool_], times: NDArray[np.float64], segment_s: float, count: int
) -> NDArray[np.bool_]:
    """Lost packets without time for their transmission between `count` arrivals on either side."""
    arrived = np.flatnonzero(~lost)
    dropped = np.zeros(len(lost), dtype=bool)
    for index in np.flatnonzero(lost):
        after = int(np.searchsorted(arrived, index))
        around = arrived[max(0, after - count) : after + count]
        if after == 0 or after == len(arrived):
            continue
        first, last = int(around[0]), int(around[-1])
        missing = int(lost[first:last].sum())
        span = times[last] - times[first]
        dropped[index] = span < (len(around) - 1 + missing / 2) * segment_s
    return dropped


def _waits(
    dropped: NDArray[np.bool_],
    lost: NDArray[np.bool_],
    times: NDArray[np.float64],
    starts: list[int],
) -> Iterator[float]:
    """For the first drop of each recovery: time from its detection to the retransmission."""
    repaired_s = -1.0
    for index in np.flatnonzero(dropped):
        copies = [it for it in range(index + 1, len(starts)) if starts[it] == starts[index]]
        again = next((it for it in copies if not lost[it]), None)
        if again is None:
            continue
        if times[index] > repaired_s and again == copies[0]:
            yield float(times[again] - times[index])
        repaired_s = max(repaired_s, float(times[again]))
