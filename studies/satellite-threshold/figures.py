"""Figures that figures.toml cannot say."""

from __future__ import annotations

from collections.abc import Iterator

from retx.plots import style
from retx.study import Figure, Measured

from . import front
from .tables import tables
from .values import round_trips, values

__all__ = ["figures", "tables", "values"]


def figures(measured: Measured) -> Iterator[Figure]:
    """Figures in no order: the text places them."""
    with style.styled():
        yield _correlation(measured)
        yield front.figure(measured)


def _correlation(measured: Measured) -> Figure:
    """The paper's figure 1."""
    trips = round_trips(measured.run("traces", "clean")).drop_nulls()
    figure = style.Figure(figsize=(5.2, 3.6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.plot(trips["acked_s"], trips["rtt_s"] * 100, color=style.BLUE, lw=0.9)
    upper.set_ylabel("RTT (ticks)")
    lower.plot(trips["acked_s"], trips["cwnd"], color=style.RED, lw=0.9)
    lower.set_ylabel("cwnd (segments)")
    lower.set_xlabel("time (s)")
    lower.set_ylim(bottom=0)
    lower.set_xlim(0, 100)
    return Figure(
        "figure_1",
        figure,
        "RTT of each segment and congestion window, one connection without errors (the paper's "
        "figure 1). A tick is 10 ms, the time of a packet at the bottleneck.",
        "Round-trip time and congestion window over 100 s; both rise and fall together.",
    )
