"""Limits of a flow: a bar of their shares, alone or below the curve of its congestion window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from retx.analysis.limits import PHRASES, flat, per_cent, ranked, shares
from retx.plots.flows import check_span, of_flow, one_flow, within
from retx.plots.limit_styles import LEAST_NAMED, MOST_NAMED, colour_and_hatch
from retx.plots.limits_over_time import draw_window_and_limits
from retx.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    PANEL_INCHES,
    RED,
    WIDTH_INCHES,
    Ax,
    Figure,
    given,
    shared_legend,
    styled,
)

BAR_INCHES, LINE_INCHES = 0.75, 0.18
LEAST_LABELLED = 0.06
"""Smallest share whose number is written in the bar."""


def why(
    samples: pl.DataFrame,
    episodes: pl.DataFrame | None,
    limited_by: Mapping[str, Mapping[str, Any] | None],
    *,
    limits: pl.DataFrame | None = None,
    phrases: Mapping[str, str] | None = None,
    flow: str | None = None,
    span: tuple[float, float] | None = None,
    ax: Ax = None,
) -> Figure:
    """Congestion window of one flow over time with a band of its limits, and the limits' shares.

    Args:
        samples: The `samples` table.
        episodes: The `episodes` table.
        limited_by: `limited_by` of each flow, by name.
        limits: The `limits` table; without it there is no band.
        phrases: Phrases for some keys, instead of those in `PHRASES`.
        flow: Name of the flow; required if there are several.
        span: Part of the run for which the window is drawn: start and end, in seconds.
        ax: Two axes to draw into, instead of a new figure.

    Raises:
        PlotError: The flow is unknown, or there is nothing to draw within the span.
    """
    name = one_flow(samples, flow)
    own = of_flow(samples, name)
    check_span(span, [within(own, "time_s", span)])
    marked = None if episodes is None else of_flow(episodes, name)
    spans = None if limits is None else of_flow(limits, name)
    seconds = flat(limited_by.get(name))
    inches = [PANEL_INCHES, bar_inches(seconds)]
    with styled():
        figure, axes, bar = stacked(inches, ax)
        draw_window_and_limits(axes, own, marked, spans, span=span)
        axes.set_title(name, pad=16)
        shared_legend(axes.figure, [axes], ax)
        draw_shares(bar, seconds, name, phrases=phrases, within=ax is not None)
    figure.data |= {"shares": share_table(seconds), "samples": within(own, "time_s", span)}
    return figure


def bar_inches(seconds: Mapping[str, float]) -> float:
    """Height of a bar with the names of its parts, in inches."""
    named = sum(share >= LEAST_NAMED for share in shares(seconds).values())
    return BAR_INCHES + LINE_INCHES * min(MOST_NAMED, named)


def stacked(inches: Sequence[float], ax: Ax = None) -> tuple[Figure, Any, Any]:
    """Two panels, one above the other, in subfigures, so that neither narrows the other.

    Args:
        inches: Heights of the panels.
        ax: Two axes to use instead.
    """
    if ax is not None:
        figure, (above, below) = given(ax, 2)
        return figure, above, below
    figure = Figure(figsize=(WIDTH_INCHES, sum(inches)), layout="constrained")
    top, bottom = figure.subfigures(2, 1, squeeze=False, height_ratios=inches)[:, 0]
    return figure, top.subplots(), bottom.subplots()


def draw_shares(
    axes: Any,  # noqa: ANN401
    seconds: Mapping[str, float],
    name: str,
    *,
    phrases: Mapping[str, str] | None = None,
    within: bool = False,
) -> None:
    """Draws one bar of the flow's lifetime; the legend is below it, or `within` the axes.

    Args:
        axes: Axes of the bar.
        seconds: Seconds by key of `limited_by`.
        name: Name of the flow.
        phrases: Phrases for some keys, instead of those in `PHRASES`.
        within: True to put the legend into the axes.
    """
    left = 0.0
    words = PHRASES | dict(phrases or {})
    parts = [(key, share) for key, share in ranked(shares(seconds)) if share > 0]
    for key, share in parts:
        colour, hatch = colour_and_hatch(key)
        label = f"{per_cent(share)} {words.get(key, key)}" if share >= LEAST_NAMED else None
        axes.barh(
            0, share, left=left, height=0.7, color=colour, hatch=hatch, edgecolor="white",
            linewidth=0.8, label=label,
        )  # fmt: skip
        if share >= LEAST_LABELLED:
            dark = colour in (BLACK, BLUE, RED, GREEN)
            axes.text(
                left + share / 2, 0, per_cent(share), ha="center", va="center",
                color="white" if dark else "black", fontsize=8,
                bbox={"facecolor": colour, "edgecolor": "none", "pad": 1.0},
            )  # fmt: skip
        left += share
    axes.set_xlim(0, 1)
    axes.set_title(f"{name}: limited …")
    axes.axis("off")
    handles, labels = axes.get_legend_handles_labels()
    shown = handles[:MOST_NAMED], labels[:MOST_NAMED]
    if within:
        axes.legend(*shown, loc="upper left", bbox_to_anchor=(0, 0))
    else:
        axes.figure.legend(*shown, loc="outside lower left", ncols=1)


def share_table(seconds: Mapping[str, float]) -> pl.DataFrame:
    """Seconds and shares by key, the largest first."""
    rows = [
        {"key": key, "seconds": seconds[key], "share": share}
        for key, share in ranked(shares(seconds))
    ]
    return pl.DataFrame(rows)
