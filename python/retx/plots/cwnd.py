"""Congestion window, slow start threshold and flight size against time."""

from __future__ import annotations

from typing import Any

import polars as pl

from retx.analysis.thinning import envelope
from retx.plots.flows import check_span, chosen_flows, of_flow, within
from retx.plots.style import (
    BLACK,
    BLUE,
    CAUSE_COLOUR,
    GREEN,
    GREY,
    KIND_MARK,
    ORANGE,
    Ax,
    Figure,
    new_figure,
    shared_legend,
    styled,
)

THRESHOLD, FLIGHT = "ssthresh", "flight size"
RECEIVE_WINDOW = {"color": GREEN, "ls": "--", "zorder": 2.2, "label": "receive window"}
FAR = 4
"""The receive window of a capture is drawn up to this multiple of the largest flight size."""
KIND_LABEL = {"fast_retransmit": "fast retransmit", "rto": "timeout"}
KIND_HEIGHT = {"fast_retransmit": 1.02, "rto": 1.07}
"""Height of the marks, as a fraction of the panel height. Marks of timeouts are higher, because
timeouts are rarer and must not be covered.
"""


def cwnd(
    samples: pl.DataFrame,
    episodes: pl.DataFrame | None = None,
    *,
    flow: str | None = None,
    span: tuple[float, float] | None = None,
    ax: Ax = None,
) -> Figure:
    """One panel per flow; marks along its top edge show recovery episodes by their true cause.

    Args:
        samples: The `samples` table.
        episodes: The `episodes` table.
        flow: Name of the flow; all flows by default.
        span: Start and end, in seconds of the run.
        ax: Axes to draw into, instead of a new figure.

    Raises:
        PlotError: The flow is unknown, or there is nothing to draw within the span.
    """
    flows = chosen_flows(samples, flow)
    shown = pl.col("flow").cast(pl.String).is_in(flows)
    data = {"samples": within(samples.filter(shown), "time_s", span)}
    check_span(span, [data["samples"]])
    if episodes is not None:
        data["episodes"] = within(episodes.filter(shown), "start_s", span)
    with styled():
        figure, panels = new_figure(len(flows), ax=ax)
        for axes, name in zip(panels, flows, strict=True):
            marked = None if episodes is None else of_flow(episodes, name)
            draw_window(axes, of_flow(samples, name), marked, span)
            if marked is not None:
                mark_episodes(axes, within(marked, "start_s", span))
            axes.set_title(name, pad=16)
            axes.set_ylabel("window (kB)")
            axes.set_ylim(bottom=0)
            if span is not None:
                axes.set_xlim(span)
        panels[-1].set_xlabel("time (s)")
        shared_legend(figure, panels, ax)
    figure.data |= data
    return figure


def draw_window(
    axes: Any,  # noqa: ANN401
    samples: pl.DataFrame,
    episodes: pl.DataFrame | None,
    span: tuple[float, float] | None,
) -> None:
    """Draws congestion window, slow start threshold and flight size of one flow."""
    timeouts = _after_timeouts(episodes)
    samples, timeouts = within(samples, "time_s", span), within(timeouts, "time_s", span)
    if samples.is_empty():
        return
    # Until the first loss the threshold is larger than any window and would compress the other
    # curves.
    largest = samples.select(pl.max_horizontal("cwnd_bytes", "flight_size_bytes").max()).item()
    threshold = pl.col("ssthresh_bytes")
    known = samples.with_columns(pl.when(threshold <= 1.5 * largest).then(threshold))
    window = pl.concat([samples.select(timeouts.columns), timeouts]).sort("time_s")
    of_capture = samples["cwnd_bytes"].null_count() == samples.height
    if of_capture:
        # A capture shows the receiver's window, but no congestion window. A window far above the
        # flight size limits nothing, so it is not drawn.
        peer = pl.col("rwnd_bytes")
        known = known.with_columns(rwnd_bytes=pl.when(peer <= FAR * largest).then(peer))
    peers = [("rwnd_bytes", known, RECEIVE_WINDOW)] if of_capture else []
    for column, rows, look in (
        *peers,
        ("cwnd_bytes", window, {"color": BLUE, "zorder": 2.3, "label": "cwnd"}),
        ("ssthresh_bytes", known, {"color": ORANGE, "ls": "--", "zorder": 2.2, "label": THRESHOLD}),
        ("flight_size_bytes", known, {"color": GREY, "lw": 0.8, "zorder": 2.1, "label": FLIGHT}),
    ):
        if rows[column].null_count() == rows.height:
            continue
        drawn = envelope(rows, "time_s", column)
        values = drawn[column].fill_null(float("nan")) / 1e3
        axes.step(drawn["time_s"], values, where="post", **look)


def _after_timeouts(episodes: pl.DataFrame | None) -> pl.DataFrame:
    """Congestion window right after each timeout, which samples show only at the next ACK."""
    columns = pl.Schema({"time_s": pl.Float64, "cwnd_bytes": pl.Int64})
    if episodes is None or "cwnd_after_bytes" not in episodes.columns:
        return pl.DataFrame(schema=columns)
    timeouts = episodes.filter(pl.col("kind").cast(pl.String) == "rto")
    left = timeouts.select(time_s="start_s", cwnd_bytes="cwnd_after_bytes")
    return left.drop_nulls().cast(columns)


def mark_episodes(axes: Any, episodes: pl.DataFrame) -> None:  # noqa: ANN401
    """Draws the marks of a flow's recoveries along the top of a panel."""
    for (kind, cause), rows in episodes.group_by("kind", "cause", maintain_order=True):
        axes.scatter(
            rows["start_s"],
            [KIND_HEIGHT.get(str(kind), 1.02)] * len(rows),
            transform=axes.get_xaxis_transform(),
            marker=KIND_MARK.get(str(kind), "o"),
            color=CAUSE_COLOUR.get(str(cause), BLACK),
            s=28,
            linewidths=0,
            clip_on=False,
            zorder=3,
            label=f"{KIND_LABEL.get(str(kind), kind)} ({cause})",
        )
