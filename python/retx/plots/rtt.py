"""Round-trip times and the retransmission timeout against time."""

from __future__ import annotations

from typing import Any

import polars as pl

from retx.analysis.thinning import distinct, envelope
from retx.plots.flows import check_span, chosen_flows, of_flow, within
from retx.plots.style import (
    BLUE,
    GREY,
    RED,
    Ax,
    Figure,
    label_decades,
    new_figure,
    shared_legend,
    styled,
)


def rtt(
    samples: pl.DataFrame,
    segments: pl.DataFrame | None = None,
    *,
    flow: str | None = None,
    span: tuple[float, float] | None = None,
    ax: Ax = None,
) -> Figure:
    """One panel per flow, in milliseconds on a logarithmic axis.

    Args:
        samples: The `samples` table: SRTT and RTO.
        segments: The `segments` table; with it, the RTT of each segment that was sent once.
        flow: Name of the flow; all flows by default.
        span: Start and end, in seconds of the run.
        ax: Axes to draw into, instead of a new figure.

    Raises:
        PlotError: The flow is unknown, or there is nothing to draw within the span.
    """
    flows = chosen_flows(samples, flow)
    shown = pl.col("flow").cast(pl.String).is_in(flows)
    data = {"samples": within(samples.filter(shown), "time_s", span)}
    if segments is not None:
        data["segments"] = within(segments.filter(shown), "acked_s", span)
    check_span(span, [*data.values()])
    with styled():
        figure, panels = new_figure(len(flows), ax=ax)
        for axes, name in zip(panels, flows, strict=True):
            if segments is not None:
                _draw_round_trips(axes, within(of_flow(segments, name), "acked_s", span))
            _draw_estimates(axes, within(of_flow(samples, name), "time_s", span))
            axes.set_title(name)
            axes.set_yscale("log")
            label_decades(axes.yaxis)
            axes.set_ylabel("RTT, RTO (ms)")
            if span is not None:
                axes.set_xlim(span)
        panels[-1].set_xlabel("time (s)")
        shared_legend(figure, panels, ax)
    figure.data |= data
    return figure


def _draw_round_trips(axes: Any, segments: pl.DataFrame) -> None:  # noqa: ANN401
    # Karn's algorithm: the acknowledgment of a retransmitted segment is ambiguous.
    resent = segments.filter(pl.col("retransmission"))["seq"].implode()
    once = segments.filter(~pl.col("seq").is_in(resent)).drop_nulls("acked_s")
    trips = once.select("acked_s", trip=(pl.col("acked_s") - pl.col("sent_s")) * 1e3)
    trips = distinct(trips.with_columns(height=pl.col("trip").log()), ["acked_s", "height"])
    axes.scatter(
        trips["acked_s"],
        trips["trip"],
        s=3,
        color=GREY,
        linewidths=0,
        rasterized=once.height > 5_000,
        label="segment to ACK",
    )


def _draw_estimates(axes: Any, samples: pl.DataFrame) -> None:  # noqa: ANN401
    for column, colour, line, label in (
        ("srtt_s", BLUE, "-", "SRTT"),
        ("rto_s", RED, "--", "RTO"),
    ):
        known = envelope(samples.select("time_s", column).drop_nulls(), "time_s", column)
        axes.step(
            known["time_s"], known[column] * 1e3, where="post", color=colour, ls=line, label=label
        )
