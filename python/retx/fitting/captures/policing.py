"""Policer as an explanation of a captured flow's losses.

*What it does.* A policer drops a packet when its token bucket is empty, and delays none. Seen from
one end, its losses look like those of a queue or a channel. But a scenario with a queue or a
channel instead of the policer predicts too high a goodput.

*Equations.* The number of tokens x grows at rate r up to the bucket size B, and each packet that
passed takes tokens for its size s. Given the captured fates, a policer predicts a loss if x < s. Of
all pairs of r and B on a grid, the one with the highest F₁ = 2·hits/(predicted + lost) is chosen,
where hits are losses that were also predicted. Tokens are taken when packets leave the bottleneck.
*Limits.* A drop-tail queue also acts like a bucket, which is filled at the rate of its link, or at
the part of this rate that other flows leave. A policer is therefore assumed only if r is clearly
below the link's rate, and packets wait much less than 8B/r, the time in which such a queue would
drain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from retx.fitting.captures.estimates import LOST
from retx.terminal.quantities import rate, size

LEAST_LOST = 10
"""Minimum number of losses from which a bucket can be inferred."""
LEAST_SCORE = 0.7
"""Minimum F₁ with which a policer counts as the explanation. With random losses, a TCP flow reaches
less than half.
"""
BELOW_LINK = 0.8
"""The policer's rate must be below this fraction of the link's rate."""
MOST_WAIT = 0.3
"""Maximum wait of the median packet of a policed flow, as a fraction of 8B/r. If there were a queue
instead, CUBIC would fill most of it.
"""
RATES, BUCKETS = 60, 14
MOST_COPIES = 40_000


@dataclass(frozen=True)
class Policing:
    """Policer that explains losses."""

    rate_bit_s: float
    bucket_bytes: float
    predicted: int
    lost: int
    hits: int

    @property
    def score(self) -> float:
        """F₁ of the predicted losses."""
        return 2 * self.hits / max(self.predicted + self.lost, 1)

    @property
    def channel(self) -> dict[str, Any]:
        """Channel of a scenario."""
        token_rate = f"{round(self.rate_bit_s)} bit/s"
        return {"model": "policer", "rate": token_rate, "bucket_bytes": round(self.bucket_bytes)}

    @property
    def sentence(self) -> str:
        """Evidence in one sentence."""
        return (
            f"A policer explains the losses: {rate(self.rate_bit_s)} through a bucket of "
            f"{size(self.bucket_bytes)}; its bucket is empty at {self.hits} of {self.lost} lost "
            f"segments, and at {self.predicted - self.hits} that passed."
        )


def policing(path: Mapping[str, Any]) -> Policing | None:
    """Policer that explains the losses of a measured path; None if there is none."""
    copies, rtts = path["copies"], path["figures"]["rtt_s"]
    link_bit_s, base_s = path["rate_bit_s"]["value"], path["round_trip_s"]["value"]
    if link_bit_s is None or base_s is None or not rtts:
        return None
    fates = [np.nan if it is None else it for it in copies["lost"][:MOST_COPIES]]
    is_lost = np.nan_to_num(np.array(fates, dtype=float)) > LOST
    if np.count_nonzero(is_lost) < LEAST_LOST:
        return None
    sizes = np.array(copies["sizes_bytes"][:MOST_COPIES], dtype=float)
    times = departures(np.array(copies["times_s"][:MOST_COPIES]), sizes, link_bit_s)
    best = _best(times, sizes, is_lost)
    if best.score < LEAST_SCORE or best.rate_bit_s > BELOW_LINK * link_bit_s:
        return None
    drains_s = 8 * best.bucket_bytes / best.rate_bit_s
    return best if rtts[len(rtts) // 2] - base_s <= MOST_WAIT * drains_s else None


def departures(times: Any, sizes: Any, link_bit_s: float) -> Any:  # noqa: ANN401
    """Times at which packets would leave a lossless link; its rate spreads bursts over time."""
    left = np.empty_like(times)
    free = -np.inf
    for index, (time, length) in enumerate(zip(times, sizes, strict=True)):
        free = max(free, time) + 8 * length / link_bit_s
        left[index] = free
    return left


def _best(times: Any, sizes: Any, is_lost: Any) -> Policing:  # noqa: ANN401
    """Pair of rate and bucket with the highest score, from a coarse and a fine grid."""
    passed = float(sizes[~is_lost].sum())
    mean = passed / max(float(times[-1] - times[0]), 1e-9)
    # The grid begins at the mean rate, which is at most the policer's rate.
    least = 2 * float(sizes.max())
    rates = np.geomspace(0.8 * mean, 3 * mean, RATES)
    found = _scored(times, sizes, is_lost, (rates, np.geomspace(least, 100 * least, BUCKETS)))
    near = np.linspace(0.97, 1.03, RATES) * found.rate_bit_s / 8
    wide = np.linspace(0.7, 1.4, BUCKETS) * found.bucket_bytes
    return max(found, _scored(times, sizes, is_lost, (near, wide)), key=lambda it: it.score)


def _scored(
    times: Any,  # noqa: ANN401
    sizes: Any,  # noqa: ANN401
    is_lost: Any,  # noqa: ANN401
    grid: tuple[Any, Any],
) -> Policing:
    """Pair of rate and bucket with the highest score on a grid."""
    growth, bucket = (it.ravel() for it in np.meshgrid(*grid))
    tokens = bucket.copy()
    predicted, hits = np.zeros(len(growth)), np.zeros(len(growth))
    before = float(times[0])
    for time, length, lost in zip(times, sizes, is_lost, strict=True):
        np.minimum(tokens + growth * (float(time) - before), bucket, out=tokens)
        before = float(time)
        is_empty = tokens < length
        predicted += is_empty
        if lost:
            hits += is_empty
        else:
            # There were enough tokens for a packet that passed, even if the model's bucket has
            # fewer.
            tokens = np.maximum(tokens - length, 0.0)
    lost = int(np.count_nonzero(is_lost))
    at = int(np.argmax(2 * hits / (predicted + lost)))
    return Policing(
        8 * float(growth[at]), float(bucket[at]), int(predicted[at]), lost, int(hits[at])
    )
