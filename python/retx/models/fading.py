"""Frequency and duration of the fades of a Rayleigh channel.

*Equations.* With ρ the threshold over the root mean square of the envelope (ρ² in terms of power)
and f_d the largest Doppler shift: crossings N = √(2π)·f_d·ρ·exp(−ρ²) per second; mean duration of a
fade (exp(ρ²) − 1)/(ρ·f_d·√(2π)); share of the time below the threshold 1 − exp(−ρ²).

*Reference.* Rice 1948; Jakes 1974, "Microwave Mobile Communications", section 1.3.4; Clarke's
isotropic scattering.
"""

from __future__ import annotations

import numpy as np

from retx.models.arguments import Given, Numbers, not_negative, positive


def level_crossing_rate_hz(rho: Given, doppler_hz: Given) -> Numbers:
    """Downward crossings of the threshold per second.

    Args:
        rho: Threshold over the root mean square of the envelope.
        doppler_hz: Largest Doppler shift.
    """
    rho, doppler = not_negative("rho", rho), positive("doppler_hz", doppler_hz)
    rate: Numbers = np.sqrt(2 * np.pi) * doppler * rho * np.exp(-(rho**2))
    return rate


def fade_mean_s(rho: Given, doppler_hz: Given) -> Numbers:
    """Mean seconds that the envelope stays below the threshold.

    Args:
        rho: Threshold over the root mean square of the envelope.
        doppler_hz: Largest Doppler shift.
    """
    rho, doppler = positive("rho", rho), positive("doppler_hz", doppler_hz)
    length: Numbers = np.expm1(rho**2) / (rho * doppler * np.sqrt(2 * np.pi))
    return length


def fade_share(rho: Given) -> Numbers:
    """Share of the time below the threshold.

    Args:
        rho: Threshold over the root mean square of the envelope.
    """
    share: Numbers = -np.expm1(-(not_negative("rho", rho) ** 2))
    return share
