"""Named values that values.toml cannot say: of many points together, and counts of intervals."""

from __future__ import annotations

from math import log

import numpy as np

from retx.study import Estimate, Measured, changed


def mac_fall(measured: Measured) -> Estimate | None:
    """Fall of Reno's goodput by bad periods; the two experiments have different numbers of runs."""
    whole = measured.at("loss/reno @ p=0").mean("mbit")
    slowed = measured.at("mac/reno @ mean_burst=2 s, loss=0.1").estimate("mbit")
    return slowed and changed(slowed, lambda it: 100 * (1 - it / whole))


def fit(measured: Measured, reorder: str) -> float:
    """Squared correlation of delayed packets and logarithm of Reno's mean window."""
    shares = (0, 0.1, 0.2, 0.3, 0.5)
    places = [f"delay/reno @ reorder={reorder}, delay=2 s, share={share}" for share in shares]
    logs = [log(measured.at(place).mean("window")) for place in places]
    return float(np.corrcoef(shares, logs)[0, 1] ** 2)


def spread(measured: Measured, *shares: str) -> float:
    """Largest quotient of Veno's goodput and window, over all loss rates, over the least."""
    places = [
        f"surface/veno @ reorder=false, p={p}, share={share}"
        for p in (0, 0.001, 0.003, 0.01, 0.03, 0.06)
        for share in shares
    ]
    found = [it.mean("mbit") / it.mean("window") for it in map(measured.at, places)]
    return max(found) / min(found)


def half(measured: Measured, reorder: str) -> float:
    """Share of delayed packets, in per cent, at which Reno has half its goodput; interpolated."""
    shares = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5)
    whole, *means = (
        measured.at(f"delay/reno @ reorder={reorder}, delay=2 s, share={share}").mean("mbit")
        for share in (0, *shares)
    )
    return float(100 * np.exp(np.interp(-whole / 2, [-mean for mean in means], np.log(shares))))


def short(measured: Measured, order: str, which: str) -> float:
    """Number of cases with short delays: all, or those with Veno significantly below Reno or above.

    Args:
        measured: Results of the runs.
        order: Order of the packets behind a delayed one.
        which: `all`, `below` or `above`.
    """
    values = [
        measured.value(f"short_{delay}_{share}_{order}")
        for delay in ("0_5", "1")
        for share in (1, 3, 10, 20, 30, 50)
    ]
    found = [it for it in values if isinstance(it, Estimate)]
    if which == "all":
        return len(found)
    return sum(it.bounds.high < 1 if which == "below" else it.bounds.low > 1 for it in found)
