"""Burst lengths of losses, compared with those of a Gilbert-Elliott chain."""

from __future__ import annotations

import polars as pl

from retx.analysis.bursts import burst_lengths
from retx.models import gilbert_elliott
from retx.plots.flows import check_span, within
from retx.plots.metric import HEIGHT_INCHES
from retx.plots.style import (
    RED,
    SKY,
    Ax,
    Figure,
    label_decades,
    one_panel,
    shared_legend,
    styled,
)

MOST_TICKS = 20
LEAST_DECADE = 0.1
"""Largest value of the share at the lower end of the vertical axis."""


def bursts(
    segments: pl.DataFrame,
    *,
    flow: str | None = None,
    span: tuple[float, float] | None = None,
    chain: tuple[float, float, float, float] | None = None,
    ax: Ax = None,
) -> Figure:
    """Histogram of lengths, on a logarithmic axis, with the chain's probabilities.

    Args:
        segments: The `segments` table; of one flow, or of flows that share the lossy link.
        flow: Name of the flow; all flows by default.
        span: Start and end of the transmission times, in seconds of the run.
        chain: p, r, k and h of the chain; by default the chain with k = 1 and h = 0 of the measured
            mean burst.
        ax: Axes to draw into, instead of a new figure.

    Raises:
        TableError: No channel lost a packet.
        PlotError: Nothing was sent within the span.
        ModelError: A parameter of the chain is not a probability.
    """
    sent = within(segments, "sent_s", span)
    check_span(span, [sent], "segment")
    found = burst_lengths(sent, flow)
    mean = float((found["length"] * found["share"]).sum())
    p, r, k, h = chain or (0.5, 1 / mean, 1.0, 0.0)
    model = gilbert_elliott.burst_lengths(found.height, p, r, k, h)
    label = "chain as given" if chain else f"geometric, mean {mean:.3g}"
    with styled():
        figure, axes = one_panel(HEIGHT_INCHES, ax)
        axes.bar(found["length"], found["share"], color=SKY, width=0.8, label="measured")
        axes.plot(found["length"], model, "o-", color=RED, ms=4, label=label)
        axes.set_yscale("log")
        least = float(found.filter(pl.col("runs") > 0)["share"].min())  # type: ignore[arg-type]
        axes.set_ylim(min(least / 2, LEAST_DECADE), 1.0)
        label_decades(axes.yaxis)
        axes.set_xlabel("segments lost by the channel in a row")
        axes.set_ylabel("share of runs")
        axes.set_xlim(0.5, found.height + 0.5)
        axes.set_xticks(range(1, found.height + 1, 1 + found.height // MOST_TICKS))
        shared_legend(figure, [axes], ax)
    figure.data |= {"bursts": found.with_columns(model=pl.Series(model))}
    return figure
