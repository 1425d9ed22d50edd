"""Goodputs of flows against time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from retx.analysis.sharing import shares
from retx.plots.flows import check_span, of_flow, one_flow, within
from retx.plots.labels import axis
from retx.plots.style import COLOURS, GREY, LINES, Ax, Figure, new_figure, shared_legend, styled

MOST_NAMED = 8
FEW_BITS = 4 * 12_000.0
"""Bits of a few full segments, which may be acknowledged late without any loss."""
INTERVALS = 60
"""Default number of intervals in a run."""


def goodput(
    samples: pl.DataFrame,
    *,
    flow: str | None = None,
    interval_s: float | None = None,
    span: tuple[float, float] | None = None,
    rates: Mapping[str, float] | None = None,
    ax: Ax = None,
) -> Figure:
    """Goodput over time: data received in order, according to the acknowledgments.

    Data beyond a gap count only when the gap is filled, which may raise the mean of an interval
    above the rate of the link. A line then shows this rate, and the legend says why.

    Args:
        samples: The `samples` table.
        flow: Name of the flow; all flows by default.
        interval_s: Averaging interval; a sixtieth of the run by default.
        span: Start and end, in seconds of the run.
        rates: Rate of the slowest link of each flow in bit/s, if it is known.
        ax: Axes to draw into, instead of a new figure.

    Raises:
        PlotError: The flow is unknown, or there is no sample within the span.
        TableError: The interval does not fit the run.
    """
    step = default_interval(samples) if interval_s is None else interval_s
    if flow is not None:
        samples = of_flow(samples, one_flow(samples, flow))
    check_span(span, [within(samples, "time_s", span)])
    each = shares(samples, step)
    with styled():
        figure, (axes,) = new_figure(ax=ax)
        draw_goodputs(axes, each, step)
        draw_exceeded_rates(axes, within(each, "time_s", span), step, rates or {})
        axes.set_xlabel("time (s)")
        if span is not None:
            axes.set_xlim(span)
        shared_legend(figure, [axes], ax)
    figure.data |= {"goodput": within(each, "time_s", span)}
    return figure


def default_interval(samples: pl.DataFrame) -> float:
    """Default averaging interval in seconds: a fixed fraction of the run."""
    return float(samples["time_s"].max() or 1.0) / INTERVALS  # type: ignore[arg-type]


def draw_goodputs(axes: Any, each: pl.DataFrame, step: float) -> None:  # noqa: ANN401
    """Draws a line for each flow; if there are many flows, all lines have the same style."""
    names = each["flow"].unique(maintain_order=True).to_list()
    few = len(names) <= MOST_NAMED
    scale, label = axis("goodput_bit_s", each["goodput_bit_s"])
    for number, name in enumerate(names):
        rows = of_flow(each, name)
        axes.step(
            *from_the_start(rows["time_s"], rows["goodput_bit_s"] / scale, step),
            where="pre",
            color=COLOURS[number % len(COLOURS)] if few else GREY,
            ls=LINES[number % len(LINES)] if few else "-",
            lw=1.1 if few else 0.5,
            label=name if few else (f"{len(names)} flows" if number == 0 else None),
        )
    axes.set_ylabel(label)
    axes.set_ylim(bottom=0)


def draw_exceeded_rates(
    axes: Any,  # noqa: ANN401
    each: pl.DataFrame,
    step: float,
    rates: Mapping[str, float],
) -> None:
    """Draws the rates of links that goodputs exceed by more than a few segments."""
    scale, _ = axis("goodput_bit_s", each["goodput_bit_s"])
    tops = each.group_by("flow").agg(pl.col("goodput_bit_s").max()).iter_rows()
    few = FEW_BITS / step
    exceeded = {rates[flow] for flow, top in tops if flow in rates and top > rates[flow] + few}
    for number, rate in enumerate(sorted(exceeded)):
        label = "rate of the link (above it: data that waited behind a gap, or for their ACK)"
        axes.axhline(rate / scale, color=GREY, ls=":", lw=1.0, label=label if not number else None)


def from_the_start(
    ends: pl.Series, values: pl.Series, step: float
) -> tuple[list[float], list[float]]:
    """Points of a step line, from the ends of intervals and their values.

    The first interval begins one `step` before its end.
    """
    return [ends[0] - step, *ends], [values[0], *values]
