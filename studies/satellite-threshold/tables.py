"""Cells of tables that tables.toml cannot say: claims that hold, and thresholds without harm."""

from __future__ import annotations

from operator import truediv

from retx.study import Estimate, Measured, of_means

RATES = ("1e-5", "1e-6", "1e-7")
"""Bit error rates of the paper."""
SIGNIFICANT, LEVEL = 1.1, 0.1
"""Bounds of the claims: gain at 53 ticks, and change from there to 60."""
HARMLESS = 0.95
"""Share of the throughput without the rule below which the rule does harm."""


def _mean(value: Estimate | None) -> float:
    """Mean of an estimate; NaN without one."""
    return value.mean if value else float("nan")


def _gain(measured: Measured, above: str, below: str) -> Estimate | None:
    """Ratio of two means, as shown by curves of means."""
    return of_means(truediv, *(measured.at(it).values("throughput") for it in (above, below)))


def _level(measured: Measured, far: str, near: str, none: str) -> Estimate | None:
    """Gain of the higher threshold over the lower, relative to the throughput without the rule."""
    series = (measured.at(it).values("throughput") for it in (far, near, none))
    return of_means(lambda last, first, base: (last - first) / base, *series)


def trend(measured: Measured, case: str, claim: str) -> str:
    """“yes” if one of the paper's trends holds in a case of `open`, for one connection."""
    gains = []
    most = 0.0
    for ber in RATES:
        # Thresholds above the base RTT: no rule, and the paper's 53 and 60 ticks.
        none, near, far = (f"open/{case} @ ber={ber}, threshold={it} ms" for it in (0, 20, 90))
        gains.append(_mean(_gain(measured, near, none)))
        beyond = _level(measured, far, near, none)
        assert beyond is not None
        most = max(most, beyond.bounds.low, -beyond.bounds.high)
    holds = {
        "significant": min(gains) >= SIGNIFICANT,
        "levels": most <= LEVEL,
        "order": gains == sorted(gains, reverse=True),
    }
    return "yes" if holds[claim] else "no"


def highest(measured: Measured, case: str, load: str, queue: str) -> str:
    """The highest threshold that does no harm, of those tried, in ticks."""
    place = f"harm/{case} @ ber=0, count={load}, packets={queue}, threshold="
    best, *others = (it.key for it in measured.study.declared.lists.items("harm_ticks"))
    none = f"{place}{best}0 ms"
    for number, ticks in enumerate(others):
        found = _gain(measured, f"{place}{ticks}0 ms", none)
        if found is None or found.mean < HARMLESS:
            return best if number else "none"
        best = ticks
    return f"≥ {best}"
