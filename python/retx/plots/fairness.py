"""How fairly flows share a path, over time."""

from __future__ import annotations

import polars as pl

from retx.analysis.sharing import jain_over_time, shares
from retx.plots.flows import check_span, within
from retx.plots.labels import axis
from retx.plots.style import (
    BLACK,
    COLOURS,
    GREY,
    LINES,
    Figure,
    new_figure,
    shared_legend,
    styled,
)

MOST_NAMED = 8
INTERVALS = 60
"""So many in a run, unless an interval is asked for."""


def fairness(
    samples: pl.DataFrame,
    *,
    interval_s: float | None = None,
    span: tuple[float, float] | None = None,
) -> Figure:
    """Goodputs above, Jain's index of them below.

    Args:
        samples: The `samples` table.
        interval_s: Goodputs are means over so long; a sixtieth of the run by default.
        span: From and to, in seconds of the run.

    Raises:
        PlotError: There is no sample within the span.
        TableError: The interval does not fit the run.
    """
    check_span(span, [within(samples, "time_s", span)])
    step = interval_s or float(samples["time_s"].max() or 1.0) / INTERVALS  # type: ignore[arg-type]
    each, index = shares(samples, step), jain_over_time(samples, step)
    names = each["flow"].unique(maintain_order=True).to_list()
    scale, label = axis("goodput_bit_s", each["goodput_bit_s"])
    with styled():
        figure, (above, below) = new_figure(2, height=2.0)
        for number, name in enumerate(names):
            rows = each.filter(pl.col("flow") == name)
            few = len(names) <= MOST_NAMED
            above.step(
                *_from_the_start(rows["time_s"], rows["goodput_bit_s"] / scale, step),
                where="pre",
                color=COLOURS[number % len(COLOURS)] if few else GREY,
                ls=LINES[number % len(LINES)] if few else "-",
                lw=1.1 if few else 0.5,
                label=name if few else (f"{len(names)} flows" if number == 0 else None),
            )
        below.step(*_from_the_start(index["time_s"], index["jain"], step), where="pre", color=BLACK)
        above.set_ylabel(label)
        above.set_ylim(bottom=0)
        below.set_ylabel("Jain's index")
        below.set_ylim(0, 1.05)
        below.set_xlabel("time (s)")
        if span is not None:
            below.set_xlim(span)
        shared_legend(figure, [above])
    figure.data = {
        "shares": within(each, "time_s", span),
        "fairness": within(index, "time_s", span),
    }
    return figure


def _from_the_start(
    ends: pl.Series, values: pl.Series, step: float
) -> tuple[list[float], list[float]]:
    """Times are those of the ends of intervals: the first one begins a step earlier."""
    return [ends[0] - step, *ends], [values[0], *values]
