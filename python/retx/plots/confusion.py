"""Causes of losses inferred by the senders, compared with the true causes, as a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from retx.analysis.confusion import CAUSES, INFERRED, KINDS
from retx.plots.flows import PlotError
from retx.plots.style import RC, WIDTH_INCHES, Ax, Figure, given, styled

TITLE = {"fast_retransmit": "fast retransmits", "rto": "timeouts"}
TRUE = "true cause (100 % each)"
HEIGHT_INCHES = 2.4


def confusion(table: pl.DataFrame, *, flow: str | None = None, ax: Ax = None) -> Figure:
    """One matrix for fast retransmits, one for timeouts: counts, and shares of each true cause.

    Args:
        table: Result of `retx.analysis.confusion.confusion` for the `flows` table.
        flow: Name of the flow; the sum of all flows by default.
        ax: Two axes to draw into, instead of a new figure.

    Raises:
        PlotError: The flow is unknown, or there is no episode.
    """
    own = table if flow is None else table.filter(pl.col("flow") == flow)
    if own.is_empty():
        raise PlotError(f"no flow {flow!r} in the table")
    counts = own.group_by("kind", "inferred_cause", maintain_order=True).agg(pl.col(*CAUSES).sum())
    if not counts.select(pl.sum_horizontal(pl.col(*CAUSES).sum())).item():
        raise PlotError("there is no recovery episode, and thus no inferred cause")
    with styled():
        if ax is None:
            figure = Figure(figsize=(WIDTH_INCHES, HEIGHT_INCHES), layout="constrained")
            panels = list(figure.subplots(1, len(KINDS), sharey=True))
        else:
            figure, panels = given(ax, len(KINDS))
        for axes, kind in zip(panels, KINDS, strict=True):
            rows = counts.filter(pl.col("kind").cast(pl.String) == kind)
            matrix = rows.select(CAUSES).to_numpy().astype(float)
            _matrix(axes, matrix)
            axes.set_title(TITLE[kind])
            if ax is not None:
                axes.set_xlabel(TRUE)
        if ax is None:
            figure.supxlabel(TRUE, fontsize=RC["axes.labelsize"])
        panels[0].set_ylabel("inferred")
    figure.data |= {"confusion": counts}
    return figure


def _matrix(axes: Any, counts: Any) -> None:  # noqa: ANN401
    totals = counts.sum(axis=0)
    shares = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    # The colours stay light enough for black numbers even if one cause has all losses.
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=2.0, aspect="auto")
    for (row, column), count in np.ndenumerate(counts):
        text = f"{count:.0f}" + (f"\n{100 * shares[row, column]:.0f} %" if totals[column] else "")
        axes.text(column, row, text, ha="center", va="center", fontsize=8)
    axes.set_xticks(range(len(CAUSES)), CAUSES)
    axes.set_yticks(range(len(INFERRED)), INFERRED)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
