"""Figures of the study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from retx.analysis.groups import means
from retx.plots import style
from retx.study import Figure, Measured, new_figure

from .panels import Axis, reliefs, surfaces

FORWARD = "link.above.forward.channel"
P, SHARE = f"{FORWARD}.0.p", f"{FORWARD}.1.share"
DELAY, REORDER = f"{FORWARD}.1.delay", f"{FORWARD}.1.reorder"
BURST, BAD = "wlan.cell.channel.mean_burst", "wlan.cell.channel.loss"
LABELS = {"reno": "Reno", "vegas": "Vegas", "veno": "Veno"}
ORDERS = {"order kept": False, "others overtake": True}
MSS_BYTES = 1494

COLOURS = {"reno": style.BLUE, "vegas": style.GREEN, "veno": style.RED}
MARKS = {"reno": "o", "vegas": "s", "veno": "^"}
LOSS = Axis(P, "random loss (%)", percent=True)
DELAYED = Axis(SHARE, "packets delayed (%)", percent=True)
BAD_TIME = Axis(BAD, "time without any frame (%)", percent=True)
MTU_BYTES = MSS_BYTES + 40
RATE = ("mbit", "goodput (Mbit/s)")


def figures(measured: Measured) -> Iterator[Figure]:
    """Figures in the order of the report."""
    with style.styled():
        yield _chart(measured)
        yield _surface(measured, RATE, "surface", "Goodput")
        yield _surface(measured, ("window", "mean window (segments)"), "windows", "Mean window")
        yield _losses(measured)
        yield _delays(measured)
        yield _mac(measured)
        yield _every(measured, "every_imposed", (LOSS, DELAYED), "imposed delays of 2 s")
        yield _every(measured, "every_mac", (LOSS, BAD_TIME), "a reliable MAC, bad periods of 1 s")


def _flows(measured: Measured, experiment: str) -> pl.DataFrame:
    return measured.table(experiment).with_columns(
        pl.col("case").cast(pl.String),
        mbit=pl.col("goodput_bit_s") / 1e6,
        window=pl.col("cwnd_mean_bytes") / MSS_BYTES,
    )


def _surface(measured: Measured, height: tuple[str, str], name: str, what: str) -> Figure:
    """Figures 5 to 9."""
    flows = _flows(measured, "surface")
    panels = {
        f"{LABELS[tcp]}, {order}": flows.filter(
            (pl.col("case") == tcp) & (pl.col(REORDER) == reorder)
        )
        for tcp in LABELS
        for order, reorder in ORDERS.items()
    }
    return Figure(
        name,
        reliefs(panels, (LOSS, DELAYED), height, 2),
        f"{what} over random loss and delays of mean 2 s (the paper's figures 5 to 9). To the left "
        "packets wait for a delayed one; to the right they overtake it.",
        f"Six surfaces of {what.lower()} over loss and share of delayed packets.",
    )


def _chart(measured: Measured) -> Figure:
    """Figure 4: imposed losses and delays, and the resulting goodput."""
    figure = style.Figure(figsize=(5.2, 4.6), layout="constrained")
    upper, middle, lower = figure.subplots(3, 1, sharex=True, height_ratios=(1, 1, 2))
    seconds = list(range(0, 10_800, 10))
    upper.step(seconds, [it // 10 % 100 for it in seconds], where="post", color=style.BLACK, lw=0.7)
    middle.step(seconds, [it // 1000 for it in seconds], where="post", color=style.BLACK)
    at = {f"{FORWARD}.reorder": False}
    for tcp in LABELS:
        samples = measured.run("chart", tcp, at=at).samples.sort("time_s")
        rate = samples["ack_bytes"].diff() * 8 / samples["time_s"].diff() / 1e3
        # Means over a minute: those over ten seconds fluctuate too much.
        smooth = rate.rolling_mean(6, min_samples=1)
        lower.plot(samples["time_s"], smooth, color=COLOURS[tcp], lw=0.8, label=LABELS[tcp])
    upper.set_ylabel("delayed (%)")
    middle.set_ylabel("loss (%)")
    lower.set_ylabel("acknowledged (kbit/s)")
    lower.set_yscale("log")
    lower.set_ylim(1, 6000)
    lower.set_xlabel("time (s)")
    lower.set_xlim(0, 10_800)
    figure.legend(*lower.get_legend_handles_labels(), loc="outside upper left", ncols=3)
    return Figure(
        "chart",
        figure,
        "Three hours according to the paper's temporal chart (figure 4), order kept: share of "
        "delayed packets, loss rate, and acknowledged data per minute. A backed-off timer lasts "
        "longer than the ten seconds of one share.",
        "Share of delayed packets, loss rate and goodput over three hours.",
    )


def _curves(axes: Any, flows: pl.DataFrame, key: str, **look: float) -> None:  # noqa: ANN401
    """Mean goodput of the three senders against a share, in percent, with intervals."""
    for tcp in LABELS:
        found = means(flows.filter(pl.col("case") == tcp), [key], "mbit").sort(key)
        axes.errorbar(
            100 * found[key],
            found["mean"],
            yerr=[found["mean"] - found["low"], found["high"] - found["mean"]],
            color=COLOURS[tcp],
            marker=MARKS[tcp],
            capsize=2,
            label=LABELS[tcp],
            **look,
        )


def _losses(measured: Measured) -> Figure:
    figure, axes = new_figure()
    flows = _flows(measured, "loss").filter(pl.col(P) > 0)
    _curves(axes, flows, P, ms=4)
    number = measured.study.published.numbers
    points = (("loss_reno", 1, "reno"), ("loss_veno_3", 3, "veno"), ("loss_reno_3", 3, "reno"))
    for name, p, tcp in points:
        axes.plot(p, number[name].value, "x", ms=8, mew=2, color=COLOURS[tcp])
    axes.plot([], [], "x", ms=8, mew=2, color=style.BLACK, label="published")
    trips = means(flows.filter(pl.col("case") == "reno"), [P], "rtt_mean_s").sort(P)
    limit = 0.93 * 8 * MTU_BYTES / (trips["mean"] * trips[P].sqrt()) / 1e6
    axes.plot(100 * trips[P], limit, "--", color=style.BLACK, lw=1, label="equation 13")
    axes.set_xscale("log")
    axes.set_xticks([0.1, 0.3, 1, 3, 8], ["0.1", "0.3", "1", "3", "8"])
    axes.minorticks_off()
    axes.set_xlabel("random loss (%)")
    axes.set_ylabel("goodput (Mbit/s)")
    axes.set_ylim(0, 6)
    figure.legend(loc="outside upper left", ncols=3)
    return Figure(
        "losses",
        figure,
        "Random loss without long delays, the edge of figures 5, 7 and 8; means with 95 % "
        "confidence intervals. Dashed: equation 13 with Reno's mean round trip at each loss rate."
        " The equation ignores the link's rate and timeouts.",
        "Goodput of three algorithms against loss rate, with the paper's three numbers.",
    )


def _delays(measured: Measured) -> Figure:
    """Figure 10."""
    figure = style.Figure(figsize=(5.2, 5.8), layout="constrained")
    panels = figure.subplots(3, 2, sharex=True, sharey=True)
    flows = _flows(measured, "delay").filter(pl.col(SHARE) > 0)
    flows = flows.with_columns(pl.col(DELAY).cast(pl.String))
    for row, delay in zip(panels, ("0.5 s", "1 s", "2 s"), strict=True):
        for axes, (order, reorder) in zip(row, ORDERS.items(), strict=True):
            part = flows.filter((pl.col(REORDER) == reorder) & (pl.col(DELAY) == delay))
            _curves(axes, part, SHARE, ms=3, lw=1)
            axes.set_title(f"{delay}, {order}", fontsize=8)
            axes.set_xscale("log")
            axes.set_xticks([0.1, 1, 10, 50], ["0.1", "1", "10", "50"])
            axes.minorticks_off()
    number = measured.study.published.numbers
    published = (
        ("delay_reno", 10, "reno"),
        ("delay_veno", 10, "veno"),
        ("delay_reno_30", 30, "reno"),
    )
    for axes in panels[2]:
        for name, share, tcp in published:
            axes.plot(share, number[name].value, "x", ms=7, mew=2, color=COLOURS[tcp])
    panels[0][0].set_ylim(bottom=0)
    figure.supxlabel("packets delayed (%)", fontsize=9)
    figure.supylabel("goodput (Mbit/s)", fontsize=9)
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside upper left", ncols=3)
    return Figure(
        "delays",
        figure,
        "Long delays without loss (the paper's figure 10); means with 95 % confidence intervals. "
        "Crosses: the paper's numbers for 2 s.",
        "Goodput of three algorithms against the share of delayed packets, for three delays.",
    )


def _mac(measured: Measured) -> Figure:
    figure = style.Figure(figsize=(5.2, 4.2), layout="constrained")
    lengths = ("0.1 s", "0.5 s", "1 s", "2 s")
    panels = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
    flows = _flows(measured, "mac").with_columns(pl.col(BURST).cast(pl.String))
    for axes, length in zip(panels, lengths, strict=True):
        part = flows.filter(pl.col(BURST) == length)
        _curves(axes, part, BAD, ms=3, lw=1)
        axes.set_title(f"bad periods of {length}", fontsize=8)
    panels[0].set_ylim(bottom=0)
    figure.supylabel(RATE[1], fontsize=9)
    figure.supxlabel(BAD_TIME.label, fontsize=9)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=3)
    return Figure(
        "mac",
        figure,
        "A reliable MAC, which retransmits frames without a limit, in a cell in which no frame is"
        " delivered during some of the time; means with 95 % confidence intervals.",
        "Goodput of three algorithms over a reliable MAC against the share of bad period.",
    )


def _every(measured: Measured, experiment: str, axes: tuple[Axis, Axis], what: str) -> Figure:
    flows = _flows(measured, experiment)
    cases = measured.study.experiments[experiment].cases
    panels = {case: flows.filter(pl.col("case") == case) for case in cases}
    return Figure(
        f"{experiment}_surfaces",
        surfaces(panels, axes, RATE, 3),
        f"Goodput of every algorithm over loss and {what}.",
        f"Heat maps of goodput for {len(cases)} algorithms.",
    )
