"""Values that follow from the paper's own numbers."""

from __future__ import annotations

from itertools import pairwise

from retx.study import Measured

from .pairs import Named

SMSS_BYTES = 1024
RUN_S = 200
COUNTED_S = 165
TIMEOUTS_S = (105.36, 108.76, 115.26, 127.65, 151.30)
"""Figure 8b."""
WAITS_S = (2, 3, 6, 12, 24)
"""Waits between the timeouts, as the text reads them from the figure."""


def recovery_s(rate_bit_s: float, rtt_s: float, packet_bytes: int) -> float:
    """Equation 1."""
    return rate_bit_s * rtt_s**2 / (2 * 8 * packet_bytes)


def paper_values(measured: Measured) -> Named:
    """All of them."""
    series = measured.study.published.series
    number = {name: it.value for name, it in measured.study.published.numbers.items()}
    goodput, resent = series["table_2_goodput"].values, series["table_2_resent"].values
    segments = {case: goodput[case] * COUNTED_S / (8 * SMSS_BYTES) for case in ("reno", "dynamic")}
    first, second = number["pair_first"], number["pair_second"]
    reno, dynamic = series["table_3_reno"].values, series["table_3_dynamic"].values
    totals = [int(n) * reno[n] + (10 - int(n)) * dynamic[n] for n in reno]
    gaps = [later - sooner for sooner, later in pairwise(TIMEOUTS_S)]
    return {
        "paper_recovery_11": recovery_s(11e6, 0.1, 1000),
        "paper_recovery_54": recovery_s(54e6, 0.1, 1000),
        "paper_gain": goodput["dynamic"] / goodput["reno"],
        "paper_segments_reno": segments["reno"],
        "paper_segments_dynamic": segments["dynamic"],
        "paper_lost_least_dynamic": 0.05 * segments["dynamic"],
        "paper_lost_most_percent": 100 * resent["dynamic"] / segments["dynamic"],
        "paper_resent_of_an_episode": resent["reno"]
        / (series["table_2_rto"].values["reno"] + series["table_2_frr"].values["reno"]),
        "paper_waits": float(sum(WAITS_S)),
        "paper_wait_ratio": gaps[-1] / gaps[-2],
        "paper_first_wait": number["idle_rto"],
        "paper_loss_rate_20": 100 / 20,
        "paper_path_bytes": 2e6 / 8 * 0.022,
        "paper_abw_mbit_s": 8 * number["ssthresh"] / 1e6,
        "paper_jain_2": (first + second) ** 2 / (2 * (first**2 + second**2)),
        "paper_total_least": min(totals),
        "paper_total_most": max(totals),
        "paper_total_mbit_s": 8 * max(totals) / 1e6,
        "paper_gains_at_5": number["gain_at_5"],
        "paper_resent_needed": (1 - number["unnecessary_at_1"]) * number["resent_at_1"],
        "paper_segments_full": 2e6 * RUN_S / (8 * SMSS_BYTES),
        "paper_losses_14": 0.03 * 1.8e6 * COUNTED_S / (8 * SMSS_BYTES),
        "paper_episodes_3": number["rto_3"] + number["frr_3"],
    }
