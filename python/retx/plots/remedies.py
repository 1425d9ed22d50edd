"""Ranked remedies with their intervals, below the limits of the flow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from textwrap import shorten, wrap
from typing import Any

import polars as pl

from retx.analysis.ranking import JOINED
from retx.analysis.remedies import shown
from retx.plots.limits import bar_inches, draw_shares, share_table, stacked
from retx.plots.style import BLUE, GREEN, GREY, Ax, Figure, label_decades, styled

BOUNDS = {
    "link": ("the link's limit", "--"),
    "no_channel_losses": ("without channel losses", ":"),
    "no_channel_delays": ("without channel delays", "-."),
}
"""Legend text and line style of each bound."""
ROW_INCHES, AROUND_INCHES = 0.31, 1.0
LABEL_CHARACTERS = 46
"""Maximum length of a line of a label; labels have at most two lines."""


def remedies(content: Mapping[str, Any], *, ax: Ax = None) -> Figure:
    """Figure of an answer: limits of the flow, and gains of the remedies.

    Args:
        content: Content of a `retx.Answer`.
        ax: Two axes to draw into, instead of a new figure.
    """
    rows = shown(content).rows[::-1]
    inches = [bar_inches(content["limited_by"]), AROUND_INCHES + ROW_INCHES * len(rows)]
    words = {key: it for flow in content["flows"] for key, it in flow["phrases"].items()}
    with styled():
        figure, bar, gains = stacked(inches, ax)
        draw_shares(
            bar, content["limited_by"], content["flow"], phrases=words, within=ax is not None
        )
        if rows:
            draw_gains(gains, rows, content, within=ax is not None)
        else:
            gains.axis("off")
    figure.data |= {"shares": share_table(content["limited_by"]), "remedies": _gain_table(rows)}
    return figure


def _label(row: Mapping[str, Any]) -> str:
    """Label of a change; a combination is abbreviated part by part, not cut off."""
    mark = "" if row["in_linux"] else " (in no kernel)"
    text = row["text"]
    if " + " in row["name"]:
        # The text of a part begins with the change; commas separate what only explains it.
        parts = [part.split(", ")[0] for part in text.split(JOINED)]
        text = " + ".join(parts)
        if len(wrap(text + mark, LABEL_CHARACTERS)) > 2:
            most = (2 * LABEL_CHARACTERS - len(mark)) // len(parts) - 3
            text = " + ".join(shorten(part, most, placeholder=" …") for part in parts)
    whole = wrap(text + mark, LABEL_CHARACTERS)
    if len(whole) <= 2:
        return "\n".join(whole)
    lines = wrap(text, LABEL_CHARACTERS, max_lines=2, placeholder=" …")
    lines[-1] = shorten(lines[-1], LABEL_CHARACTERS - len(mark), placeholder=" …") + mark
    return "\n".join(lines)


def _labels(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Labels of changes. Those that would be equal also state the values that differ."""
    labels = [_label(row) for row in rows]
    alike = Counter(labels)
    groups = {label: [row for row in rows if _label(row) == label] for label in alike}
    for place, (label, row) in enumerate(zip(labels, rows, strict=True)):
        values = [
            f"{key.rsplit('.', 1)[-1]} = {value}"
            for key, value in row["change"].items()
            if any(other["change"].get(key) != value for other in groups[label])
        ]
        if alike[label] > 1 and values:
            labels[place] = f"{label}\n({shorten(', '.join(values), LABEL_CHARACTERS)})"
    return labels


def draw_gains(
    axes: Any,  # noqa: ANN401
    rows: Sequence[Mapping[str, Any]],
    content: Mapping[str, Any],
    *,
    within: bool = False,
) -> None:
    """Draws a point with its interval per row, from bottom to top, and lines for the bounds."""
    for place, row in enumerate(rows):
        low = row["gain"] if row["gain_low"] is None else row["gain_low"]
        high = row["gain"] if row["gain_high"] is None else row["gain_high"]
        single = row["gain_low"] is None
        axes.errorbar(
            row["gain"], place, xerr=[[row["gain"] - low], [high - row["gain"]]], fmt="o",
            ms=5, capsize=3, color=BLUE if row["gain"] >= 1 else GREY,
            markerfacecolor="white" if single else None,
        )  # fmt: skip
    axes.axvline(1, color=GREY, lw=1.0)
    for bound in content["bounds"]:
        if bound["gain"]:
            label, line = BOUNDS[bound["name"]]
            axes.axvline(bound["gain"], color=GREEN, lw=1.2, ls=line, label=label)
    axes.set_yticks(range(len(rows)), _labels(rows))
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.grid(visible=False, axis="y")
    axes.set_xscale("log")
    label_decades(axes.xaxis)
    axes.set_xlabel(f"gain in {content['measure']}, with 95 % intervals (hollow: one draw)")
    if content["bounds"]:
        if within:
            axes.legend(loc="lower right")
        else:
            axes.figure.legend(loc="outside upper right", ncols=2)


def _gain_table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    columns = {"name": pl.String, "gain": pl.Float64, "gain_low": pl.Float64}
    schema = {**columns, "gain_high": pl.Float64}
    return pl.DataFrame(
        [{name: row[name] for name in schema} for row in reversed(rows)], schema=schema
    )
