"""Simulated against emulated means."""

from __future__ import annotations

import polars as pl
from matplotlib.ticker import LogFormatter, NullFormatter

from retx.analysis.groups import TableError, needed
from retx.plots.labels import axis
from retx.plots.style import BLACK, COLOURS, MARKS, RED, Ax, Figure, one_panel, styled

SIDE_INCHES = 5.2
BAND = 0.15
NEEDED = [f"{side}{part}" for side in ("simulated", "emulated") for part in ("", "_low", "_high")]
TWO_DECADES = 100.0
"""Axes are logarithmic if the ratio of the largest to the smallest value exceeds this and no value
is zero."""


def agreement(
    table: pl.DataFrame, quantity: str, *, group: str | None = "tcp", ax: Ax = None
) -> Figure:
    """Simulated against emulated mean of each condition, with intervals and the diagonal.

    Points without agreement (the interval of the difference excludes zero) are ringed. The band
    covers deviations of up to 15 %.

    Args:
        table: One row per condition, as `Grid.of`.
        quantity: Quantity that is named at the axes.
        group: Column that determines the colour and mark of points, if present.
        ax: Axes to draw into, instead of a new figure.

    Raises:
        TableError: A column is missing, or there is no row with both means.
    """
    needed(table, [*NEEDED, "agrees"])
    known = table.drop_nulls(["simulated", "emulated"])
    if known.is_empty():
        raise TableError("no condition has both means: there is nothing to draw")
    scale, label = axis(quantity, [*known["simulated"], *known["emulated"]])
    shown = known.with_columns(pl.col(NEEDED) / scale)
    groups = [group] if group and group in shown.columns else []
    parts = shown.partition_by(groups, maintain_order=True) if groups else [shown]
    with styled():
        figure, axes = one_panel(SIDE_INCHES, ax, SIDE_INCHES)
        low, high = _frame(axes, shown)
        ends = [low, high]
        axes.plot(ends, ends, color=BLACK, lw=1.0, label="equal")
        below, above = ([end * (1 + sign * BAND) for end in ends] for sign in (-1, 1))
        axes.fill_between(ends, below, above, color="#EEEEEE", zorder=0, label="within 15 %")
        for number, part in enumerate(parts):
            _points(axes, part, number, str(part[groups[0]][0]) if groups else "one condition")
        apart = shown.filter(~pl.col("agrees"))
        if apart.height:
            axes.plot(
                apart["emulated"], apart["simulated"], "o", ms=12, mfc="none", mec=RED,
                label="intervals apart",
            )  # fmt: skip
        axes.set_xlabel(f"{label}, emulated")
        axes.set_ylabel(f"{label}, simulated")
        axes.legend(loc="upper left")
    figure.data |= {"agreement": known}
    return figure


def _frame(axes: object, shown: pl.DataFrame) -> tuple[float, float]:
    """Sets the same limits for both axes, and returns them."""
    values = [it for name in NEEDED for it in shown[name].drop_nulls()]
    means = [*shown["simulated"], *shown["emulated"]]
    logarithmic = min(means) > 0 and max(means) / min(means) > TWO_DECADES
    if logarithmic:
        low, high = min(means) / 1.3, max(values) * 1.3
    else:
        room = 0.06 * (max(values) - min(values)) or 0.1 * abs(max(values)) or 1.0
        low, high = min(values) - room, max(values) + room
        low = max(low, 0.0) if min(values) >= 0 else low
    for direction in ("x", "y"):
        if logarithmic:
            getattr(axes, f"set_{direction}scale")("log")
            way = getattr(axes, f"{direction}axis")
            way.set_major_formatter(LogFormatter())
            way.set_minor_formatter(NullFormatter())
        getattr(axes, f"set_{direction}lim")(low, high)
    axes.set_aspect("equal")  # type: ignore[attr-defined]
    return low, high


def _points(axes: object, part: pl.DataFrame, number: int, name: str) -> None:
    errors = {}
    for side, way in (("emulated", "xerr"), ("simulated", "yerr")):
        both = [
            (part[side] - part[f"{side}_low"]).fill_null(0.0).to_list(),
            (part[f"{side}_high"] - part[side]).fill_null(0.0).to_list(),
        ]
        errors[way] = both
    axes.errorbar(  # type: ignore[attr-defined]
        part["emulated"].to_list(),
        part["simulated"].to_list(),
        **errors,
        fmt=MARKS[number % len(MARKS)],
        ms=4,
        capsize=2,
        elinewidth=0.8,
        color=COLOURS[number % len(COLOURS)],
        label=name,
    )
