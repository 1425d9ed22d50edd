"""Figures of the study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from retx.plots import style
from retx.study import Estimate, Figure, Measured, new_figure

from . import front
from .runs import RATES, SEGMENT_BYTES, Runs, rate, ratio, ticks_of
from .tables import HARM_TICKS, LOADS, QUEUES
from .values import round_trips

COLOURS = dict(zip(RATES, (style.RED, style.BLUE, style.GREEN), strict=True))
MARKS = dict(zip(RATES, ("o", "s", "^"), strict=True))
FLOW_COLOURS = (style.BLUE, style.RED, style.GREEN)
WORDS = {1: "one connection", 2: "two connections", 3: "three connections"}


def figures(measured: Measured) -> Iterator[Figure]:
    """Figures in the order of the report."""
    with style.styled():
        yield _correlation(measured)
        yield _windows(measured, "1", "2", "One connection")
        yield _curves(measured, 1, "3")
        yield _windows(measured, "2", "4", "Two connections")
        yield _curves(measured, 2, "5")
        yield _windows(measured, "3", "6", "Three connections")
        yield _curves(measured, 3, "7")
        yield _short(measured)
        yield _windows(measured, "clean", "9", "A wired connection")
        yield front.figure(measured)
        yield _tcps(measured)
        yield _remedies(measured)
        yield _fairness(measured)
        yield _surface(measured, "times", 0.0)
        yield _surface(measured, "taken", 0.0)
        yield _surface(measured, "times", 1e-6)
        yield _delays(measured)


def _labels(measured: Measured, name: str) -> dict[str, str]:
    """Labels of a list of values.toml."""
    return {item.key: item.label for item in measured.study.declared.lists.items(name)}


def _band(
    axes: Any,  # noqa: ANN401
    x: Sequence[float],
    found: Sequence[Estimate | None],
    **look: Any,  # noqa: ANN401
) -> None:
    """Means with their intervals."""
    known = [(place, one) for place, one in zip(x, found, strict=True) if one is not None]
    axes.errorbar(
        [place for place, _ in known],
        [one.mean for _, one in known],
        yerr=[
            [one.mean - one.bounds.low for _, one in known],
            [one.bounds.high - one.mean for _, one in known],
        ],
        capsize=2,
        ms=4,
        elinewidth=0.9,
        **look,
    )


def _correlation(measured: Measured) -> Figure:
    """The paper's figure 1."""
    trips = round_trips(measured.run("traces", "clean")).drop_nulls()
    figure = style.Figure(figsize=(5.2, 3.6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.plot(trips["acked_s"], trips["rtt_s"] * 100, color=style.BLUE, lw=0.9)
    upper.set_ylabel("RTT (ticks)")
    lower.plot(trips["acked_s"], trips["cwnd"], color=style.RED, lw=0.9)
    lower.set_ylabel("cwnd (segments)")
    lower.set_xlabel("time (s)")
    lower.set_ylim(bottom=0)
    lower.set_xlim(0, 100)
    return Figure(
        "figure_1",
        figure,
        "RTT of each segment and congestion window, one connection without errors (the paper's "
        "figure 1). A tick is 10 ms, the time of a packet at the bottleneck.",
        "Round-trip time and congestion window over 100 s; both rise and fall together.",
    )


def _windows(measured: Measured, case: str, number: str, title: str) -> Figure:
    """Windows of the connections without and with the rule."""
    figure = style.Figure(figsize=(5.2, 3.8), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True, sharey=True)
    random = case != "clean"
    replication = measured.typical("traces", f"{case} rule") if case == "1" else 0
    for axes, which, label in zip(
        panels, (case, f"{case} rule"), ("(a) without", "(b) threshold of 55 ticks"), strict=True
    ):
        samples = measured.run("traces", which, replication if random else 0).samples
        flows = samples.partition_by("flow", maintain_order=True)
        for colour, own in zip(FLOW_COLOURS, flows, strict=False):
            windows = own["cwnd_bytes"] / SEGMENT_BYTES
            axes.plot(own["time_s"], windows, color=colour, lw=0.9)
        axes.set_title(label, fontsize=9, loc="left")
        axes.set_ylabel("cwnd (segments)")
    panels[1].set_xlabel("time (s)")
    panels[1].set_xlim(0, 100)
    panels[1].set_ylim(bottom=0)
    where = "no errors" if not random else "bit error rate 1e-6"
    chosen = (
        "the run whose throughput with the rule comes closest to the mean"
        if case == "1"
        else "the first run"
    )
    tail = f"; {chosen}" if random else ""
    return Figure(
        f"figure_{number}",
        figure,
        f"{title}, {where}: congestion window without and with the rule (the paper's figure "
        f"{number}){tail}.",
        f"{title}: congestion window over 100 s without and with the rule.",
    )


def _curves(measured: Measured, count: int, number: str) -> Figure:
    """Throughput against the threshold, for three readings of the rule."""
    return Figure(
        f"figure_{number}",
        _against_threshold(measured, "threshold", _labels(measured, "tabled"), count),
        f"Throughput against the threshold, {WORDS[count]} (the paper's figure {number}); means "
        "with 95 % confidence intervals. The base RTT is 51 ticks: there the rule does nothing.",
        f"Throughput against the threshold at three bit error rates, {WORDS[count]}.",
    )


def _short(measured: Measured) -> Figure:
    """The paper's figure 8."""
    cases = measured.study.experiments["short"].cases
    return Figure(
        "figure_8",
        _against_threshold(measured, "short", {case: it.label for case, it in cases.items()}),
        "Throughput against the threshold at a round trip of 50 ms (the paper's figure 8); means "
        "with 95 % confidence intervals. The base RTT is 6 ticks.",
        "Throughput against the threshold at a round trip of 50 ms.",
    )


def _against_threshold(
    measured: Measured, experiment: str, labels: Mapping[str, str], *at: int
) -> style.Figure:
    """Throughput against the threshold, with a panel for each case."""
    runs, ticks = Runs(measured, experiment), ticks_of(measured, experiment)
    figure = style.Figure(figsize=(5.2, 5.2), layout="constrained")
    panels = figure.subplots(3, 1, sharex=True, sharey=True)
    for axes, (case, label) in zip(panels, labels.items(), strict=True):
        for ber in RATES:
            found = [runs.estimate(case, "throughput", *at, ber, f"{tick}0 ms") for tick in ticks]
            look = {"color": COLOURS[ber], "marker": MARKS[ber], "lw": 1.1}
            _band(axes, ticks, found, label=f"BER {rate(ber)}", **look)
        axes.set_title(label, fontsize=9, loc="left")
        axes.set_ylabel("kbit/s")
        axes.set_ylim(bottom=0)
    panels[2].set_xlabel("threshold (ticks of 10 ms)")
    panels[2].set_xticks(ticks)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=3)
    return figure


def _tcps(measured: Measured) -> Figure:
    """Each TCP without and with the rule."""
    runs = Runs(measured, "tcps")
    figure = style.Figure(figsize=(5.2, 5.4), layout="constrained")
    panels = figure.subplots(3, 1, sharex=True)
    tcps = _labels(measured, "tcps")
    places = np.arange(len(tcps))
    looks = (
        ("none", "without", style.GREY, -0.25),
        ("text", "every loss judged", style.RED, 0.0),
        ("fast", "timeouts are congestion", style.BLUE, 0.25),
    )
    for axes, ber in zip(panels, RATES, strict=True):
        for case, label, colour, aside in looks:
            found = [runs.estimate(case, "throughput", tcp, ber) for tcp in tcps]
            known = [one for one in found if one is not None]
            axes.bar(
                places + aside,
                [one.mean for one in known],
                0.25,
                yerr=[(one.bounds.high - one.bounds.low) / 2 for one in known],
                color=colour,
                error_kw={"capsize": 2, "lw": 0.8},
                label=label,
            )
        axes.set_title(f"BER {rate(ber)}", fontsize=9, loc="left")
        axes.set_ylabel("kbit/s")
        axes.grid(visible=False, axis="x")
    panels[2].set_xticks(places, list(tcps.values()), rotation=30, ha="right")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
    return Figure(
        "tcps",
        figure,
        "Throughput of each TCP without the rule, and with a threshold 4 ticks above the base "
        "RTT; one connection, means with 95 % confidence intervals.",
        "Throughput of eight TCPs without and with the rule at three bit error rates.",
    )


def _remedies(measured: Measured) -> Figure:
    """All remedies, with errors on the satellite hop or on the last hop."""
    figure = style.Figure(figsize=(5.2, 6.6), layout="constrained")
    counts = [len(measured.study.experiments[name].cases) for name in ("remedies", "last_hop")]
    panels = figure.subplots(2, 1, sharex=True, height_ratios=counts)
    clean = Runs(measured, "plain").mean("none", "throughput", 1, 0.0)
    titles = {"remedies": "errors on the satellite hop", "last_hop": "errors on a last hop of 2 ms"}
    for axes, name in zip(panels, titles, strict=True):
        runs = Runs(measured, name)
        cases = measured.study.experiments[name].cases
        for ber in RATES:
            found = [runs.estimate(case, "throughput", ber) for case in cases]
            known = [one for one in found if one is not None]
            axes.errorbar(
                [one.mean for one in known],
                range(len(cases)),
                xerr=[(one.bounds.high - one.bounds.low) / 2 for one in known],
                fmt=MARKS[ber],
                ms=4,
                color=COLOURS[ber],
                elinewidth=0.9,
                label=f"BER {rate(ber)}",
            )
        axes.axvline(clean, color=style.GREY, lw=0.8, ls="--", label="Reno, no errors")
        axes.set_yticks(range(len(cases)), [what.label for what in cases.values()], fontsize=7.5)
        axes.invert_yaxis()
        axes.set_title(titles[name], fontsize=9, loc="left")
    panels[1].set_xlabel("throughput (kbit/s)")
    panels[1].set_xlim(left=0)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=4)
    return Figure(
        "remedies",
        figure,
        "Throughput with one remedy each; the sender is Reno unless stated otherwise. Means with "
        "95 % confidence intervals.",
        "Throughput of remedies at three bit error rates, errors on two different hops.",
    )


