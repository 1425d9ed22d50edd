"""Figures of goodputs: figures 9, 11, 12 and 14, tables 2 and 3."""

from __future__ import annotations

from collections.abc import Iterator

from retx.plots import style
from retx.study import Figure, Measured, mean_quotient

from .drawings import LOOKS, PAPER, curve, label, legend, numbers, over_axis, panels, series
from .values import BOUNDS, COUNT

READINGS = (*BOUNDS, "dynamic_path")
"""The bounds of the window, and the first with ABW × least RTT."""
LOST = {0: 0, 1: 28, 2: 55, 3: 83, 5: 138, 6: 166, 8: 221}
"""Number of faults in 200 s by the loss rate of the paper, in percent."""
ONE, OTHER, TO = "flow.one.count", "flow.other.count", "flow.ftp.to"


def comparisons(measured: Measured) -> Iterator[Figure]:
    """Figures in the order of the paper."""
    for drawn in (_table_2, _gains, _mix_gains, _dumbbell, _chain, _fairness, _sharing):
        yield drawn(measured)


def _table_2(measured: Measured) -> Figure:
    figure, axes = panels(1, 4, 3.0)
    cases = ("reno", "dynamic", "dynamic_flat", "dynamic_free")
    for panel, name in zip(axes[0], ("goodput", "rto", "frr", "resent"), strict=True):
        printed = series(measured, f"table_2_{name}")
        scale = 1e-3 if name == "goodput" else 1.0
        for place, case in enumerate(cases):
            one = measured.estimate("table_2", case, name)
            look = LOOKS[case] | {"ls": "none", "label": label(measured, case)}
            curve(panel, [place], [one], look)
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
    printed = series(measured, "figure_9a")
    figure, axes = panels(1, 2, 3.6)
    counts: dict[float, object] = {float(percent): count for percent, count in LOST.items()}
    over_axis(measured, axes[0, 0], "loss", COUNT, counts)
    axes[0, 0].set(xlabel="loss rate (%)", ylabel="goodput (kbit/s)")
    axes[0, 0].set_ylim(bottom=0)
    for case in READINGS:
        found = [
            mean_quotient(
                *(measured.values("loss", it, "goodput", at={COUNT: n}) for it in (case, "reno"))
            )
            for n in LOST.values()
        ]
        curve(axes[0, 1], list(counts), found, LOOKS[case])
    axes[0, 1].plot([float(x) for x in printed], list(printed.values()), **PAPER)
    axes[0, 1].set(xlabel="loss rate (%)", ylabel="times Reno's")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    extra, names = axes[0, 1].get_legend_handles_labels()
    figure.legend(
        handles + extra, labels + names, loc="outside upper left", ncols=2, handlelength=2.2
    )
    return Figure(
        "gains", figure,
        "Figure 9a: goodput of one flow, and the proposal's divided by Reno's, against the loss "
        "rate (faults of 72.5 ms, 138 at 5 %).",
        "Goodput falls with the loss rate, the proposal's less.",
    )  # fmt: skip


def _mix_gains(measured: Measured) -> Figure:
    mixes = ("1:9", "2:8", "5:5", "8:2")
    figure, axes = panels(1, 1, 2.8)
    panel = axes[0, 0]

    def runs(mix: str, tcp: str) -> list[float | None]:
        return measured.values("mixes", f"5 {mix}", "goodput", at={"flow.ftp.tcp": tcp})

    for case in BOUNDS:
        found = [mean_quotient(runs(mix, case), runs(mix, "reno")) for mix in mixes]
        curve(panel, range(len(mixes)), found, LOOKS[case] | {"label": label(measured, case)})
    panel.plot([0, 3], numbers(measured, "gain_1_9", "gain_8_2"), **PAPER)
    panel.axhline(1, color=style.GREY, lw=0.8)
    panel.set_xticks(range(len(mixes)), mixes)
    panel.set(xlabel="wireless to congestion losses, with Reno", ylabel="goodput, times Reno's")
    legend(figure, panel)
    return Figure(
        "mix_gains", figure,
        "Figure 9b: goodput divided by Reno's, at a loss rate of 5 %, against the mix of causes.",
        "With congestion in the mix no reading gains as published.",
    )  # fmt: skip


