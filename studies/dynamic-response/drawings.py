"""Figures from single runs and their events: 1c, 2, 5c, 5d, 7 and 8."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import retx
from retx.analysis.queues import queue_length
from retx.plots import style
from retx.study import Measured

from .values import COUNT, FLOWS, cause_points

NEAR_S = 0.6
SETTLED_S = 5.0


def _panels(rows: int, columns: int, height: float, share: str = "") -> tuple[style.Figure, Any]:
    """A figure with panels of the width of the text; `share` is their common axis, `x` or `y`."""
    made = style.Figure(figsize=(5.2, height), layout="constrained")
    axes = made.subplots(rows, columns, squeeze=False, sharex=share == "x", sharey=share == "y")
    return made, axes


def _legend(figure: style.Figure, axes: Any, columns: int = 2) -> None:  # noqa: ANN401
    """One legend above all panels."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=columns, handlelength=2.2)


def _line(axes: Any, samples: pl.DataFrame, column: str, **look: Any) -> None:  # noqa: ANN401
    axes.step(samples["time_s"], samples[column] / 1e3, where="post", **look)


def _is(column: str, value: str) -> pl.Expr:
    return pl.col(column).cast(pl.String) == value


def _first(result: retx.Result, kind: str, least: int = 1) -> float:
    """Start of the first recovery of a kind with `least` retransmissions, or of the largest."""
    found = result.episodes.filter(_is("kind", kind) & (pl.col("start_s") > SETTLED_S))
    large = found.filter(pl.col("retransmitted") >= least)
    chosen = large if large.height else found.sort("retransmitted", descending=True)
    return float(chosen["start_s"][0])


def near_a_timeout(measured: Measured) -> style.Figure:
    """Figures 2 and 1c: window and arrivals around a timeout."""
    result = measured.at("behaviour/one_percent").run()
    start = _first(result, "rto", 2)
    figure, axes = _panels(1, 2, 2.8)
    samples = result.samples.filter(pl.col("time_s").is_between(start - 0.3, start + 1.5))
    _line(axes[0, 0], samples, "cwnd_bytes", color=style.BLUE, label="window")
    _line(axes[0, 0], samples, "ssthresh_bytes", color=style.RED, ls="--", label="threshold")
    near = pl.col("arrived_s").is_between(start - 1.5, start + 0.4)
    arrived = result.segments.drop_nulls("arrived_s").filter(near)
    for again, colour, label in ((False, style.BLUE, "first time"), (True, style.RED, "again")):
        part = arrived.filter(pl.col("retransmission") == again)
        axes[0, 1].plot(
            part["arrived_s"], part["packet_number"], ".", ms=5, color=colour, label=f"sent {label}"
        )
    for panel, label in zip(axes[0], ("kB", "segment"), strict=True):
        panel.axvline(start, color=style.GREY, lw=0.8, ls=":")
        panel.set(xlabel="time (s)", ylabel=label)
        panel.legend(fontsize=7)
    return figure


def responses(measured: Measured) -> style.Figure:
    """Figure 7: window and threshold around a timeout and a fast retransmit."""
    figure, axes = _panels(2, 3, 4.6)
    cases = (("reno", "Reno"), ("dynamic", "proposal"), ("dynamic_flat", "never above 25 kB"))
    for row, (kind, title) in enumerate(
        (("rto", "timeout"), ("fast_retransmit", "fast retransmit"))
    ):
        for panel, (case, name) in zip(axes[row], cases, strict=True):
            result = measured.at(f"behaviour/{case}").run()
            # A recovery like that in the paper: a timeout that retransmits all data in flight.
            start = _first(result, kind, 8 if kind == "rto" else 1)
            span = pl.col("time_s").is_between(start - 2, start + NEAR_S)
            samples = result.samples.filter(span).with_columns(pl.col("time_s") - start)
            _line(panel, samples, "cwnd_bytes", color=style.BLUE, label="window")
            _line(panel, samples, "ssthresh_bytes", color=style.RED, ls="--", label="threshold")
            again = result.segments.filter(
                pl.col("retransmission") & pl.col("sent_s").is_between(start - 0.2, start + NEAR_S)
            )
            panel.plot(
                again["sent_s"] - start, np.full(again.height, 0.6), "|", color=style.BLACK, ms=6,
                label="retransmission",
            )  # fmt: skip
            panel.set_yscale("log")
            panel.set(ylim=(0.5, 400), xlim=(-0.15, NEAR_S))
            panel.set_title(f"{name},\n{title}", fontsize=8)
    # Figure 7b: 11,024 bytes, then 10,000, below a threshold of 132,811.
    axes[0, 1].plot([0.05, 0.12], [11.024, 10.0], "o", mfc="none", color=style.BLACK, label="paper")
    axes[0, 1].plot([0.05], [132.811], "o", mfc="none", color=style.BLACK)
    for panel in axes[:, 0]:
        panel.set_ylabel("kB")
    for panel in axes[1]:
        panel.set_xlabel("time (s)")
    _legend(figure, axes[0, 1], 4)
    return figure