def _fairness(measured: Measured) -> Figure:
    """Throughput of the flows with long and short RTT, by case and error rate."""
    runs = Runs(measured, "fairness")
    cases = measured.study.experiments["fairness"].cases
    figure = style.Figure(figsize=(5.2, 4.6), layout="constrained")
    rates = (0.0, *reversed(RATES))
    panels = figure.subplots(2, 2, sharex=True, sharey=True).flatten()
    places = np.arange(len(cases))
    for axes, ber in zip(panels, rates, strict=True):
        base = np.zeros(len(cases))
        for column, colour, label in (
            ("long", style.BLUE, "500 ms"),
            ("short", style.ORANGE, "50 ms"),
        ):
            found = [runs.estimate(case, column, ber) for case in cases]
            means = np.array([one.mean if one else 0.0 for one in found])
            halves = [(one.bounds.high - one.bounds.low) / 2 if one else 0.0 for one in found]
            axes.bar(
                places,
                means,
                0.7,
                bottom=base,
                color=colour,
                label=label,
                yerr=halves,
                error_kw={"capsize": 2, "lw": 0.8},
            )
            base += means
        axes.set_title(f"BER {rate(ber)}" if ber else "no errors", fontsize=9, loc="left")
        axes.grid(visible=False, axis="x")
    labels = ["neither", "long", "short", "both", "both, fast"]
    for axes in panels[2:]:
        axes.set_xticks(places, labels, rotation=30, ha="right")
    for axes in panels[::2]:
        axes.set_ylabel("kbit/s")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
    return Figure(
        "fairness",
        figure,
        "Throughput of a connection of 500 ms and one of 50 ms that share a link. The bars differ"
        " in the connections that apply the rule; fast: timeouts are congestion.",
        "Stacked bars of the throughput of a long and a short connection.",
    )


