"""Named values from the paper's equations, and others that values.toml cannot say."""

from __future__ import annotations

import numpy as np

from retx.models.bit_errors import packet_error_rate_linear
from retx.study import Measured

from .closed_forms import SEGMENTS, chance_of_few, grown, terms_s
from .quantities import steady_round_s

BER = "link.cloud.channel.ber"


def round_s(_: Measured) -> float:
    """Round trip of the simulator with a full window."""
    return steady_round_s()


def terms_sum(_: Measured) -> float:
    """Response time without loss, as the sum of its effects."""
    return sum(terms_s().values())


def step_6(_: Measured) -> float:
    """Window after six steps of equation 17, bytes."""
    return grown(6)[-1]


def chance_of_62(measured: Measured) -> float:
    """Chance of a number of retransmissions as far from its mean as the paper's at 1 %."""
    resent = measured.study.published.series["table_5"].values["0.01"]
    return chance_of_few(int(resent), 0.01)


def table_1_worst(measured: Measured) -> float:
    """Largest relative deviation of table 1 from the linear form."""
    series = measured.study.published.series
    return max(
        abs(value / float(packet_error_rate_linear(float(ber), length)) - 1)
        for length in (1250, 1500)
        for ber, value in series[f"table_1_{length}"].values.items()
    )


def table_7_worst(measured: Measured) -> float:
    """Largest deviation of table 7 from n·p."""
    table_7 = measured.study.published.series["table_7"].values
    return max(abs(value - SEGMENTS * float(p)) for p, value in table_7.items())


def reno_stop(measured: Measured) -> float:
    """Bit error rate at which a download by Reno takes twice as long as at the smallest one."""
    bers = measured.axes("recommend")[BER]
    slow = [measured.at(f"recommend/reno @ ber={ber}").mean() for ber in bers]
    return float(np.exp(np.interp(np.log(2 * slow[0]), np.log(slow), np.log(bers))))
