"""Time axis that compresses long gaps, to leave space for the packets around them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

LONG_SHARE, SHOWN_SHARE = 0.25, 0.12
"""A gap longer than the first share of the busy time is drawn with the length of the second
share."""


@dataclass(frozen=True)
class Gap:
    """Period without packets, and its extent on the compressed axis."""

    start_s: float
    end_s: float
    top: float
    bottom: float


class CompressedAxis:
    """Mapping of times to coordinates on the axis, and the gaps that it compresses."""

    def __init__(self, packets: list[pl.DataFrame], transit_s: float) -> None:
        busy = _busy(packets, transit_s)
        total = sum(end - start for start, end in busy) or transit_s
        self.times, self.places = [busy[0][0]], [0.0]
        self.gaps: list[Gap] = []
        for (_, start), (end, _) in pairwise(busy):
            if end - start > LONG_SHARE * total:
                self._add(start, start - self.times[-1])
                self._add(end, SHOWN_SHARE * total)
                self.gaps.append(Gap(start, end, self.places[-2], self.places[-1]))
        self._add(busy[-1][1], busy[-1][1] - self.times[-1])

    def _add(self, time: float, length: float) -> None:
        self.times.append(time)
        self.places.append(self.places[-1] + length)

    def place(self, times: pl.Series) -> pl.Series:
        """Coordinates of these times on the axis; missing times stay missing."""
        array = times.cast(pl.Float64).to_numpy()
        return pl.Series(np.interp(array, self.times, self.places)).fill_nan(None)

    def on_axis(self, packets: pl.DataFrame) -> pl.DataFrame:
        """Packets with coordinates in place of times."""
        return packets.with_columns(
            self.place(packets[name]).alias(name) for name in ("sent_s", "arrived_s")
        )

    def ticks(self) -> tuple[list[float], list[str]]:
        """Coordinates and labels of ticks: times at which packets resume after a gap."""
        begins = [(self.times[0], 0.0)]
        begins += [(gap.end_s, gap.bottom) for gap in self.gaps]
        return [place for _, place in begins], [f"{time:.3f}" for time, _ in begins]


def _busy(packets: list[pl.DataFrame], transit_s: float) -> list[tuple[float, float]]:
    """Periods during which at least one packet is in flight, in order."""
    spans = sorted(
        (sent, sent + transit_s if arrived is None else arrived)
        for frame in packets
        for sent, arrived in frame.select("sent_s", "arrived_s").iter_rows()
    )
    merged = [spans[0]]
    for start, end in spans[1:]:
        if start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