def _surface(measured: Measured, column: str, ber: float) -> Figure:
    """Threshold × queue for three loads and three readings."""
    runs = Runs(measured, "harm")
    cases = measured.study.experiments["harm"].cases
    figure = style.Figure(figsize=(5.2, 5.6), layout="constrained")
    panels = figure.subplots(3, 3, sharex=True, sharey=True)
    cells = {
        (case, load): np.array(
            [
                [_cell(runs, case, column, (ber, load, queue), ticks) for ticks in HARM_TICKS]
                for queue in QUEUES
            ]
        )
        for case in cases
        for load in LOADS
    }
    for line, (case, what) in zip(panels, cases.items(), strict=True):
        for axes, load in zip(line, LOADS, strict=True):
            drawn = axes.pcolormesh(
                cells[case, load],
                cmap=style.MAP if column == "times" else f"{style.MAP}_r",
                vmin=0,
                vmax=max(1.0, *(float(np.nanmax(one)) for one in cells.values())),
                edgecolors="white",
                linewidth=0.4,
            )
            # With a full queue, no threshold below the stair exceeds all RTTs.
            stair = [sum(ticks <= 51 + queue for ticks in HARM_TICKS) for queue in QUEUES]
            axes.step(
                [stair[0], *stair], range(len(QUEUES) + 1), where="pre", color="black", lw=1.2
            )
            axes.set_xticks(np.arange(len(HARM_TICKS)) + 0.5, list(map(str, HARM_TICKS)))
            axes.set_yticks(np.arange(len(QUEUES)) + 0.5, list(map(str, QUEUES)))
            axes.tick_params(labelsize=6.5, length=0)
            axes.grid(visible=False)
            if case == "text":
                axes.set_title(f"{load} connection{'s' if load > 1 else ''}", fontsize=8)
        line[0].set_ylabel(f"{what.label}\nqueue (packets)", fontsize=7)
    for axes in panels[2]:
        axes.set_xlabel("threshold (ticks)", fontsize=7.5)
    label = {
        "times": "throughput, relative to that without the rule",
        "taken": "share of congestion attributed to corruption",
    }[column]
    figure.colorbar(drawn, ax=panels, label=label, location="top", shrink=0.7, aspect=40)
    errors = f"bit error rate {rate(ber)}" if ber else "no errors"
    return Figure(
        f"surface_{column}_{'errors' if ber else 'clean'}",
        figure,
        f"{label[0].upper()}{label[1:]}, {errors}, by threshold, queue and load. Right of the "
        "black line, the threshold exceeds every RTT that a full queue causes, so no loss can "
        "look like congestion.",
        f"Nine heat maps over threshold and queue: {label}, {errors}.",
    )


