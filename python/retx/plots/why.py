"""What limited a flow, as a bar, over ranked remedies with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

import polars as pl

from retx.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    WIDTH_INCHES,
    Figure,
    label_decades,
    styled,
)
from retx.shares import PHRASES, per_cent, ranked, shares

MOST_REMEDIES = 12
BAR_INCHES, LINE_INCHES, ROW_INCHES, AROUND_INCHES = 0.75, 0.18, 0.27, 1.0
MOST_NAMED = 6
LEAST_LABELLED = 0.06
LABEL_CHARACTERS = 52

LOOKS: dict[str, tuple[str, str]] = {
    "handshake": (SKY, "...."),
    "application": ("#DDDDDD", ""),
    "send_buffer": (ORANGE, "////"),
    "receive_window": (ORANGE, ""),
    "bottleneck": (GREEN, ""),
    "slow_start": (SKY, ""),
    "congestion": (BLACK, ""),
    "wireless": (RED, ""),
    "spurious": (PURPLE, ""),
    "pacing": (BLUE, "...."),
    "nagle": (BLUE, "////"),
    "delayed_ack": (BLUE, ""),
}
"""Colour and hatch of a key, or of its cause."""
KIND_HATCH = {"window": "", "recovery": "////", "timeout": "xxxx"}


def look(key: str) -> tuple[str, str]:
    """Colour and hatch of a key of `limited_by`: causes by colour, their kinds by hatch."""
    kind, _, cause = key.partition(".")
    if cause:
        return LOOKS.get(cause, (GREY, ""))[0], KIND_HATCH.get(kind, "")
    return LOOKS.get(key, (GREY, ""))


def why(content: Mapping[str, Any]) -> Figure:
    """The picture of an answer.

    Args:
        content: That of `retx.Answer`.
    """
    remedies = [*content["combinations"][:2], *content["remedies"]][:MOST_REMEDIES]
    rows = sorted(remedies, key=lambda row: row["gain"])
    named = min(MOST_NAMED, sum(seconds > 0 for seconds in content["limited_by"].values()))
    top_inches = BAR_INCHES + LINE_INCHES * named
    inches = [top_inches, AROUND_INCHES + ROW_INCHES * len(rows)]
    with styled():
        figure = Figure(figsize=(WIDTH_INCHES, sum(inches)), layout="constrained")
        # Two figures in one, so that the names below do not narrow the bar above.
        top, bottom = figure.subfigures(2, 1, squeeze=False, height_ratios=inches)[:, 0]
        draw_shares(top.subplots(), content["limited_by"], content["flow"])
        if rows:
            draw_gains(bottom.subplots(), rows, content)
    figure.data = {"shares": _share_table(content["limited_by"]), "remedies": _gain_table(rows)}
    return figure


def draw_shares(axes: Any, seconds: Mapping[str, float], name: str) -> None:  # noqa: ANN401
    """One bar of the flow's life."""
    left = 0.0
    parts = [(key, share) for key, share in ranked(shares(seconds)) if share > 0]
    for key, share in parts:
        colour, hatch = look(key)
        axes.barh(
            0, share, left=left, height=0.7, color=colour, hatch=hatch, edgecolor="white",
            linewidth=0.8, label=f"{per_cent(share)} {PHRASES.get(key, key)}",
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
    axes.figure.legend(handles[:MOST_NAMED], labels[:MOST_NAMED], loc="outside lower left", ncols=1)


def draw_gains(
    axes: Any,  # noqa: ANN401
    rows: Sequence[Mapping[str, Any]],
    content: Mapping[str, Any],
) -> None:
    """A point with its interval per remedy, the best at the top, and lines for the bounds."""
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
    for bound, line in zip(content["bounds"], ("--", ":"), strict=False):
        if bound["gain"]:
            label = {"link": "the link's limit"}.get(bound["name"], "without channel losses")
            axes.axvline(bound["gain"], color=GREEN, lw=1.2, ls=line, label=label)
    labels = [shorten(row["text"], LABEL_CHARACTERS, placeholder=" …") for row in rows]
    axes.set_yticks(range(len(rows)), labels)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.grid(visible=False, axis="y")
    axes.set_xscale("log")
    label_decades(axes.xaxis)
    axes.set_xlabel(f"gain in {content['measure']}, with 95 % intervals (hollow: one draw)")
    if content["bounds"]:
        axes.figure.legend(loc="outside upper right", ncols=2)


def _share_table(seconds: Mapping[str, float]) -> pl.DataFrame:
    rows = [
        {"key": key, "seconds": seconds[key], "share": share}
        for key, share in ranked(shares(seconds))
    ]
    return pl.DataFrame(rows)


def _gain_table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    columns = {"name": pl.String, "gain": pl.Float64, "gain_low": pl.Float64}
    schema = {**columns, "gain_high": pl.Float64}
    return pl.DataFrame(
        [{name: row[name] for name in schema} for row in reversed(rows)], schema=schema
    )
