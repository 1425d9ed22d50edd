"""Quantities of an experiment, point by point."""

from __future__ import annotations

from math import log10
from operator import truediv

from retx.study import Estimate, Measured, Values, of_means

RATES = (1e-5, 1e-6, 1e-7)
"""Bit error rates of the paper."""
COUNTS = (1, 2, 3)
SEGMENT_BYTES = 960

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

    def throughput(self, case: str, *at: Place) -> Values:
        """The throughput of each run at a point."""
        return self.measured.values(self.name, case, "throughput", at=self._at(at))

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
