"""Figures against a parameter: figures 3, 5, 6, 9, 11, 12, 14, tables 2 and 3."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from retx.plots import style
from retx.study import Estimate, Figure, Measured, estimate

from .values import (
    ALPHA,
    BETA,
    COUNT,
    CWND_MAX,
    DELAY,
    FLOWS,
    LIMIT,
    LOST,
    MIXES,
    ONE,
    OTHER,
    READINGS,
    TCP,
    TO,
    UDP,
    cause_points,
    over,
    quotients,
)

WIDTH = 5.2
LOOKS: dict[str, dict[str, Any]] = {
    "reno": {"color": style.BLACK, "marker": "o", "ls": "-"},
    "dynamic": {"color": style.RED, "marker": "D", "ls": "-"},
    "dynamic_free": {"color": style.ORANGE, "marker": "s", "ls": "--"},
    "dynamic_flat": {"color": style.SKY, "marker": "X", "ls": "-."},
    "dynamic_path": {"color": style.GREY, "marker": "*", "ls": ":"},
    "frto": {"color": style.BLUE, "marker": "^", "ls": "-."},
    "jtcp_like": {"color": style.GREEN, "marker": "v", "ls": ":"},
    "prairie_like": {"color": style.PURPLE, "marker": "P", "ls": "--"},
}
PAPER: dict[str, Any] = {
    "color": style.BLACK, "marker": "o", "mfc": "none", "ms": 7, "ls": "none", "label": "paper",
}  # fmt: skip
MARKED = {"color": style.RED, "mfc": "none", "marker": "o", "ms": 15, "ls": "none"}


def drawings(measured: Measured) -> Iterator[Figure]:
    """Figures in the order of the paper."""
    for drawn in (
        _limit, _causes, _needless, _map, _grid, _table_2, _gains, _mix_gains, _dumbbell, _chain,
        _fairness, _sharing,
    ):  # fmt: skip
        yield drawn(measured)


def panels(rows: int, columns: int, height: float, share: str = "") -> tuple[style.Figure, Any]:
    """A figure with panels, as wide as a report's text; `share` their axis `x` or `y`."""
    made = style.Figure(figsize=(WIDTH, height), layout="constrained")
    axes = made.subplots(rows, columns, squeeze=False, sharex=share == "x", sharey=share == "y")
    return made, axes


