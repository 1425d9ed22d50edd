"""Recorded delays and losses that a scenario replays, as a table over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from retx.fitting.fit import Fit

POINTS_MOST = 400
"""Maximum number of points in a scenario; more points are written to a file next to it."""
Point = tuple[float, "float | None", "float | None"]
"""Time, loss, delay above the shortest; None if the table has no such column."""


def points(fit: Fit, *, replay: bool) -> list[Point]:
    """Points of the table, each valid until the next; without `replay`, they have only delays."""
    packets = fit.series.packets
    if packets is None:
        return []
    has_delays = fit.delays is not None and not np.isnan(packets.delays_s).all()
    has_losses = replay and fit.losses is not None
    if not has_delays and not has_losses:
        return []
    delays = np.zeros(len(packets.times_s))
    if has_delays and fit.delays is not None:
        # An interval without arrivals keeps the previous delay.
        known = np.flatnonzero(~np.isnan(packets.delays_s))
        place = np.searchsorted(known, np.arange(len(delays)), side="right") - 1
        delays = packets.delays_s[known[np.maximum(place, 0)]] - fit.delays.least_s
    rows: list[Point] = []
    for index, (time, delay) in enumerate(zip(packets.times_s, delays, strict=True)):
        lost = packets.lost[index]
        loss = (0.0 if np.isnan(lost) else float(lost)) if has_losses else None
        row = (float(time), loss, round(float(delay), 9) if has_delays else None)
        if rows and time <= rows[-1][0]:
            continue
        if not rows or row[1:] != rows[-1][1:]:
            rows.append(row)
    return rows


def table(rows: list[Point]) -> str:
    """The points as CSV, in the columns of the channel `trace`."""
    _, loss, delay = rows[0]
    names = ["time_s", *(["loss"] if loss is not None else []),
             *(["delay_s"] if delay is not None else [])]  # fmt: skip
    lines = [",".join(names)]
    for row in rows:
        lines.append(",".join(f"{value:.9g}" for value in row if value is not None))
    return "\n".join(lines) + "\n"
