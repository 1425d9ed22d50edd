"""Limits of a flow over time: a coloured band below the curve of its congestion window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from retx.analysis.limits import PHRASES, per_cent, ranked, shares
from retx.plots.cwnd import draw_window, mark_episodes
from retx.plots.flows import check_span, of_flow, one_flow, within
from retx.plots.limit_styles import LEAST_NAMED, MOST_NAMED, colour_and_hatch
from retx.plots.style import (
    GREY,
    PANEL_INCHES,
    WIDTH_INCHES,
    Ax,
    Figure,
    given,
    shared_legend,
    styled,
)

LINE_INCHES = 0.2
BINS = 480
"""Number of columns of the band. Each column is divided in proportion to the time under each limit.
"""
BAND, GAP = 0.12, 0.03
"""Height of the band and of the gap above it, in heights of the window's course."""


def limits_over_time(
    samples: pl.DataFrame,
    limits: pl.DataFrame,
    episodes: pl.DataFrame | None = None,
    *,
    phrases: Mapping[str, str] | None = None,
    flow: str | None = None,
    span: tuple[float, float] | None = None,
    ax: Ax = None,
) -> Figure:
    """Congestion window of one flow over time, above a band of what limited it at each moment.

    Args:
        samples: The `samples` table.
        limits: The `limits` table.
        episodes: The `episodes` table.
        phrases: Phrases for some keys, instead of those in `PHRASES`.
        flow: Name of the flow; required if there are several.
        span: Start and end, in seconds of the run.
        ax: Axes to draw into, instead of a new figure.

    Raises:
        PlotError: The flow is unknown, or there is nothing to draw within the span.
    """
    name = one_flow(samples, flow)
    own = of_flow(samples, name)
    shown = within(own, "time_s", span)
    check_span(span, [shown])
    marked = None if episodes is None else of_flow(episodes, name)
    spans = of_flow(limits, name)
    with styled():
        handles = _limit_patches(seconds_by_limit(spans, span), phrases or {})
        if ax is None:
            inches = [PANEL_INCHES, LINE_INCHES * len(handles)]
            figure = Figure(figsize=(WIDTH_INCHES, sum(inches)), layout="constrained")
            above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=inches)[:, 0]
            axes = above.subplots()
        else:
            figure, (axes,) = given(ax, 1)
        draw_window_and_limits(axes, own, marked, spans, span=span)
        axes.set_title(name, pad=16)
        if ax is None:
            shared_legend(above, [axes])
            below.legend(handles=handles, loc="upper left", ncols=1)
        else:
            axes.legend(handles=[*axes.get_legend_handles_labels()[0], *handles])
    figure.data |= {"samples": shown, "limits": spans}
    return figure


def draw_window_and_limits(
    axes: Any,  # noqa: ANN401
    samples: pl.DataFrame,
    episodes: pl.DataFrame | None,
    limits: pl.DataFrame | None,
    *,
    span: tuple[float, float] | None = None,
) -> None:
    """Draws congestion window, recoveries and, if known, the band of the limits of one flow."""
    draw_window(axes, samples, episodes, span)
    if episodes is not None:
        mark_episodes(axes, within(episodes, "start_s", span))
    axes.set_ylabel("window (kB)")
    axes.set_xlabel("time (s)")
    axes.set_ylim(bottom=0)
    if span is not None:
        axes.set_xlim(span)
    if limits is not None and not limits.is_empty():
        _draw_band(axes, limits, span)


def seconds_by_limit(
    limits: pl.DataFrame, span: tuple[float, float] | None = None
) -> dict[str, float]:
    """Seconds of one flow by key of `limited_by`, within the span if there is one."""
    start, end = pl.col("start_s"), pl.col("end_s")
    if span is not None:
        start, end = start.clip(*span), end.clip(*span)
    rows = limits.group_by(pl.col("limit").cast(pl.String)).agg((end - start).sum().alias("time"))
    return {key: time for key, time in rows.iter_rows() if time > 0}


def shares_over_time(limits: pl.DataFrame, edges: np.ndarray[Any, Any]) -> dict[str, Any]:
    """For each limit of one flow: the shares of the intervals between `edges` under this limit."""
    found = {}
    for (key,), rows in limits.group_by(pl.col("limit").cast(pl.String)):
        start, end = rows["start_s"].to_numpy(), rows["end_s"].to_numpy()
        # The time spent under this limit so far increases within each span and is constant between
        # spans.
        moments = np.column_stack([start, end]).ravel()
        total = np.concatenate([[0.0], np.cumsum(end - start)])
        grown = np.column_stack([total[:-1], total[1:]]).ravel()
        found[str(key)] = np.diff(np.interp(edges, moments, grown)) / np.diff(edges)
    return found


def _draw_band(
    axes: Any,  # noqa: ANN401
    limits: pl.DataFrame,
    span: tuple[float, float] | None,
) -> None:
    """Draws the band of limits below zero on the window's axis."""
    top = axes.get_ylim()[1]
    first, last = span or (limits["start_s"][0], limits["end_s"][-1])
    edges = np.linspace(first, last, BINS + 1)
    found = shares_over_time(limits, edges)
    totals = {key: float(part.sum()) for key, part in found.items()}
    bottom = np.full(BINS, -(BAND + GAP) * top)
    # The limit with the largest share is drawn at the bottom of the band, where its lower edge does
    # not vary.
    for key, _ in ranked(totals):
        colour, hatch = colour_and_hatch(key)
        above = bottom + found[key] * BAND * top
        axes.fill_between(
            edges,
            np.append(bottom, bottom[-1]),
            np.append(above, above[-1]),
            step="post",
            facecolor=colour,
            edgecolor="white",
            hatch=hatch,
            linewidth=0,
            zorder=2,
        )
        bottom = above
    axes.axhline(0, color=GREY, linewidth=0.6, zorder=2)
    ticks = [tick for tick in axes.get_yticks() if 0 <= tick <= top]
    axes.set_ylim(-(BAND + 2 * GAP) * top, top)
    axes.set_yticks(ticks)


def _limit_patches(seconds: Mapping[str, float], phrases: Mapping[str, str]) -> list[Any]:
    """Entries of a legend for the largest shares of the band."""
    from matplotlib.patches import Patch

    words = PHRASES | dict(phrases)
    named = [row for row in ranked(shares(seconds)) if row[1] >= LEAST_NAMED][:MOST_NAMED]
    found = []
    for key, share in named:
        colour, hatch = colour_and_hatch(key)
        label = f"limited {per_cent(share)} {words.get(key, key)}"
        found.append(Patch(facecolor=colour, hatch=hatch, edgecolor="white", label=label))
    return found
