"""Fairness over time of flows that share a path."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from retx.analysis.sharing import jain_over_time, shares
from retx.plots.flows import check_span, within
from retx.plots.goodput import (
    default_interval,
    draw_exceeded_rates,
    draw_goodputs,
    from_the_start,
)
from retx.plots.style import BLACK, Ax, Figure, new_figure, shared_legend, styled


def fairness(
    samples: pl.DataFrame,
    *,
    interval_s: float | None = None,
    span: tuple[float, float] | None = None,
    rates: Mapping[str, float] | None = None,
    ax: Ax = None,
) -> Figure:
    """Goodputs of the flows (upper panel) and their Jain's index (lower panel).

    Args:
        samples: The `samples` table.
        interval_s: Averaging interval of goodputs; a sixtieth of the run by default.
        span: Start and end, in seconds of the run.
        rates: Rate of the slowest link of each flow in bit/s, if it is known.
        ax: Axes to draw into, instead of a new figure.

    Raises:
        PlotError: No sample lies within the span.
        TableError: The interval does not fit the run.
    """
    check_span(span, [within(samples, "time_s", span)])
    step = default_interval(samples) if interval_s is None else interval_s
    each, index = shares(samples, step), jain_over_time(samples, step)
    with styled():
        figure, (above, below) = new_figure(2, height=2.0, ax=ax)
        draw_goodputs(above, each, step)
        draw_exceeded_rates(above, within(each, "time_s", span), step, rates or {})
        below.step(*from_the_start(index["time_s"], index["jain"], step), where="pre", color=BLACK)
        below.set_ylabel("Jain's index")
        below.set_ylim(0, 1.05)
        below.set_xlabel("time (s)")
        if span is not None:
            below.set_xlim(span)
        shared_legend(figure, [above], ax)
    figure.data |= {
        "shares": within(each, "time_s", span),
        "fairness": within(index, "time_s", span),
    }
    return figure
