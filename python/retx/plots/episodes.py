"""Recovery episodes over time, coloured by their true cause."""

from __future__ import annotations

import numpy as np
import polars as pl

from retx.plots.flows import CHOOSE, PlotError, check_span, within
from retx.plots.style import (
    BLACK,
    CAUSE_COLOUR,
    CAUSE_HATCH,
    KIND_MARK,
    Ax,
    Figure,
    one_panel,
    shared_legend,
    styled,
)

MOST_STRIPS = 40
STRIP_INCHES, AROUND_INCHES = 0.36, 1.1
LEAST_SHARE = 0.002
"""Minimum drawn length of a bar, as a share of the axis; a shorter bar would not be visible."""


def episodes(
    table: pl.DataFrame,
    *,
    flow: str | None = None,
    span: tuple[float, float] | None = None,
    ax: Ax = None,
) -> Figure:
    """One strip per flow, with a bar for each episode and a mark for its kind at its beginning.

    Args:
        table: The `episodes` table.
        flow: Name of the flow; all flows by default.
        span: Start and end, in seconds of the run.
        ax: Axes to draw into, instead of a new figure.

    Raises:
        PlotError: The flow is unknown, there is no episode, or there are too many flows.
    """
    if flow is not None:
        table = table.filter(pl.col("flow").cast(pl.String) == flow)
    shown = within(table, "start_s", span)
    if shown.is_empty():
        of_flow = "" if flow is None else f" of flow {flow!r}"
        check_span(span, [shown], f"recovery episode{of_flow}")
        raise PlotError(f"there is no recovery episode{of_flow} to plot")
    flows = [str(name) for name in shown["flow"].unique(maintain_order=True)]
    if len(flows) > MOST_STRIPS:
        raise PlotError(f"{len(flows)} flows are too many for strips: {CHOOSE}")
    # An episode that was still open at the end of the run has no end time.
    ends = np.maximum(shown["end_s"].fill_null(0.0), shown["start_s"])
    start, end = span or (0.0, float(ends.max()))
    with styled():
        height = AROUND_INCHES + STRIP_INCHES * len(flows)
        figure, axes = one_panel(height, ax)
        for (kind, cause), rows in shown.group_by("kind", "cause", maintain_order=True):
            places = [flows.index(str(name)) for name in rows["flow"]]
            lengths = rows["end_s"].fill_null(end) - rows["start_s"]
            colour = CAUSE_COLOUR.get(str(cause), BLACK)
            axes.barh(
                places,
                lengths.clip(lower_bound=LEAST_SHARE * (end - start)),
                left=rows["start_s"],
                height=0.5,
                color=colour,
                alpha=0.55,
                hatch=CAUSE_HATCH.get(str(cause), ""),
                edgecolor=colour,
                linewidth=0.6,
            )
            axes.scatter(
                rows["start_s"],
                [place + 0.36 for place in places],
                marker=KIND_MARK.get(str(kind), "o"),
                color=colour,
                s=22,
                linewidths=0,
                zorder=3,
                label=f"{LABEL.get(str(kind), kind)} ({cause})",
            )
        axes.set_yticks(range(len(flows)), flows)
        axes.set_ylim(-0.5, len(flows) - 0.3)
        axes.set_xlim(start, end + 0.01 * (end - start))
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("time (s)")
        shared_legend(figure, [axes], ax)
    figure.data |= {"episodes": shown}
    return figure


LABEL = {"fast_retransmit": "fast retransmit", "rto": "timeout"}
