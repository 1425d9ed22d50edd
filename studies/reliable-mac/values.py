"""Named values that values.toml cannot say: of many points together."""

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


def half(measured: Measured, reorder: str) -> float:
    """Share of delayed packets, in per cent, at which Reno has half its goodput; interpolated."""
    shares = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5)
    whole, *means = (
        measured.at(f"delay/reno @ reorder={reorder}, delay=2 s, share={share}").mean("mbit")
        for share in (0, *shares)
    )
    return float(100 * np.exp(np.interp(-whole / 2, [-mean for mean in means], np.log(shares))))
