"""Numbers computed from those of the paper."""

from __future__ import annotations

from retx.study import Estimates, Measured, exact

MEBIBITS = 8 * 10_485_760 / 1e6
"""The file in Mbit."""


def from_the_paper(measured: Measured) -> Estimates:
    """Values computed from the paper's numbers."""
    series = measured.study.published.series
    throughput, idle = (series[name].values for name in ("throughput", "idle_total"))
    took = {case: MEBIBITS / value for case, value in throughput.items()}
    lost, again = series["ip_loss"].values, series["retransmissions"].values
    return {
        "paper_rto_8": _rto_s(310, 580, 4, 4),
        "paper_rto_8_reset": _rto_s(310, 580, 4, 0),
        "paper_rto_1": _rto_s(30, 10, 8, 0),
        "paper_srtt_6": 30 + (3000 - 30) / 8,
        "paper_mdev_6": 10 + (3000 - 30 - 10) / 4,
        "paper_lost": exact(
            max(abs(lost[case] / 100 * 7500 / again[case] - 1) for case in ("1", "2", "4"))
        ),
        "paper_idle_2": 100 * idle["2"] / took["2"],
        "paper_idle_4": 100 * idle["4"] / took["4"],
        **{f"paper_busy_{case}": took[case] - idle[case] for case in took},
        "paper_busy_4_most": MEBIBITS / 0.495 - idle["4"],
        "paper_loss_over_independent": lost["2"] / 100 / series["fer"].values["2"] ** 4,
    }


def _rto_s(srtt: float, mdev: float, cwnd: int, backoff: int) -> float:
    """Equation 1, from milliseconds."""
    factor = 1 + 1 / 4 + 0.5 ** (cwnd - 1)
    return float((srtt + 4 * mdev) * factor * 2.0**backoff / 1e3)
