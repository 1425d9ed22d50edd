"""Named values from the paper's numbers and equations, and others that values.toml cannot say."""

from __future__ import annotations

import numpy as np

from retx.models.bit_errors import packet_error_rate, packet_error_rate_linear
from retx.study import Measured, Named

from .closed_forms import SEGMENTS, chance_of_few, grown, terms_s
from .quantities import steady_round_s

BER = "link.cloud.channel.ber"
RESENT = "flow.download.segments_retransmitted"


def values(measured: Measured) -> Named:
    """Values that values.toml does not compute."""
    counts = [it for it in measured.values("dropping", "preset", RESENT) if it is not None]
    bers = measured.axes("recommend")[BER]
    slow = [measured.mean("recommend", "reno", at={BER: ber}) for ber in bers]
    twice = np.interp(np.log(2 * slow[0]), np.log(slow), np.log(bers))
    own: Named = {
        "round_s": steady_round_s(),
        "terms_sum": sum(terms_s().values()),
        "dropping_least": min(counts),
        "dropping_most": max(counts),
        "reno_stop": float(np.exp(twice)),
    }
    return held_out(measured) | _equations(measured) | own


def held_out(measured: Measured) -> Named:
    """Values of held-out claims that follow from equations."""
    resent = measured.study.published.series["table_5"].values["0.01"]
    return {
        "chance_of_62": chance_of_few(int(resent), 0.01),
        "per_exact_1250": float(packet_error_rate(1e-4, 1250)),
    }


def _equations(measured: Measured) -> Named:
    """The paper's equations, and the largest deviations of its tables from them."""
    series = measured.study.published.series
    table_1 = {
        (float(ber), length): value
        for length in (1250, 1500)
        for ber, value in series[f"table_1_{length}"].values.items()
    }
    table_7 = series["table_7"].values
    until = {p: SEGMENTS * float(p) / (1 - float(p)) for p in table_7}
    found: Named = {
        "per_ack": float(packet_error_rate(1e-5, 40)),
        "step_6": grown(6)[-1],
        "table_1_worst": max(
            abs(value / float(packet_error_rate_linear(*at)) - 1) for at, value in table_1.items()
        ),
        "table_7_worst": max(abs(value - SEGMENTS * float(p)) for p, value in table_7.items()),
    }
    return found | {f"until_{p.replace('.', '_')}": value for p, value in until.items()}
