"""Quantities of an experiment, point by point."""

from __future__ import annotations

from math import log10
from operator import truediv

from retx.study import Estimate, Measured, Values, as_share, of_means

BER = "link.space.channel.0.ber"
THRESHOLD = "tcp.sender.loss_cause.threshold"
COUNT = "flow.ftp.count"
QUEUE = "link.space.queue.packets"

RATES = (1e-5, 1e-6, 1e-7)
"""Bit error rates of the paper."""
COUNTS = (1, 2, 3)
SEGMENT_BYTES = 960
SHARES = ("taken", "jain")
"""Quantities with values up to 1, which are missing in runs without such losses."""

Place = str | float | int


def rate(ber: float) -> str:
    """Text of an error rate."""
    return f"1e-{round(-log10(ber))}" if ber else "none"


class Runs:
    """An experiment whose points are named by their case and the values of its grid's keys."""

    def __init__(self, measured: Measured, name: str) -> None:
        self.measured, self.name = measured, name
        self.keys = list(measured.study.experiments[name].grid)

    def _at(self, at: tuple[Place, ...]) -> dict[str, Place]:
        return dict(zip(self.keys, at, strict=True))

    def values(self, case: str, quantity: str, *at: Place) -> Values:
        """A quantity of each run at a point."""
        return self.measured.values(self.name, case, quantity, at=self._at(at))

    def estimate(self, case: str, quantity: str, *at: Place) -> Estimate | None:
        """Mean and intervals of a quantity at a point; for shares, over the runs with a value."""
        found = self.measured.estimate(self.name, case, quantity, at=self._at(at))
        return as_share(found) if found and quantity in SHARES else found

    def mean(self, case: str, quantity: str, *at: Place) -> float:
        """The mean of a quantity at a point."""
        return mean_of(self.estimate(case, quantity, *at))

    def command(self, case: str, *at: Place) -> str:
        """Command that runs a point again."""
        return self.measured.command(self.name, case, at=self._at(at))


def mean_of(value: Estimate | None) -> float:
    """Mean of an estimate; NaN without one."""
    return value.mean if value else float("nan")


def ratio(above: Values, below: Values) -> Estimate | None:
    """Ratio of two means, as shown by curves of means."""
    return of_means(truediv, above, below)


def level(far: Values, near: Values, none: Values) -> Estimate | None:
    """Gain of the higher threshold over the lower, relative to the throughput without the rule."""
    return of_means(lambda last, first, base: (last - first) / base, far, near, none)
