"""Figures of the study: the paper's figures 2 to 8 and 10 from our runs, and additional ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

import retx
from retx.plots import style
from retx.study import Figure, Measured, new_figure

from .quantities import steady_round_s, windows

COLOURS = {
    "0": style.BLACK,
    "0.0001": style.SKY,
    "0.001": style.GREEN,
    "0.01": style.ORANGE,
    "0.1": style.RED,
}
LINES = {"0": "-", "0.0001": "--", "0.001": "-.", "0.01": "-", "0.1": "-"}
ORDER = ("0.1", "0.01", "0", "0.0001", "0.001")
FIRST_S = 80


def figures(measured: Measured) -> Iterator[Figure]:
    """Figures in the order of the report."""
    with style.styled():
        yield from _over_time(measured)
        yield _throughput(measured)
        yield _ladder(measured)
        yield _regrowth(measured)
        yield _bars(
            measured,
            "switches",
            "Response time at 10 % with one setting changed at a time; bars are means, whiskers "
            "95 % confidence intervals. The lines are the paper's two numbers.",
        )
        yield _bars(
            measured,
            "steps",
            "The same settings changed one after another, from the simulator's values towards "
            "those of the testbed.",
        )


def _over_time(measured: Measured) -> Iterator[Figure]:
    """Figures 2 to 5, 7 and 8: each over the whole run and over its beginning."""
    drawn = {
        "cwnd": (_window, "congestion window (kB)", "2", "3", "Congestion window"),
        "ack": (_acknowledged, "ACK number (MB)", "4", "5", "Data acknowledged"),
        "received": (_received, "received (kB/s)", "7", "8", "Data received in each second"),
    }
    for name, (draw, label, whole, beginning, title) in drawn.items():
        for part, number in (("whole", whole), ("beginning", beginning)):
            figure, axes = new_figure()
            for case in COLOURS:
                draw(axes, measured, case)
            axes.set_ylabel(label)
            axes.set_xlabel("time (s)")
            axes.set_ylim(bottom=0)
            axes.set_xlim(0, FIRST_S if part == "beginning" else None)
            _legend(figure, axes)
            where = "whole run" if part == "whole" else f"first {FIRST_S} s"
            yield Figure(
                f"{name}_{part}",
                figure,
                f"{title}, {where} (the paper's figure {number}). Of each case the run "
                "whose response time comes closest to the mean.",
                f"{title} against time for five drop probabilities, {where}.",
            )


def _legend(figure: style.Figure, axes: Any) -> None:  # noqa: ANN401
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=5, handlelength=1.4)


def _look(measured: Measured, case: str) -> dict[str, Any]:
    label = measured.study.experiments["drop"].cases[case].label
    # Longer lines are drawn first, except dashed ones, which show the line below.
    depth = list(ORDER).index(case)
    return {"color": COLOURS[case], "ls": LINES[case], "lw": 1.1, "label": label, "zorder": depth}


def _run(measured: Measured, case: str) -> retx.Result:
    return measured.run("drop", case, measured.typical("drop", case))


def _window(axes: Any, measured: Measured, case: str) -> None:  # noqa: ANN401
    samples = _run(measured, case).samples
    axes.step(samples["time_s"], samples["cwnd_bytes"] / 1e3, where="post", **_look(measured, case))


def _acknowledged(axes: Any, measured: Measured, case: str) -> None:  # noqa: ANN401
    samples = _run(measured, case).samples
    axes.plot(samples["time_s"], samples["ack_bytes"] / 1e6, **_look(measured, case))


def _received(axes: Any, measured: Measured, case: str) -> None:  # noqa: ANN401
    arrived = _run(measured, case).segments.drop_nulls("arrived_s")
    seconds = int(arrived["arrived_s"].to_numpy().max()) + 1
    edges = np.arange(seconds + 1)
    received, _ = np.histogram(arrived["arrived_s"], edges, weights=arrived["length_bytes"])
    axes.step(edges[:-1], received / 1e3, where="post", **(_look(measured, case) | {"lw": 0.8}))


def _throughput(measured: Measured) -> Figure:
    """Figure 6."""
    series = measured.study.published.series
    size = measured.study.published.numbers["file_bytes"].value
    cases = measured.study.experiments["drop"].cases
    places = np.arange(len(cases))
    figure, axes = new_figure()
    found = [measured.estimate("drop", case, "flow.download.goodput_bit_s") for case in cases]
    means = [estimate.mean / 8e3 for estimate in found if estimate]
    halves = [(e.bounds.high - e.bounds.low) / 16e3 for e in found if e]
    axes.errorbar(
        places, means, yerr=halves, fmt="o-", color=style.BLUE, capsize=3, label="measured"
    )
    simulator = [size / (series["table_4"].comparable(case) or np.nan) / 1e3 for case in cases]
    axes.plot(places, simulator, "s", mfc="none", color=style.BLACK, label="paper, simulator")
    testbed = [size / series["table_8"].values[case] / 1e3 for case in cases]
    axes.plot(places, testbed, "^", mfc="none", color=style.RED, label="paper, testbed")
    axes.set_xticks(places, [case.label for case in cases.values()])
    axes.set_xlabel("drop probability")
    axes.set_ylabel("average throughput (kB/s)")
    axes.set_ylim(bottom=0)
    axes.legend()
    return Figure(
        "throughput",
        figure,
        "Average throughput against drop probability (the paper's figure 6): 10,000,000 bytes "
        "divided by the response time (the simulator's without the 10 s).",
        "Throughput falls from 200 kB/s without loss to 5 kB/s at 10 % in the simulator.",
    )


def _ladder(measured: Measured) -> Figure:
    """Figure 10."""
    result = measured.run("one_loss", "221")
    sent = result.segments.filter(pl.col("packet_number") == 217)["sent_s"][0]
    drawn = result.plot.ladder(sent - 0.002, sent + 3.2 * steady_round_s())
    drawn.set_size_inches(7.0, 9.0)
    return Figure(
        "ladder",
        drawn,
        "Packets around the loss of segment 221 (the paper's figure 10, from our run): the loss, "
        "duplicate ACKs, the fast retransmit a round trip later, and then three segments per "
        "round trip.",
        "Ladder diagram of segments and acknowledgments around one loss.",
    )


def _regrowth(measured: Measured) -> Figure:
    """The window after one loss, by ACK and by growth formula."""
    figure, axes = new_figure()
    round_s = steady_round_s()
    looks = {
        "221": (style.BLUE, "o", "equation 17, ACK for every 2nd segment"),
        "every_segment": (style.GREEN, "^", "equation 17, ACK for every segment"),
        "bytes": (style.ORANGE, "s", "one MSS per window acknowledged"),
    }
    for case, (colour, mark, label) in looks.items():
        grown = windows(measured.run("one_loss", case)).filter(pl.col("cwnd_bytes") <= 8 * 1460)
        rounds = (grown["time_s"] - grown["time_s"][0]) / round_s
        axes.step(rounds, grown["cwnd_bytes"] / 1460, where="post", color=colour, lw=1)
        axes.plot(rounds, grown["cwnd_bytes"] / 1460, mark, ms=3, color=colour, label=label)
    printed = measured.study.published.series["table_9"].values
    axes.plot(
        [float(step) for step in printed],
        [value / 1460 for value in printed.values()],
        "x",
        color=style.RED,
        label="table 9, one step per round trip",
    )
    axes.axhline(6, color=style.GREY, lw=0.8, ls="--")
    axes.set_xlabel("rounds after the recovery")
    axes.set_ylabel("congestion window (MSS)")
    axes.set_xlim(-0.3, 15)
    axes.legend()
    return Figure(
        "regrowth",
        figure,
        "The window after one loss, until it is no longer the limit (dashed: the receiver's 6 "
        "MSS).",
        "Windows growing from 3 to 6 segments in 3 to 9 rounds; table 9 takes 14.",
    )


def _bars(measured: Measured, name: str, caption: str) -> Figure:
    """Response times as bars, with the paper's two numbers as lines."""
    experiment = measured.study.experiments[name]
    figure, axes = new_figure(height=3.1)
    labels, means, halves = [], [], []
    for case in experiment.cases:
        found = measured.estimate(name, case)
        assert found is not None
        labels.append(experiment.cases[case].label)
        means.append(found.mean)
        halves.append((found.bounds.high - found.bounds.low) / 2)
    places = np.arange(len(labels))
    axes.barh(places, means, xerr=halves, color=style.SKY, height=0.6, error_kw={"capsize": 3})
    series = measured.study.published.series
    simulator = series["table_4"].comparable("0.1") or 0.0
    testbed = series["table_8"].values["0.1"]
    axes.axvline(simulator, color=style.BLACK, lw=1, label="paper, simulator")
    axes.axvline(testbed, color=style.RED, lw=1, ls="--", label="paper, testbed")
    axes.set_yticks(places, labels)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("response time (s)")
    figure.legend(loc="outside upper right", ncols=2)
    return Figure(f"{name}_bars", figure, caption, caption)
