"""Distribution of the delay in excess of the shortest: families and an empirical table.

*Equations.* Let d₀ be slightly below the shortest delay. A gamma, lognormal or Weibull distribution
is fitted to x = d − d₀ by maximum likelihood. The Anderson–Darling statistic A² = −n − Σ (2i −
1)/n·(ln F(xᵢ) + ln(1 − F(xₙ₊₁₋ᵢ))) emphasises the tails. Its p-value is computed from series that
are drawn from the fitted distribution and fitted again. d₀ is the shortest delay minus (mean −
shortest)/n. The subtracted term is the expected distance of the shortest of n delays from d₀ if the
excess is exponential.

*Reference.* Anderson & Darling 1954; Stute, González Manteiga & Presedo Quindimil 1993 for the
bootstrap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from retx.fitting.series import Numbers

FAMILIES = {"gamma": "gamma", "lognormal": "lognorm", "weibull": "weibull_min"}
LEVEL = 0.01
MOST, DRAWN = 2000, 99
"""Maximum number of delays that a fit uses (evenly spaced), and number of series drawn for a
p-value."""
QUANTILES = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
LEAST = 30
"""Minimum number of delays to which a distribution is fitted."""


@dataclass(frozen=True)
class DelayFit:
    """Delays, and distributions fitted to their excess over the shortest."""

    content: dict[str, Any]

    @property
    def least_s(self) -> float:
        """Shortest delay."""
        return float(self.content["least_s"])


def fit_delays(delays_s: Numbers) -> DelayFit | None:
    """Fits distributions to delays, with NaN for a missing delay; None if all are missing."""
    known = delays_s[~np.isnan(delays_s)]
    if not len(known):
        return None
    least, count = float(known.min()), len(known)
    quantiles = [[q, float(np.quantile(known, q))] for q in QUANTILES]
    content: dict[str, Any] = {
        "count": count,
        "least_s": least,
        "mean_s": float(known.mean()),
        "quantiles": quantiles,
        "autocorrelation": _autocorrelation(delays_s),
        "families": [],
        "chosen": None,
        "reason": None,
    }
    offset = least - float(known.mean() - least) / count
    excess = known[:: -(-count // MOST)] - offset
    if count < LEAST:
        content["reason"] = f"{count} delays are too few to fit a law: the table has them"
    elif len(np.unique(known)) < 10:
        content["reason"] = "the delays take few values (coarse clock): the table has them"
    else:
        content["families"] = sorted(
            (_family(name, excess, offset) for name in FAMILIES),
            key=lambda it: float(it["anderson_darling"]),
        )
        best = content["families"][0]
        if best["p_value"] > LEVEL:
            content["chosen"] = best["name"]
        else:
            content["reason"] = "none of the families fits: the table has the delays"
    return DelayFit(content)


def _autocorrelation(delays_s: Numbers) -> float | None:
    """Correlation of successive delays."""
    both = ~np.isnan(delays_s[:-1]) & ~np.isnan(delays_s[1:])
    one, other = delays_s[:-1][both], delays_s[1:][both]
    if len(one) < 3 or one.std() == 0 or other.std() == 0:
        return None
    return float(np.corrcoef(one, other)[0, 1])


def _family(name: str, excess: Numbers, offset: float) -> dict[str, Any]:
    from scipy import stats

    law = getattr(stats, FAMILIES[name])
    shape, _, scale = _fitted(law, excess)
    statistic = _anderson_darling(law.cdf(excess, shape, 0, scale))
    random = np.random.default_rng(1)
    as_far = 0
    for _ in range(DRAWN):
        drawn = law.rvs(shape, 0, scale, size=min(len(excess), 300), random_state=random)
        again = _fitted(law, drawn)
        # The distribution of the statistic hardly depends on the number of delays.
        as_far += _anderson_darling(law.cdf(drawn, *again)) >= statistic
    return {
        "name": name,
        "offset_s": offset,
        "shape": shape,
        "scale_s": scale,
        "anderson_darling": statistic,
        "p_value": (1 + as_far) / (1 + DRAWN),
    }


def _fitted(law: Any, excess: Numbers) -> tuple[float, float, float]:  # noqa: ANN401
    """Shape, location 0 and scale by maximum likelihood."""
    kept = np.maximum(excess, 1e-12)
    if law.name == "lognorm":
        logs = np.log(kept)
        return float(logs.std()), 0.0, float(np.exp(logs.mean()))
    shape, location, scale = law.fit(kept, floc=0)
    return float(shape), float(location), float(scale)


def _anderson_darling(cumulative: Numbers) -> float:
    ordered = np.clip(np.sort(cumulative), 1e-12, 1 - 1e-12)
    count = len(ordered)
    weights = (2 * np.arange(1, count + 1) - 1) / count
    return float(-count - np.sum(weights * (np.log(ordered) + np.log1p(-ordered[::-1]))))
