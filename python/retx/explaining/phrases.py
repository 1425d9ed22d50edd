"""Phrases for limits: more precise than those for the keys of `limited_by` alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retx.analysis.limits import PHRASES, phrases_of_marks
from retx.explaining.situation import Situation

NEAR_CLAMP = 0.7
"""Ratio of the mean congestion window to its clamp, from which the clamp counts as the limit."""
BUSY = 0.9
"""A link is not the limit if it is busy for less than this fraction of the time attributed to it.
"""


def phrase(situation: Situation, key: str) -> str:
    """Phrase that completes "limited 63 % …"."""
    return phrases_of(situation).get(key, PHRASES.get(key, key))


def phrases_of(situation: Situation) -> dict[str, str]:
    """Phrases by key of `limited_by`, for limits that settings and path describe more precisely."""
    found: dict[str, str] = {}
    for row in situation.rows:
        found |= phrases_of_marks(row)
    if situation.path.policer and not situation.drops("queue"):
        for kind in ("window", "recovery", "timeout"):
            key = f"{kind}.congestion"
            found[key] = PHRASES[key].replace("losses in a queue", "drops of a policer")
    if is_clamped(situation):
        found["slow_start"] = "by the clamp of its congestion window"
    elif leaves_slow_start_early(situation):
        found["slow_start"] = "by a first slow start threshold that is too low"
    bottleneck = bottleneck_phrase(situation)
    if bottleneck:
        found["bottleneck"] = bottleneck
    return found


def _mean_window(situation: Situation) -> float | None:
    known = [it["cwnd_mean_bytes"] for it in situation.rows if it["cwnd_mean_bytes"] is not None]
    return sum(known) / len(known) if known else None


def is_clamped(situation: Situation) -> bool:
    """True if the congestion window stays near a clamp below the bandwidth-delay product."""
    clamp, mean = situation.window("max_cwnd"), _mean_window(situation)
    if clamp is None or mean is None or clamp >= situation.path.product_bytes:
        return False
    return mean >= NEAR_CLAMP * clamp


def leaves_slow_start_early(situation: Situation) -> bool:
    """True if the window exceeded an initial ssthresh below the bandwidth-delay product."""
    first, mean = situation.window("initial_ssthresh"), _mean_window(situation)
    if first is None or mean is None or first >= situation.path.product_bytes:
        return False
    return mean > first


def bottleneck_phrase(situation: Situation) -> str | None:
    """Phrase for the bottleneck; None if it is the link's rate, as usual."""
    return _waiting(situation) if is_idle_at_bottleneck(situation) else None


def is_idle_at_bottleneck(situation: Situation) -> bool:
    """True if the bottleneck is busy for much less time than it limits the flow."""
    row = situation.link_row(situation.path.bottleneck)
    return row is not None and not _is_busy(situation, row)


def _is_busy(situation: Situation, row: Mapping[str, Any]) -> bool:
    """True if a link's direction may transmit for most of the time that the bottleneck limits."""
    return situation.busy_in_life(row) >= BUSY * situation.shares.get("bottleneck", 0.0)


def _waiting(situation: Situation) -> str:
    hop = situation.queue_hop
    if hop in situation.path.back:
        row = situation.link_row(hop)
        if row and _is_busy(situation, row):
            return f"by the rate of {situation.queue_place(hop)}, which its acknowledgments pass"
        return "by acknowledgments that wait in a queue"
    if any(hop.delays for hop in situation.hops):
        return "by packets that the channel delays"
    return "by a window of one bandwidth-delay product"
