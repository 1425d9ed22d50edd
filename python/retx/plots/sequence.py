"""Time-sequence diagram: transmissions, retransmissions, losses and acknowledgments."""

from __future__ import annotations

from typing import Any

import polars as pl

from retx.analysis.thinning import distinct, envelope
from retx.plots.flows import check_span, check_times, chosen_flows, of_flow
from retx.plots.style import (
    BLUE,
    GREEN,
    ORANGE,
    RED,
    Ax,
    Figure,
    byte_unit,
    new_figure,
    shared_legend,
    styled,
)

DRAWN = ("sent_s", "low", "high")
RASTER_ROWS = 5_000
"""Number of rows above which marks are rasterised: a vector drawing would show no more detail."""


def sequence(
    segments: pl.DataFrame,
    *,
    flow: str | None = None,
    span: tuple[float, float] | None = None,
    ax: Ax = None,
) -> Figure:
    """One panel per flow: a bar for each segment sent, marks on retransmissions and losses.

    Args:
        segments: The `segments` table.
        flow: Name of the flow; all flows by default.
        span: Start and end, in seconds of the run.
        ax: Axes to draw into, instead of a new figure.

    Raises:
        PlotError: The flow is unknown, or there is nothing to draw within the span.
    """
    flows = chosen_flows(segments, flow)
    shown = _seen(segments.filter(pl.col("flow").cast(pl.String).is_in(flows)), span)
    check_span(span, [shown], "segment")
    unit = byte_unit(max(segments["seq"]))
    with styled():
        figure, panels = new_figure(len(flows), height=3.4, ax=ax)
        for axes, name in zip(panels, flows, strict=True):
            _draw(axes, _seen(of_flow(segments, name), span), unit[0])
            axes.set_title(name)
            axes.set_ylabel(f"sequence number ({unit[1]})")
            if span is not None:
                axes.set_xlim(span)
        panels[-1].set_xlabel("time (s)")
        shared_legend(figure, panels, ax)
    figure.data |= {"segments": shown}
    return figure


def _seen(segments: pl.DataFrame, span: tuple[float, float] | None) -> pl.DataFrame:
    check_times(span)
    if span is None:
        return segments
    return segments.filter(pl.col("sent_s").is_between(*span) | pl.col("acked_s").is_between(*span))


def _draw(axes: Any, segments: pl.DataFrame, unit: float) -> None:  # noqa: ANN401
    low = segments["seq"] / unit
    high = (segments["seq"] + segments["length_bytes"]) / unit
    gone = ~segments["fate"].cast(pl.String).is_in(["delivered", "refused", "on_its_way"])
    rows = segments.select("sent_s", "retransmission", low=low, high=high, lost=gone)
    raster = rows.height > RASTER_ROWS
    # Retransmissions and losses have separate marks, which are never left out.
    marked = rows["retransmission"] | rows["lost"]
    kept = [distinct(rows.filter(~marked), DRAWN), rows.filter(marked)]
    rows = pl.concat(kept).sort("sent_s", maintain_order=True)
    again = rows["retransmission"]
    for part, colour, width, label in (
        (rows.filter(~again), BLUE, 1.4, "sent"),
        (rows.filter(again), ORANGE, 2.4, None),
    ):
        axes.vlines(
            part["sent_s"],
            part["low"],
            part["high"],
            colors=colour,
            lw=width,
            label=label,
            rasterized=raster,
        )
    resent, lost = rows.filter(again), rows.filter(rows["lost"])
    if resent.height:
        axes.scatter(
            resent["sent_s"],
            resent["low"],
            marker="^",
            s=18,
            color=ORANGE,
            linewidths=0,
            label="retransmitted",
            zorder=3,
        )
    if lost.height:
        axes.scatter(
            lost["sent_s"],
            lost["high"],
            marker="x",
            s=22,
            color=RED,
            linewidths=1.2,
            label="lost",
            zorder=4,
        )
    acknowledged = (
        segments.select(time="acked_s", high=high)
        .drop_nulls()
        .sort("time", "high")
        .with_columns(pl.col("high").cum_max())
    )
    acknowledged = envelope(acknowledged, "time", "high")
    axes.step(
        acknowledged["time"],
        acknowledged["high"],
        where="post",
        color=GREEN,
        lw=1.0,
        label="acknowledged",
    )