def _cell(runs: Runs, case: str, column: str, at: tuple[float, int, int], ticks: int) -> float:
    threshold = f"{ticks}0 ms"
    if column == "taken":
        found = runs.estimate(case, "taken", *at, threshold)
    else:
        none = runs.values(case, "throughput", *at, "510 ms")
        found = ratio(runs.values(case, "throughput", *at, threshold), none)
    return float("nan") if found is None else found.mean


def _delays(measured: Measured) -> Figure:
    """The gain against the round-trip time."""
    runs = Runs(measured, "delays")
    delays = {10: 3.5, 20: 8.5, 50: 23.5, 100: 48.5, 200: 98.5, 500: 248.5}
    figure, axes = new_figure(height=3.2)
    for ber in RATES:
        for case, dashes in (("text", ":"), ("fast", "-")):
            found = [
                ratio(
                    runs.values(case, "throughput", f"{delay} ms", ber),
                    runs.values("none", "throughput", f"{delay} ms", ber),
                )
                for delay in delays.values()
            ]
            label = f"BER {rate(ber)}" if case == "fast" else None
            look = {"color": COLOURS[ber], "marker": MARKS[ber], "ls": dashes, "lw": 1.1}
            _band(axes, list(delays), found, label=label, **look)
    axes.axhline(1, color=style.GREY, lw=0.8)
    axes.set_xscale("log")
    axes.set_xticks(list(delays), [str(rtt) for rtt in delays])
    axes.minorticks_off()
    axes.set_xlabel("round trip without transmission (ms)")
    axes.set_ylabel("throughput, relative to that without")
    axes.set_ylim(bottom=0)
    figure.legend(loc="outside upper left", ncols=3)
    return Figure(
        "delays",
        figure,
        "Gain from the rule, 4 ticks above the base RTT, for terrestrial to satellite delays. "
        "Solid: timeouts are congestion; dotted: every loss is judged.",
        "Gain of the rule against the round-trip time at three bit error rates.",
    )