def silence(measured: Measured) -> style.Figure:
    """Figures 8b and 8c: the flow with the largest backoff, and the queue."""
    values = measured.at("backoff/reno").values("backoff")
    replication = max(range(len(values)), key=lambda number: values[number] or 0.0)
    result = measured.at("backoff/reno").run(replication)
    worst = result.flows.sort("max_backoff", descending=True).row(0, named=True)
    waits = result.episodes.filter(_is("flow", worst["name"]) & _is("kind", "rto"))
    last = waits.sort("rto_s", descending=True).row(0, named=True)
    span = (max(0.0, last["start_s"] - 2.2 * last["rto_s"]), last["start_s"] + 5)
    figure, axes = _panels(2, 1, 4.2, "x")
    sent = result.segments.filter(_is("flow", worst["name"]) & pl.col("sent_s").is_between(*span))
    for again, colour, label in ((False, style.BLUE, "first time"), (True, style.RED, "again")):
        part = sent.filter(pl.col("retransmission") == again)
        axes[0, 0].plot(
            part["sent_s"], part["packet_number"], ".", ms=4, color=colour, label=f"sent, {label}"
        )
    for start in waits.filter(pl.col("start_s").is_between(*span))["start_s"]:
        axes[0, 0].axvline(start, color=style.GREY, lw=0.6, ls=":")
    queue = queue_length(result.link_samples, "wireless.forward", span)
    axes[1, 0].step(
        queue["time_s"], queue["queue_packets"], where="post", lw=0.6, color=style.BLACK
    )
    axes[0, 0].set_ylabel("segment")
    axes[1, 0].set(xlabel="time (s)", ylabel="packets waiting", xlim=span)
    _legend(figure, axes[0, 0])
    return figure


def needless(measured: Measured) -> style.Figure:
    """Figures 5c and 5d: Reno's retransmissions, and the share of unnecessary ones."""
    figure, axes = _panels(1, 2, 2.9)
    points = cause_points(measured)
    for label, key, value, look in (
        ("faults, one flow", FLOWS, 1, {"color": style.RED, "marker": "D"}),
        ("losses of the queue only, with more and more flows", COUNT, 0, {"color": style.BLACK}),
    ):
        some = [point for point in points if point[key] == value and point["resent"] > 0]
        some.sort(key=lambda point: point["lost_percent"])
        lost = [point["lost_percent"] for point in some]
        for panel, quantity in zip(axes[0], ("resent", "unnecessary_share"), strict=True):
            found = [point[quantity] for point in some]
            panel.plot(lost, found, ms=3.5, lw=1.1, **look, label=label)
    published = measured.study.published.numbers
    for panel, name in zip(axes[0], ("resent_at_1", "unnecessary_at_1"), strict=True):
        given: dict[str, Any] = {"color": style.BLACK, "mfc": "none", "ms": 7, "label": "paper"}
        panel.plot([1], [published[name].value], "o", **given)
    axes[0, 1].axhline(0.9, color=style.GREY, lw=0.8, ls=":")
    labels = ("retransmissions in 200 s", "share of them unnecessary")
    for panel, text in zip(axes[0], labels, strict=True):
        panel.set(xlabel="packets lost (%)", ylabel=text)
        panel.set_ylim(bottom=0)
    _legend(figure, axes[0, 0], 3)
    return figure
