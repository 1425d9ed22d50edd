"""Losses counted in intervals, and the burst length inferred from their variance.

*Equations.* Consider a two-state chain in which all packets are lost in the bad state. With L =
p/(p + r) and ρ = 1 − p − r, the number of losses among n packets has the variance nL(1 − L)·D,
where D = 1 + 2ρ/(1 − ρ)·(1 − (1 − ρⁿ)/(n(1 − ρ))); independent losses have D = 1. Pearson's X² over
m intervals, divided by m − 1, estimates D. The interval follows from (m − 1)·D̂/D, whose
distribution is approximately χ² with m − 1 degrees of freedom. Then r = (1 − L)(1 − ρ), and the
mean burst is 1/r.

*Limits.* The counts reveal only the sum of all correlations, not how they depend on the distance
between packets. A Gilbert chain, a chain in continuous time and a slow change of the loss rate can
have the same effect on the counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from retx.fitting.series import Counts

LEVEL = 0.05
LEAST = 5
"""Minimum number of intervals from which the variance of counts is estimated."""


@dataclass(frozen=True)
class CountFit:
    """Loss parameters that follow from counts in intervals."""

    content: dict[str, Any]

    @property
    def channels(self) -> list[dict[str, Any]]:
        """Channels of a scenario."""
        channels: list[dict[str, Any]] = [self.content["channel"]]
        return channels


def fit_counts(counts: Counts) -> CountFit | None:
    """Fits independent losses and a chain with bursts to counts; None if no packet was counted."""
    used = (counts.packets > 0) & ~np.isnan(counts.lost)
    packets, lost = counts.packets[used], counts.lost[used]
    if not len(packets):
        return None
    total, share = float(packets.sum()), float(lost.sum() / packets.sum())
    content: dict[str, Any] = {
        "packets": int(total),
        "lost": int(lost.sum()),
        "intervals": len(packets),
        "loss": share,
        "dispersion": None,
        "mean_burst": None,
        "chosen": "bernoulli",
        "reason": None,
        "channel": {"model": "bernoulli", "p": share},
    }
    spread = 1.0
    if len(packets) < LEAST or lost.sum() < 10 or share >= 1:
        content["reason"] = "too few intervals or losses to tell bursts: independent losses assumed"
    else:
        spread = _bursts(content, packets, lost)
    error = 1.96 * float(np.sqrt(max(spread, 1) * share * (1 - share) / total))
    content["low"] = max(share - error, 0.0)
    content["high"] = min(share + error + 3.7 / total * (share == 0), 1.0)
    return CountFit(content)


def _bursts(content: dict[str, Any], packets: Any, lost: Any) -> float:  # noqa: ANN401
    """Adds the dispersion of the counts and the mean burst to `content`; returns the dispersion.

    If the dispersion is significantly above 1, that of independent losses, the channel becomes the
    Gilbert-Elliott chain that has this dispersion.
    """
    from scipy import stats

    share, freedom = content["loss"], len(packets) - 1
    square = float(np.sum((lost - packets * share) ** 2 / (packets * share * (1 - share))))
    dispersion = square / freedom
    p_value = float(stats.chi2.sf(square, freedom))
    ends = [square / float(stats.chi2.ppf(q, freedom)) for q in (0.975, 0.025)]
    content["dispersion"] = {"value": dispersion, "low": ends[0], "high": ends[1], "p": p_value}
    length = float(packets.mean())
    bursts = [_mean_burst(share, it, length) for it in (dispersion, *ends)]
    least = 1 / (1 - share)
    shown = [it if it is not None else least for it in bursts]
    content["mean_burst"] = {"value": shown[0], "low": shown[1], "high": shown[2]}
    if p_value < LEVEL and bursts[0] is not None:
        chain = {"model": "gilbert_elliott", "loss": share, "mean_burst": max(bursts[0], 1.0)}
        content.update(chosen="gilbert", channel=chain)
    return dispersion


def _mean_burst(share: float, dispersion: float, length: float) -> float | None:
    """Mean burst of the chain whose counts over `length` packets have this dispersion.

    None for a dispersion of at most 1, which no chain with bursts has.
    """
    if dispersion <= 1:
        return None
    low, high = 0.0, 1 - 1e-9
    for _ in range(60):
        middle = 0.5 * (low + high)
        if _dispersion(middle, length) < dispersion:
            low = middle
        else:
            high = middle
    return 1 / ((1 - share) * (1 - low))


def _dispersion(correlation: float, length: float) -> float:
    """Dispersion D for a correlation ρ of successive packets."""
    forgets = 1 - correlation
    ends = (1 - float(correlation**length)) / (length * forgets)
    return 1 + 2 * correlation / forgets * (1 - ends)
