"""Named values that values.toml does not compute."""

from __future__ import annotations

from math import log

import numpy as np

from retx.study import Estimate, Measured, Named, changed
from retx.study.measures import point

ORDERS = {"kept": "reorder=false", "over": "reorder=true"}


def values(measured: Measured) -> Named:
    """Values of many points together, and counts of intervals."""
    found = held_out(measured)
    found["cwnd_fit_over"] = _fit(measured, ORDERS["over"])
    found["per_window_spread_loss_kept"] = _spread(measured, (0,))
    for order, reorder in ORDERS.items():
        found[f"half_reno_{order}"] = _half(measured, reorder)
        found |= _differing(measured, order)
    # The two experiments have different numbers of runs.
    whole = _mean(measured, "loss/reno @ p=0", "mbit")
    at = point(measured, "mac/reno @ mean_burst=2 s, loss=0.1")
    slowed = measured.estimate(at.experiment, at.case, "mbit", at=at.at)
    found["mac_fall_2_10"] = slowed and changed(slowed, lambda it: 100 * (1 - it / whole))
    return found


def held_out(measured: Measured) -> Named:
    """Values of the held-out claims on windows."""
    return {
        "cwnd_fit_kept": _fit(measured, ORDERS["kept"]),
        "per_window_spread_kept": _spread(measured, (0, 0.003, 0.01, 0.03, 0.1, 0.3)),
    }


def _mean(measured: Measured, place: str, quantity: str) -> float:
    at = point(measured, place)
    return measured.mean(at.experiment, at.case, quantity, at=at.at)


def _fit(measured: Measured, reorder: str) -> float:
    """Squared correlation of delayed packets and logarithm of Reno's mean window."""
    shares = (0, 0.1, 0.2, 0.3, 0.5)
    places = [f"delay/reno @ {reorder}, delay=2 s, share={share}" for share in shares]
    logs = [log(_mean(measured, place, "window")) for place in places]
    return float(np.corrcoef(shares, logs)[0, 1] ** 2)


def _spread(measured: Measured, shares: tuple[float, ...]) -> float:
    """Largest quotient of Veno's goodput and window, over all loss rates, over the least."""
    places = [
        f"surface/veno @ {ORDERS['kept']}, p={p}, share={share}"
        for p in (0, 0.001, 0.003, 0.01, 0.03, 0.06)
        for share in shares
    ]
    found = [_mean(measured, it, "mbit") / _mean(measured, it, "window") for it in places]
    return max(found) / min(found)


def _half(measured: Measured, reorder: str) -> float:
    """Share of delayed packets, in per cent, at which Reno has half its goodput; interpolated."""
    shares = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5)
    whole, *means = (
        _mean(measured, f"delay/reno @ {reorder}, delay=2 s, share={share}", "mbit")
        for share in (0, *shares)
    )
    return float(100 * np.exp(np.interp(-whole / 2, [-mean for mean in means], np.log(shares))))


def _differing(measured: Measured, order: str) -> Named:
    """Number of cases in which Veno is significantly below or above Reno, for short delays."""
    declared = measured.study.declared
    names = [
        f"short_{delay}_{share}_{order}"
        for delay in ("0_5", "1")
        for share in (1, 3, 10, 20, 30, 50)
    ]
    found = declared.computed(measured, names).values()
    bounds = [it.bounds for it in found if isinstance(it, Estimate)]
    return {
        f"short_below_{order}": float(sum(it.high < 1 for it in bounds)),
        f"short_above_{order}": float(sum(it.low > 1 for it in bounds)),
        "short_cases": float(len(bounds)),
    }
