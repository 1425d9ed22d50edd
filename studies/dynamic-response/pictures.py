"""Figures over time, from single runs: figures 1, 2, 7 and 8; and of all senders at a glance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

import retx
from retx.analysis.queues import course
from retx.plots import style
from retx.study import Figure, Measured

from .curves import from_zero, legend, panels, write_cells
from .network import COUNT, DELAY, TO, UDP
from .pairs import DURATION, FAULTS, At, P

NEAR_S = 0.6
SETTLED_S = 5.0


def pictures(measured: Measured) -> Iterator[Figure]:
    """Figures in the order of the report."""
    for drawn in (
        _windows, _after_a_loss, _around_a_timeout, _responses, _silence, _causes, _overview,
    ):  # fmt: skip
        yield drawn(measured)


def _line(axes: Any, samples: pl.DataFrame, column: str, **look: Any) -> None:  # noqa: ANN401
    axes.step(samples["time_s"], samples[column] / 1e3, where="post", **look)


def _windows(measured: Measured) -> Figure:
    """Figures 1a and 1b."""
    figure, axes = panels(2, 1, 4.2, "x")
    looks = {
        "clean": {"color": style.BLACK, "label": "without errors", "lw": 1.3},
        "one_percent": {"color": style.RED, "label": "1 % lost", "lw": 0.7},
    }
    for case, look in looks.items():
        samples = measured.run("behaviour", case).samples
        _line(axes[0, 0], samples, "cwnd_bytes", **look)
        known = samples.filter(pl.col("ssthresh_bytes") < 1_000_000)
        _line(axes[1, 0], known, "ssthresh_bytes", **look)
    axes[0, 0].set_ylabel("window (kB)")
    axes[1, 0].set_ylabel("threshold (kB)")
    axes[1, 0].set_xlabel("time (s)")
    axes[1, 0].set_xlim(0, 200)
    for panel in axes[:, 0]:
        panel.set_ylim(bottom=0)
    legend(figure, axes[0, 0], 2)
    return Figure(
        "windows",
        figure,
        "Reno's window and threshold with and without errors (the paper's figures 1a and 1b). "
        "Without errors the threshold has no value: nothing sets it.",
        "Without errors the window stays at its maximum; with 1 % lost it seldom comes near it.",
    )


def _first(result: retx.Result, kind: str, least: int = 1) -> dict[str, Any]:
    """The first recovery of a kind, after the beginning, that sends so many segments again.

    Where there is none that large, the largest.
    """
    found = result.episodes.filter(
        (pl.col("kind").cast(pl.String) == kind) & (pl.col("start_s") > SETTLED_S)
    )
    large = found.filter(pl.col("retransmitted") >= least)
    chosen = large if large.height else found.sort("retransmitted", descending=True)
    row: dict[str, Any] = chosen.row(0, named=True)
    return row


def _after_a_loss(measured: Measured) -> Figure:
    """Figure 2."""
    result = measured.run("behaviour", "one_percent")
    start = _first(result, "rto")["start_s"]
    samples = result.samples.filter(pl.col("time_s").is_between(start - 0.3, start + 1.5))
    figure, axes = panels(1, 1, 2.6)
    _line(axes[0, 0], samples, "cwnd_bytes", color=style.BLUE, label="window")
    _line(axes[0, 0], samples, "ssthresh_bytes", color=style.RED, ls="--", label="threshold")
    axes[0, 0].axvline(start, color=style.GREY, lw=0.8, ls=":", label="timeout")
    from_zero(axes[0, 0], "time (s)", "kB")
    legend(figure, axes[0, 0], 3)
    return Figure(
        "after_a_loss",
        figure,
        "After a timeout: slow start up to the threshold, then linear growth (the paper's "
        "figure 2).",
        "The window doubles up to the threshold and then grows slowly.",
    )


def _around_a_timeout(measured: Measured) -> Figure:
    """Figure 1c."""
    result = measured.run("behaviour", "one_percent")
    start = _first(result, "rto", 2)["start_s"]
    near = pl.col("arrived_s").is_between(start - 1.3, start + 0.4)
    arrived = result.segments.drop_nulls("arrived_s").filter(near)
    figure, axes = panels(1, 1, 2.6)
    for again, colour, label in ((False, style.BLUE, "first time"), (True, style.RED, "again")):
        part = arrived.filter(pl.col("retransmission") == again)
        axes[0, 0].plot(
            part["arrived_s"], part["packet_number"], ".", ms=5, color=colour, label=f"sent {label}"
        )
    axes[0, 0].axvline(start, color=style.GREY, lw=0.8, ls=":", label="timeout")
    axes[0, 0].set_xlabel("time of arrival (s)")
    axes[0, 0].set_ylabel("segment")
    legend(figure, axes[0, 0], 3)
    return Figure(
        "around_a_timeout",
        figure,
        "Segments that arrive before and after a timeout, 1 % lost (the paper's figure 1c).",
        "Arrivals, a pause of a second, the retransmissions after it.",
    )


def _responses(measured: Measured) -> Figure:
    """Figure 7."""
    figure, axes = panels(2, 2, 4.4)
    for row, (kind, title) in enumerate(
        (("rto", "timeout"), ("fast_retransmit", "fast retransmit"))
    ):
        for column, (case, name) in enumerate((("reno", "Reno"), ("dynamic", "proposal"))):
            result = measured.run("behaviour", case)
            # One like the paper's: a timeout that sends again what was in flight.
            start = _first(result, kind, 2 if kind == "rto" else 1)["start_s"]
            span = pl.col("time_s").is_between(start - 2, start + NEAR_S)
            samples = result.samples.filter(span).with_columns(pl.col("time_s") - start)
            panel = axes[row, column]
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
            panel.set_ylim(0.5, 400)
            panel.set_xlim(-0.15, NEAR_S)
            panel.set_title(f"{name}, {title}", fontsize=9)
    for panel in axes[1]:
        panel.set_xlabel("time after the first retransmission (s)")
    for panel in axes[:, 0]:
        panel.set_ylabel("kB")
    legend(figure, axes[0, 0], 3)
    return Figure(
        "responses",
        figure,
        "Window and threshold around a timeout and a fast retransmit at 5 % lost (the paper's "
        "figures 7a to 7d).",
        "After a timeout Reno starts from one segment, the proposal from ten.",
    )


def _silence(measured: Measured) -> Figure:
    """Figures 8b and 8c."""
    values = measured.values("backoff", "reno", "backoff")
    replication = max(range(len(values)), key=lambda number: values[number] or 0.0)
    result = measured.run("backoff", "reno", replication)
    worst = result.flows.sort("max_backoff", descending=True).row(0, named=True)
    name = pl.col("flow").cast(pl.String) == worst["name"]
    waits = result.episodes.filter(name & (pl.col("kind").cast(pl.String) == "rto"))
    last = waits.sort("rto_s", descending=True).row(0, named=True)
    span = (max(0.0, last["start_s"] - 2.2 * last["rto_s"]), last["start_s"] + 5)
    figure, axes = panels(2, 1, 4.4, "x")
    sent = result.segments.filter(name & pl.col("sent_s").is_between(*span))
    for again, colour, label in ((False, style.BLUE, "first time"), (True, style.RED, "again")):
        part = sent.filter(pl.col("retransmission") == again)
        axes[0, 0].plot(
            part["sent_s"], part["packet_number"], ".", ms=4, color=colour, label=f"sent, {label}"
        )
    for start in waits.filter(pl.col("start_s").is_between(*span))["start_s"]:
        axes[0, 0].axvline(start, color=style.GREY, lw=0.6, ls=":")
    queue = course(result.link_samples, "wireless.forward", span)
    axes[1, 0].step(
        queue["time_s"], queue["queue_packets"], where="post", lw=0.6, color=style.BLACK
    )
    axes[0, 0].set_ylabel("segment")
    axes[1, 0].set_ylabel("packets waiting")
    axes[1, 0].set_xlabel("time (s)")
    axes[1, 0].set_xlim(*span)
    legend(figure, axes[0, 0], 2)
    return Figure(
        "silence",
        figure,
        "The connection with the longest backoff, timeouts dotted, and the queue meanwhile (the "
        "paper's figures 8b and 8c): the others go on filling it.",
        "A connection is silent for ever longer times while the queue is in use.",
    )


def _causes(measured: Measured) -> Figure:
    """Figure 5b."""
    tags = list(measured.study.experiments["mixes"].cases)
    figure, axes = panels(2, 1, 4.4, "x")
    for panel, kind, title in ((axes[0, 0], "rto", "RTOs"), (axes[1, 0], "frr", "FRRs")):
        bottom = np.zeros(len(tags))
        for cause in ("congestion", "wireless", "spurious"):
            shares = np.array(
                [
                    100
                    * measured.mean("mixes", tag, f"{kind}_{cause}", at={"flow.ftp.tcp": "reno"})
                    for tag in tags
                ]
            )
            panel.bar(
                range(len(tags)), shares, bottom=bottom, width=0.6, label=cause,
                color=style.CAUSE_COLOUR[cause], hatch=style.CAUSE_HATCH[cause], edgecolor="white",
            )  # fmt: skip
            bottom += np.nan_to_num(shares)
        panel.set_ylabel(f"share of {title} (%)")
        panel.grid(visible=False, axis="x")
    cases = measured.study.experiments["mixes"].cases
    labels = [cases[tag].label.replace(", ", "\n") for tag in tags]
    axes[1, 0].set_xticks(range(len(tags)), labels)
    axes[1, 0].set_xlabel("loss rate, wireless to congestion")
    legend(figure, axes[0, 0], 3)
    return Figure(
        "causes",
        figure,
        "What triggered Reno's recoveries in the mixes that the text names (the paper's figure "
        "5b), by what happened to the segment.",
        "Stacked bars of causes: congestion, wireless, spurious.",
    )


def _overview(measured: Measured) -> Figure:
    """Every sender in every setting, over Reno."""
    columns: list[tuple[str, str, At]] = [
        *((f"errors {100 * p:g} %", "loss", {P: p}) for p in (0.01, 0.05, 0.1)),
        *((f"faults {share} %", "faults", {DURATION: FAULTS[share]}) for share in ("1", "5", "10")),
        *((f"dumbbell, {n} faults", "dumbbell_faults", {COUNT: n}) for n in (0, 30, 75)),
        ("dumbbell, 10 UDP", "dumbbell_reverse", {UDP: 10}),
        ("dumbbell, 90 ms", "dumbbell_delay", {DELAY: "90 ms"}),
        *((f"chain, {n} hops", "chain", {TO: f"n{n}"}) for n in (1, 2, 4)),
    ]
    cases = measured.study.experiments["loss"].cases
    names = [name for name in cases if name != "reno"]
    values = np.array(
        [
            [
                measured.mean(experiment, name, "goodput", at=at)
                / measured.mean(experiment, "reno", "goodput", at=at)
                for _, experiment, at in columns
            ]
            for name in names
        ]
    )
    figure, axes = panels(1, 1, 5.2)
    panel = axes[0, 0]
    panel.pcolormesh(np.log2(values), cmap="RdBu", vmin=-1.5, vmax=1.5, edgecolors="white", lw=0.5)
    write_cells(panel, values, "{:.2f}".format, abs(np.log2(values)) > 1, 6)
    panel.set_xticks(np.arange(len(columns)) + 0.5, [label for label, _, _ in columns], rotation=60)
    for tick in panel.get_xticklabels():
        tick.set_ha("right")
        tick.set_rotation_mode("anchor")
    panel.set_yticks(np.arange(len(names)) + 0.5, [cases[name].label for name in names])
    panel.invert_yaxis()
    panel.grid(visible=False)
    return Figure(
        "overview",
        figure,
        "Mean goodput over Reno's: blue more, red less. Everything else is the same in all rows.",
        "A map of all senders in all settings.",
    )
