"""Named values that values.toml cannot say: of many points together, and counts of intervals."""

from __future__ import annotations

from math import log

import numpy as np

from retx.study import Estimate, Interval, Measured, changed


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


def short_below(measured: Measured, order: str) -> float:
    """Number of cases in which Veno is significantly below Reno, for short delays."""
    return sum(it.high < 1 for it in _short(measured, order))


def short_above(measured: Measured, order: str) -> float:
    """Number of cases in which Veno is significantly above Reno, for short delays."""
    return sum(it.low > 1 for it in _short(measured, order))


def short_cases(measured: Measured, order: str) -> float:
    """Number of these cases."""
    return len(_short(measured, order))


def _short(measured: Measured, order: str) -> list[Interval]:
    declared = measured.study.declared
    names = [
        f"short_{delay}_{share}_{order}"
        for delay in ("0_5", "1")
        for share in (1, 3, 10, 20, 30, 50)
    ]
    found = declared.computed(measured, names).values()
    return [it.bounds for it in found if isinstance(it, Estimate)]
