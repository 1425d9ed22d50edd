"""Drawings that figures.toml cannot say: 7, 8 and 10, and the window after one loss."""

from __future__ import annotations

import numpy as np
import polars as pl

from retx.plots import style
from retx.study import Measured, new_figure

from .quantities import steady_round_s, windows

COLOURS = {
    "0": style.BLACK,
    "0.0001": style.SKY,
    "0.001": style.GREEN,
    "0.01": style.ORANGE,
    "0.1": style.RED,
}
LINES = {"0": "-", "0.0001": "--", "0.001": "-.", "0.01": "-", "0.1": "-"}
ORDER = ("0.1", "0.01", "0", "0.0001", "0.001")


def received(measured: Measured, end: str = "") -> style.Figure:
    """Figures 7 and 8: the whole run, or its beginning up to a time in seconds."""
    figure, axes = new_figure()
    for case, colour in COLOURS.items():
        place = measured.at(f"drop/{case}")
        run = place.run(place.typical())
        arrived = run.segments.drop_nulls("arrived_s")
        edges = np.arange(int(arrived["arrived_s"].to_numpy().max()) + 2)
        received, _ = np.histogram(arrived["arrived_s"], edges, weights=arrived["length_bytes"])
        label = measured.study.experiments["drop"].cases[case].label
        # Longer lines are drawn first, except dashed ones, which show the line below.
        axes.step(
            edges[:-1], received / 1e3, where="post", color=colour, ls=LINES[case], lw=0.8,
            label=label, zorder=ORDER.index(case),
        )  # fmt: skip
    axes.set(xlabel="time (s)", ylabel="received (kB/s)")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, float(end) if end else None)
    figure.legend(loc="outside upper left", ncols=5, handlelength=1.4)
    return figure


def ladder(measured: Measured) -> style.Figure:
    """Figure 10."""
    result = measured.at("one_loss/221").run()
    sent = result.segments.filter(pl.col("packet_number") == 217)["sent_s"][0]
    drawn = result.plot.ladder(sent - 0.002, sent + 3.2 * steady_round_s())
    drawn.set_size_inches(7.0, 9.0)
    return drawn


def regrowth(measured: Measured) -> style.Figure:
    """The window after one loss, by ACK and by growth formula."""
    figure, axes = new_figure()
    round_s = steady_round_s()
    looks = {
        "221": (style.BLUE, "o", "equation 17, ACK for every 2nd segment"),
        "every_segment": (style.GREEN, "^", "equation 17, ACK for every segment"),
        "bytes": (style.ORANGE, "s", "one MSS per window acknowledged"),
    }
    for case, (colour, mark, label) in looks.items():
        grown = windows(measured.at(f"one_loss/{case}").run())
        grown = grown.filter(pl.col("cwnd_bytes") <= 8 * 1460)
        rounds = (grown["time_s"] - grown["time_s"][0]) / round_s
        axes.step(rounds, grown["cwnd_bytes"] / 1460, where="post", color=colour, lw=1)
        axes.plot(rounds, grown["cwnd_bytes"] / 1460, mark, ms=3, color=colour, label=label)
    printed = measured.study.published.series["table_9"].values
    axes.plot(
        [float(step) for step in printed],
        [value / 1460 for value in printed.values()],
        "x",
        color=style.RED,
        label="table 9, one step per round trip",
    )
    axes.axhline(6, color=style.GREY, lw=0.8, ls="--")
    axes.set_xlabel("rounds after the recovery")
    axes.set_ylabel("congestion window (MSS)")
    axes.set_xlim(-0.3, 15)
    axes.legend()
    return figure
