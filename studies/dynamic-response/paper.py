"""Numbers computed from those of the paper."""

from __future__ import annotations

from itertools import pairwise

from retx.study import Measured, Named


def from_the_paper(measured: Measured) -> Named:
    """Numbers computed from those of the paper."""
    series = measured.study.published.series
    goodput, resent = (
        {case: float(value) for case, value in series[name].values.items()}
        for name in ("table_2_goodput", "table_2_resent")
    )
    segments = {case: goodput[case] * 165 / (8 * 1024) for case in ("reno", "dynamic")}
    reno, dynamic = (
        {case: float(value) for case, value in series[name].values.items()}
        for name in ("table_3_reno", "table_3_dynamic")
    )
    totals = [int(n) * reno[n] + (10 - int(n)) * dynamic[n] for n in reno]
    instants = (105.36, 108.76, 115.26, 127.65, 151.30)  # figure 8b
    gaps = [later - sooner for sooner, later in pairwise(instants)]
    return {
        "paper_recovery_11": 11e6 * 0.1**2 / (2 * 8 * 1000),
        "paper_recovery_54": 54e6 * 0.1**2 / (2 * 8 * 1000),
        "paper_gain": goodput["dynamic"] / goodput["reno"],
        "paper_lost_least_dynamic": 0.05 * segments["dynamic"],
        "paper_lost_most_percent": 100 * resent["dynamic"] / segments["dynamic"],
        "paper_lost_most_percent_reno": 100 * resent["reno"] / segments["reno"],
        "paper_waits": float(sum((2, 3, 6, 12, 24))),
        "paper_wait_ratio": gaps[-1] / gaps[-2],
        "paper_first_wait": 1.2,
        "paper_loss_rate_20": 100 / 20,
        "paper_total_least": min(totals),
        "paper_total_most": max(totals),
        "paper_total_mbit_s": 8 * max(totals) / 1e6,
        "paper_resent_needed": (1 - 0.30) * 727,
    }