def _dumbbell(measured: Measured) -> Figure:
    figure, axes = panels(2, 2, 5.8)
    counts: dict[float, object] = {count: count for count in (0, 5, 15, 30, 45, 60, 75)}
    over_axis(measured, axes[0, 0], "dumbbell_faults", COUNT, counts)
    over_axis(measured, axes[0, 1], "dumbbell_faults", COUNT, counts, "unnecessary")
    flows: dict[float, object] = {count: count for count in (1, 4, 7, 10)}
    over_axis(measured, axes[1, 0], "dumbbell_reverse", "flow.udp.count", flows)
    delays: dict[float, object] = {delay: f"{delay} ms" for delay in (5, 10, 30, 60, 90)}
    over_axis(measured, axes[1, 1], "dumbbell_delay", "link.wired.delay", delays)
    for panel, axis in zip(
        axes.flat,
        ("faults in 200 s", "faults in 200 s", "UDP flows, right to left", "delay (ms)"),
        strict=True,
    ):
        panel.set(xlabel=axis, ylabel="goodput of all (kbit/s)")
    axes[0, 1].set_ylabel("unnecessary retransmissions")
    axes[0, 1].set_yscale("symlog", linthresh=10)
    legend(figure, axes[0, 0])
    return Figure(
        "dumbbell", figure,
        "Figures 11a to 11d: four TCP flows in the dumbbell. The paper prints no numbers. By the "
        "paper, the proposal has the highest goodput in a, c and d, and the fewest needless "
        "retransmissions in b.",
        "Goodput and needless retransmissions in the dumbbell.",
    )  # fmt: skip


def _chain(measured: Measured) -> Figure:
    figure, axes = panels(1, 2, 3.6)
    hops: dict[float, object] = {number: f"n{number}" for number in (1, 2, 3, 4)}
    over_axis(measured, axes[0, 0], "chain", TO, hops)
    for case in (*READINGS, "frto", "jtcp_like", "prairie_like"):
        found = [
            mean_quotient(
                *(measured.values("chain", it, "goodput", at={TO: to}) for it in (case, "reno"))
            )
            for to in hops.values()
        ]
        curve(axes[0, 1], list(hops), found, LOOKS[case])
    for panel, axis in zip(axes[0], ("goodput (kbit/s)", "times Reno's"), strict=True):
        panel.set_xticks([1, 2, 3, 4])
        panel.set(xlabel="hops of 802.11b", ylabel=axis)
    axes[0, 0].set_ylim(bottom=0)
    legend(figure, axes[0, 0])
    return Figure(
        "chain", figure,
        "Figure 12b: a chain of 802.11b stations with 138 faults of 72.5 ms. The paper prints no "
        "numbers. By the paper, the proposal is the best, and gains more with every hop.",
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
        look = LOOKS[case] | {"label": label(measured, case)}
        curve(panel, [2 * half for half in range(1, 7)], found, look)
    panel.plot([2, 2], numbers(measured, "fairness_reno_2", "fairness_dynamic_2"), **PAPER)
    panel.axhline(0.986, color=style.GREY, lw=0.8, ls=":")
    panel.set(xlabel="equal connections", ylabel="Jain's index")
    legend(figure, panel)
    return Figure(
        "fairness", figure,
        "Figure 14a: fairness of equal connections. Dotted: 0.986; the paper's values are above "
        "it.",
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
            curve(panel, counts, found, LOOKS[case] | {"label": label(measured, case)})
    reno, ratio = (series(measured, f"table_3_{name}") for name in ("reno", "ratio"))
    axes[0, 0].plot(counts, list(ratio.values()), **PAPER)
    axes[0, 1].plot(counts, [value / 1e3 for value in reno.values()], **PAPER)
    for panel, axis in zip(axes[0], ("times a Reno flow's", "a Reno flow's (kbit/s)"), strict=True):
        panel.set(xlabel="Reno flows among ten", ylabel=axis)
        panel.set_ylim(bottom=0)
    legend(figure, axes[0, 0])
    return Figure(
        "sharing", figure,
        "Table 3: throughput of the proposal, divided by that of a Reno flow, and throughput of "
        "the Reno flows, with ten connections.",
        "The proposal next to Reno flows, against the number of Reno flows.",
    )  # fmt: skip
