"""Values of the calibrating claims, those on figures 3, 5 and 7, from single points."""

from __future__ import annotations

from retx.study import Measured

from .runs import COUNTS, Place, Values
from .switches import Named
from .values import curve_values, least, orders

READING = "fast"
"""Case of the experiment `judged`."""


class Points:
    """Throughput of all connections of an experiment together, point by point."""

    def __init__(self, measured: Measured, name: str) -> None:
        self.measured, self.name = measured, name
        self.keys = list(measured.study.experiments[name].grid)

    def values(self, case: str, column: str, *at: Place) -> Values:
        """The throughput of each run, kbit/s."""
        assert column == "throughput"
        point = dict(zip(self.keys, at, strict=True))
        flows = ["ftp"] if at[0] == 1 else [f"ftp.{each}" for each in range(int(at[0]))]
        series = [
            self.measured.values(self.name, case, f"flow.{flow}.goodput_bit_s", at=point)
            for flow in flows
        ]
        return [sum(one or 0.0 for one in run) / 1e3 for run in zip(*series, strict=True)]


def calibration(measured: Measured) -> Named:
    """Gains, levels and orders of one, two and three connections."""
    judged = Points(measured, "judged")
    found: Named = {}
    for count in COUNTS:
        found |= curve_values(judged, READING, count) | orders(judged, READING, count)
    return found | least(found, (READING,))