def legend(figure: style.Figure, axes: Any, columns: int = 2) -> None:  # noqa: ANN401
    """One legend above all panels."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=columns, handlelength=2.2)


def _curve(
    axes: Any,  # noqa: ANN401
    places: Sequence[float],
    found: Sequence[Estimate | None],
    look: Mapping[str, Any],
) -> None:
    """Means with their intervals."""
    known = [(x, one) for x, one in zip(places, found, strict=True) if one is not None]
    halves = [(one.bounds.high - one.bounds.low) / 2 for _, one in known]
    axes.errorbar(
        [x for x, _ in known], [one.mean for _, one in known], yerr=halves,
        ms=3.5, lw=1.1, capsize=2, elinewidth=0.8, **look,
    )  # fmt: skip


def _label(measured: Measured, case: str) -> str:
    return measured.study.experiments["loss"].cases[case].label


def _over_axis(
    measured: Measured,
    axes: Any,  # noqa: ANN401
    experiment: str,
    key: str,
    points: Mapping[float, object],
    quantity: str = "goodput",
) -> None:
    """One curve for each sender."""
    for case in measured.study.experiments[experiment].cases:
        found = [
            measured.estimate(experiment, case, quantity, at={key: value})
            for value in points.values()
        ]
        _curve(axes, list(points), found, LOOKS[case] | {"label": _label(measured, case)})


def _numbers(measured: Measured, *names: str) -> list[float]:
    published = measured.study.published.numbers
    return [float(published[name].value) for name in names]


def _series(measured: Measured, name: str) -> dict[str, float]:
    values = measured.study.published.series[name].values
    return {case: float(value) for case, value in values.items()}


def _cells(
    axes: Any,  # noqa: ANN401
    values: Any,  # noqa: ANN401
    dark: Any,  # noqa: ANN401
    form: Callable[[float], str] = "{:.0f}".format,
) -> None:
    """Each finite value of an array in its cell of a map, white on `dark` ones."""
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            axes.text(
                column + 0.5, row + 0.5, form(value), ha="center", va="center", fontsize=6.5,
                color="white" if dark[row, column] else "black",
            )  # fmt: skip


def _ticks(axes: Any, right: Sequence[str], up: Sequence[str]) -> None:  # noqa: ANN401
    axes.set_xticks(np.arange(len(right)) + 0.5, right)
    axes.set_yticks(np.arange(len(up)) + 0.5, up)
    axes.grid(visible=False)


def _limit(measured: Measured) -> Figure:
    sizes = (2, 4, 6, 8, 10, 15, 20, 30, 40, 50)
    looks = {"faults": LOOKS["reno"], "errors": LOOKS["frto"], "free": LOOKS["dynamic_free"]}
    figure, axes = panels(1, 1, 3.0)
    panel = axes[0, 0]
    for case, what in measured.study.experiments["window"].cases.items():
        found = [
            measured.estimate("window", case, "goodput", at={LIMIT: f"{size} mss"})
            for size in sizes
        ]
        _curve(panel, sizes, found, looks[case] | {"label": what.label})
    panel.set(xlabel="largest window (segments)", ylabel="goodput (kbit/s)")
    panel.set_ylim(bottom=0)
    legend(figure, panel, 1)
    return Figure(
        "limit", figure,
        "Figure 3: goodput against a fixed largest window. The paper's falls all the way; its "
        "numbers are not printed.",
        "Goodput over the largest window, for Reno and the proposal.",
    )  # fmt: skip


def _causes(measured: Measured) -> Figure:
    tags = list(measured.study.experiments["mixes"].cases)
    figure, axes = panels(2, 1, 4.4, "x")
    printed = {
        "rto": [*_numbers(measured, "rto_3_congestion", "rto_3_wireless"), 0.0],
        "frr": _numbers(measured, "frr_3_congestion", "frr_3_wireless", "frr_3_spurious"),
    }
    place = tags.index(MIXES["3"]) + 0.42
    for panel, kind, title in ((axes[0, 0], "rto", "RTOs"), (axes[1, 0], "frr", "FRRs")):
        bottom, theirs = np.zeros(len(tags)), 0.0
        for number, cause in enumerate(("congestion", "wireless", "spurious")):
            shares = np.array(
                [
                    100 * measured.mean("mixes", tag, f"{kind}_{cause}", at={TCP: "reno"})
                    for tag in tags
                ]
            )
            look = {"color": style.CAUSE_COLOUR[cause], "hatch": style.CAUSE_HATCH[cause]}
            panel.bar(
                range(len(tags)), shares, bottom=bottom, width=0.55, label=cause,
                edgecolor="white", **look,
            )  # fmt: skip
            bottom += np.nan_to_num(shares)
            share = 100 * printed[kind][number]
            panel.bar(place, share, bottom=theirs, width=0.14, edgecolor=style.BLUE, lw=0.8, **look)
            theirs += share
        panel.set_ylabel(f"share of {title} (%)")
        panel.grid(visible=False, axis="x")
    cases = measured.study.experiments["mixes"].cases
    axes[1, 0].set_xticks(range(len(tags)), [cases[tag].label.replace(", ", "\n") for tag in tags])
    axes[1, 0].set_xlabel("loss rate, wireless to congestion")
    legend(figure, axes[0, 0], 3)
    return Figure(
        "causes", figure,
        "Figure 5b: what triggered Reno's recoveries in the mixes that the text names. Narrow "
        "bars, edged in blue: the paper's at 3 %, 7:3.",
        "Stacked bars of causes: congestion, wireless, spurious.",
    )  # fmt: skip


def _needless(measured: Measured) -> Figure:
    figure, axes = panels(1, 2, 2.9)
    points = cause_points(measured)
    for label, key, value, look in (
        ("faults, one flow", FLOWS, 1, LOOKS["dynamic"]),
        ("queue alone, more and more flows", COUNT, 0, LOOKS["reno"]),
    ):
        some = points.filter((points[key] == value) & (points["resent"] > 0)).sort("lost_percent")
        for panel, quantity in zip(axes[0], ("resent", "unnecessary_share"), strict=True):
            panel.plot(some["lost_percent"], some[quantity], ms=3.5, lw=1.1, **look, label=label)
    resent, share = _numbers(measured, "resent_at_1", "unnecessary_at_1")
    axes[0, 0].plot([1], [resent], **PAPER)
    axes[0, 1].plot([1], [share], **PAPER)
    axes[0, 1].axhline(0.9, color=style.GREY, lw=0.8, ls=":")
    labels = ("retransmissions in 165 s", "share of them unnecessary")
    for panel, text in zip(axes[0], labels, strict=True):
        panel.set(xlabel="packets lost (%)", ylabel=text)
        panel.set_ylim(bottom=0)
    legend(figure, axes[0, 0], 3)
    return Figure(
        "needless", figure,
        "Figures 5c and 5d: Reno's retransmissions, and the share of unnecessary ones. Dotted: "
        "the paper's worst case, “almost 90 %”.",
        "Retransmissions and their needless share over the loss rate.",
    )  # fmt: skip


def _map(measured: Measured) -> Figure:
    points = cause_points(measured)
    right = points[COUNT].unique(maintain_order=True).to_list()
    up = points[FLOWS].unique(maintain_order=True).to_list()
    values = np.full((len(up), len(right)), np.nan)
    for row in points.iter_rows(named=True):
        if row["lost_percent"] > 0:
            values[up.index(row[FLOWS]), right.index(row[COUNT])] = 100 * row["irrelevant"]
    figure, axes = panels(1, 1, 2.9)
    panel = axes[0, 0]
    cells = panel.pcolormesh(values, cmap=style.MAP, vmin=0, vmax=100, edgecolors="white", lw=0.5)
    _cells(panel, values, values <= 50)
    _ticks(panel, [str(one) for one in right], [str(one) for one in up])
    panel.set(xlabel="faults in 200 s", ylabel="flows")
    figure.colorbar(cells, ax=panel, label="not due to congestion (%)")
    return Figure(
        "map", figure,
        "Behind figure 5b: Reno's recoveries that congestion did not trigger, by load and faults.",
        "A map of the share of congestion-irrelevant recoveries.",
    )  # fmt: skip


def _grid(measured: Measured) -> Figure:
    cases = measured.study.experiments["alpha_beta"].cases
    figure, axes = panels(2, 2, 5.4)
    for panel, (case, what) in zip(axes.flat, cases.items(), strict=False):
        table = measured.table("alpha_beta", "derived", case)
        alphas, betas = (table[key].unique().sort().to_list() for key in (ALPHA, BETA))
        values = np.array(
            [
                [
                    measured.mean("alpha_beta", case, "goodput", at={ALPHA: alpha, BETA: beta})
                    for alpha in alphas
                ]
                for beta in betas
            ]
        )
        share = 100 * values / values.max()
        panel.pcolormesh(share, cmap=style.MAP, edgecolors="white", lw=0.5)
        _cells(panel, share, share <= (share.min() + share.max()) / 2)
        panel.plot(alphas.index(0.5) + 0.5, betas.index(10_000) + 0.5, **MARKED)
        _ticks(panel, [f"{alpha:g}" for alpha in alphas], [f"{beta:,}" for beta in betas])
        panel.set(xlabel="α (%)", ylabel="β (bytes)")
        panel.set_title(what.label, fontsize=9)
    last = axes[1, 1]
    for case, what in cases.items():
        sizes = (10_000, 15_000, 25_000, 40_000, 65_535)
        found = [
            measured.estimate("cwnd_max", case, "goodput", at={CWND_MAX: size}) for size in sizes
        ]
        _curve(last, [size / 1e3 for size in sizes], found, LOOKS[case] | {"label": what.label})
    last.axvline(25, color=style.RED, lw=0.8, ls=":")
    last.set(xlabel="cwnd_max (kB)", ylabel="kbit/s")
    last.set_ylim(bottom=0)
    return Figure(
        "grid", figure,
        "Figure 6: goodput in percent of the best over α and β (cwnd_max = 65,535 bytes), and "
        "over cwnd_max, for three readings of equation 5. Circle, dotted line: the paper's choice.",
        "Maps of goodput over alpha and beta, and curves over cwnd_max.",
    )  # fmt: skip


def _table_2(measured: Measured) -> Figure:
    figure, axes = panels(1, 4, 3.0)
    cases = ("reno", "dynamic", "dynamic_flat", "dynamic_free")
    for panel, name in zip(axes[0], ("goodput", "rto", "frr", "resent"), strict=True):
        printed = _series(measured, f"table_2_{name}")
        scale = 1e-3 if name == "goodput" else 1.0
        for place, case in enumerate(cases):
            one = measured.estimate("table_2", case, name)
            look = LOOKS[case] | {"ls": "none", "label": _label(measured, case)}
            _curve(panel, [place], [one], look)
        panel.plot([0, 1], [scale * printed["reno"], scale * printed["dynamic"]], **PAPER)
        panel.set_title({"goodput": "kbit/s", "rto": "RTOs", "frr": "FRRs"}.get(name, name))
        panel.set_xticks([])
        panel.set_xlim(-0.6, 3.6)
        panel.set_ylim(bottom=0)
    legend(figure, axes[0, 0], 1)
    return Figure(
        "table_2", figure,
        "Table 2: one flow, 138 faults of 72.5 ms. Open circles: the paper, for Reno and the "
        "proposal.",
        "Goodput, timeouts, fast retransmits and retransmissions, published and measured.",
    )  # fmt: skip


def _gains(measured: Measured) -> Figure:
    printed = _series(measured, "figure_9a")
    figure, axes = panels(1, 2, 3.6)
    counts: dict[float, object] = {float(percent): count for percent, count in LOST.items()}
    _over_axis(measured, axes[0, 0], "loss", COUNT, counts)
    axes[0, 0].set(xlabel="loss rate (%)", ylabel="goodput (kbit/s)")
    axes[0, 0].set_ylim(bottom=0)
    for case in READINGS:
        found = [
            over(*(measured.values("loss", it, "goodput", at={COUNT: n}) for it in (case, "reno")))
            for n in LOST.values()
        ]
        _curve(axes[0, 1], list(counts), found, LOOKS[case])
    axes[0, 1].plot([float(x) for x in printed], list(printed.values()), **PAPER)
    axes[0, 1].set(xlabel="loss rate (%)", ylabel="times Reno's")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    extra, names = axes[0, 1].get_legend_handles_labels()
    figure.legend(
        handles + extra, labels + names, loc="outside upper left", ncols=2, handlelength=2.2
    )
    return Figure(
        "gains", figure,
        "Figure 9a: goodput of one flow, and the proposal's over Reno's, against the loss rate "
        "(faults of 72.5 ms, 138 at 5 %).",
        "Goodput falls with the loss rate, the proposal's less.",
    )  # fmt: skip


def _mix_gains(measured: Measured) -> Figure:
    tags = ("1_9", "2_8", "5_5", "8_2")
    figure, axes = panels(1, 1, 2.8)
    panel = axes[0, 0]

    def runs(tag: str, tcp: str) -> list[float | None]:
        return measured.values("mixes", MIXES[tag], "goodput", at={TCP: tcp})

    for case in READINGS[:3]:
        found = [estimate(quotients(runs(tag, case), runs(tag, "reno"))) for tag in tags]
        _curve(panel, range(len(tags)), found, LOOKS[case] | {"label": _label(measured, case)})
    panel.plot([0, 3], _numbers(measured, "gain_1_9", "gain_8_2"), **PAPER)
    panel.axhline(1, color=style.GREY, lw=0.8)
    panel.set_xticks(range(len(tags)), [tag.replace("_", ":") for tag in tags])
    panel.set(xlabel="wireless to congestion losses, with Reno", ylabel="goodput, times Reno's")
    legend(figure, panel)
    return Figure(
        "mix_gains", figure,
        "Figure 9b: goodput over Reno's at 5 % lost, by the mix of causes.",
        "With congestion in the mix no reading gains as published.",
    )  # fmt: skip


def _dumbbell(measured: Measured) -> Figure:
    figure, axes = panels(2, 2, 5.8)
    counts: dict[float, object] = {count: count for count in (0, 5, 15, 30, 45, 60, 75)}
    _over_axis(measured, axes[0, 0], "dumbbell_faults", COUNT, counts)
    _over_axis(measured, axes[0, 1], "dumbbell_faults", COUNT, counts, "unnecessary")
    flows: dict[float, object] = {count: count for count in (1, 4, 7, 10)}
    _over_axis(measured, axes[1, 0], "dumbbell_reverse", UDP, flows)
    delays: dict[float, object] = {delay: f"{delay} ms" for delay in (5, 10, 30, 60, 90)}
    _over_axis(measured, axes[1, 1], "dumbbell_delay", DELAY, delays)
    for panel, label in zip(
        axes.flat,
        ("faults in 200 s", "faults in 200 s", "UDP flows, right to left", "delay (ms)"),
        strict=True,
    ):
        panel.set(xlabel=label, ylabel="goodput of all (kbit/s)")
    axes[0, 1].set_ylabel("unnecessary retransmissions")
    axes[0, 1].set_yscale("symlog", linthresh=10)
    legend(figure, axes[0, 0])
    return Figure(
        "dumbbell", figure,
        "Figures 11a to 11d: four TCP flows in the dumbbell. The paper prints no numbers; its "
        "proposal is the best in a, c and d and has the fewest in b.",
        "Goodput and needless retransmissions in the dumbbell.",
    )  # fmt: skip


def _chain(measured: Measured) -> Figure:
    figure, axes = panels(1, 2, 3.6)
    hops: dict[float, object] = {number: f"n{number}" for number in (1, 2, 3, 4)}
    _over_axis(measured, axes[0, 0], "chain", TO, hops)
    for case in (*READINGS, "frto", "jtcp_like", "prairie_like"):
        found = [
            over(*(measured.values("chain", it, "goodput", at={TO: to}) for it in (case, "reno")))
            for to in hops.values()
        ]
        _curve(axes[0, 1], list(hops), found, LOOKS[case])
    for panel, label in zip(axes[0], ("goodput (kbit/s)", "times Reno's"), strict=True):
        panel.set_xticks([1, 2, 3, 4])
        panel.set(xlabel="hops of 802.11b", ylabel=label)
    axes[0, 0].set_ylim(bottom=0)
    legend(figure, axes[0, 0])
    return Figure(
        "chain", figure,
        "Figure 12b: a chain of 802.11b stations with 138 faults of 72.5 ms. The paper prints no "
        "numbers: its proposal is the best, and gains more with every hop.",
        "Goodput over the number of hops, and relative to Reno's.",
    )  # fmt: skip


def _fairness(measured: Measured) -> Figure:
    figure, axes = panels(1, 1, 2.8)
    panel = axes[0, 0]
    for case in ("reno", *READINGS):
        found = [
            measured.estimate("fairness", case, "jain", at={ONE: half, OTHER: half})
            for half in range(1, 7)
        ]
        look = LOOKS[case] | {"label": _label(measured, case)}
        _curve(panel, [2 * half for half in range(1, 7)], found, look)
    panel.plot([2, 2], _numbers(measured, "fairness_reno_2", "fairness_dynamic_2"), **PAPER)
    panel.axhline(0.986, color=style.GREY, lw=0.8, ls=":")
    panel.set(xlabel="equal connections", ylabel="Jain's index")
    legend(figure, panel)
    return Figure(
        "fairness", figure,
        "Figure 14a: fairness of equal connections. Dotted: 0.986, above which the paper's stay.",
        "Jain's index over the number of connections.",
    )  # fmt: skip


def _sharing(measured: Measured) -> Figure:
    figure, axes = panels(1, 2, 3.4)
    counts = (1, 3, 5, 7, 9)
    for case in READINGS:
        for panel, quantity in zip(axes[0], ("advantage", "goodput_one"), strict=True):
            found = [
                measured.estimate("friendliness", case, quantity, at={ONE: n, OTHER: 10 - n})
                for n in counts
            ]
            _curve(panel, counts, found, LOOKS[case] | {"label": _label(measured, case)})
    reno, ratio = (_series(measured, f"table_3_{name}") for name in ("reno", "ratio"))
    axes[0, 0].plot(counts, list(ratio.values()), **PAPER)
    axes[0, 1].plot(counts, [value / 1e3 for value in reno.values()], **PAPER)
    for panel, label in zip(axes[0], ("times a Reno's", "a Reno's (kbit/s)"), strict=True):
        panel.set(xlabel="Renos among ten", ylabel=label)
        panel.set_ylim(bottom=0)
    legend(figure, axes[0, 0])
    return Figure(
        "sharing", figure,
        "Table 3: throughput of the proposal over a Reno's, and of the Renos, in ten connections.",
        "The proposal beside Renos, by the number of Renos.",
    )  # fmt: skip
