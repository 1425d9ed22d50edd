"""Packets waiting in queues over time."""

from __future__ import annotations

from typing import Any

import polars as pl

from retx.analysis.queues import queue_length
from retx.analysis.thinning import envelope
from retx.errors.meant import choice
from retx.plots.flows import MOST_PANELS, PlotError, check_span, within
from retx.plots.style import BLUE, RED, Ax, Figure, new_figure, shared_legend, styled
from retx.scenarios.names import listed


def queue(
    link_samples: pl.DataFrame,
    drops: pl.DataFrame | None = None,
    *,
    place: str | None = None,
    span: tuple[float, float] | None = None,
    ax: Ax = None,
) -> Figure:
    """One panel for each queue that held packets at some time, with its drops marked.

    Args:
        link_samples: The `link_samples` table.
        drops: The `drops` table.
        place: Name of the queue, such as `cloud.forward`, or of a station of a wlan, `cell.laptop`;
            all by default.
        span: Start and end, in seconds of the run.
        ax: Axes to draw into, instead of a new figure.

    Raises:
        PlotError: The queue is unknown, no queue held packets, there are too many, or nothing lies
            within the span.
    """
    places = _places(link_samples, place)
    check_span(span, [within(link_samples, "time_s", span)])
    with styled():
        figure, panels = new_figure(len(places), height=2.0, ax=ax)
        for axes, name in zip(panels, places, strict=True):
            drawn = envelope(queue_length(link_samples, name, span), "time_s", "queue_packets")
            axes.step(
                drawn["time_s"], drawn["queue_packets"], where="post", color=BLUE, label="waiting"
            )
            if drops is not None:
                _mark_drops(axes, within(drops, "time_s", span), name)
            axes.set_title(name, pad=12)
            axes.set_ylabel("packets")
            axes.set_ylim(bottom=0)
            if span is not None:
                axes.set_xlim(span)
        panels[-1].set_xlabel("time (s)")
        shared_legend(figure, panels, ax)
    shown = within(link_samples, "time_s", span)
    figure.data |= {"queue": shown.filter(pl.col("place").cast(pl.String).is_in(places))}
    return figure


def _places(link_samples: pl.DataFrame, place: str | None) -> list[str]:
    known = [str(name) for name in link_samples["place"].unique(maintain_order=True)]
    if place is not None:
        if place not in known:
            end = choice(place, known, listed(known))
            raise PlotError(f"no place {place!r} in the table{end}")
        return [place]
    longest = link_samples.group_by("place", maintain_order=True).agg(pl.col("queue_packets").max())
    used = [str(name) for name, packets in longest.iter_rows() if packets]
    if not used:
        raise PlotError("no packet ever waited in a queue: there is nothing to plot")
    if len(used) > MOST_PANELS:
        raise PlotError(
            f"{len(used)} queues are too many for one figure: choose with place=…, one of "
            f"{listed(used)}"
        )
    return used


def _mark_drops(axes: Any, drops: pl.DataFrame, place: str) -> None:  # noqa: ANN401
    reason, where = pl.col("reason").cast(pl.String), pl.col("place").cast(pl.String)
    own = drops.filter((reason == "queue") & (where == place))
    if own.height:
        axes.scatter(
            own["time_s"],
            [1.02] * own.height,
            transform=axes.get_xaxis_transform(),
            marker="x",
            s=14,
            color=RED,
            linewidths=0.9,
            clip_on=False,
            label="dropped",
        )
