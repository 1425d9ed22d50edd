"""Numbers computed from those of the paper."""

from __future__ import annotations

from retx.models import pftk
from retx.study import Measured

MSS_BYTES = 1494
WINDOW = 45


def from_the_paper(measured: Measured) -> dict[str, float]:
    """Values computed from the paper's numbers."""
    number = {name: it.value for name, it in measured.study.published.numbers.items()}
    bits = 8 * MSS_BYTES

    def window(mbit_s: float, share: float, mean_s: float = 2.0) -> float:
        """Minimum of segments in flight: goodput times the mean of the imposed delay (Little)."""
        return mbit_s * 1e6 / bits * share * mean_s

    # Half a unit of the last printed digit, in both directions.
    most_before_loss = (number["loss_reno"] + 0.5) / (1 - number["loss_reno_drop"] / 100)
    least_before_delay = (number["delay_reno"] - 0.5) / (1 - number["delay_reno_drop"] / 100)

    return {
        "paper_unharmed_loss": number["loss_reno"] / (1 - number["loss_reno_drop"] / 100),
        "paper_unharmed_delay": number["delay_reno"] / (1 - number["delay_reno_drop"] / 100),
        "paper_unharmed_apart": max(0.0, least_before_delay - most_before_loss),
        "paper_veno_gain": 100 * (number["loss_veno_3"] / number["loss_reno_3"] - 1),
        "paper_reno_less": 100 * (1 - number["loss_reno_3"] / number["loss_veno_3"]),
        "paper_conclusions": -number["delay_veno_less"],
        "paper_cited": number["veno_cited"],
        "paper_window_10": window(number["delay_reno"], 0.1),
        "paper_window_30": window(number["delay_reno_30"], 0.3),
        "paper_window_30_upper": window(number["delay_reno_30"], 0.3, 0.25),
        "pftk_6": float(pftk.packets_s(0.06, 0.01, 1.0, 1, WINDOW)) * bits / 1e3,
        "pftk_6_rto": rto_for(number["loss_reno_least"] * 1e3 / bits),
    }


def rto_for(packets_s: float) -> float:
    """The initial RTO at which the closed form gives this low packet rate at a loss of 6 %."""
    low, high = 0.1, 1000.0
    while high / low > 1.001:
        middle = (low * high) ** 0.5
        if pftk.packets_s(0.06, 0.01, middle, 1, WINDOW) > packets_s:
            low = middle
        else:
            high = middle
    return low
