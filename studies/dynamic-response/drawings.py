"""Figures against a parameter (3, 5 and 6), and common functions for drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from retx.plots import style
from retx.study import Estimate, Figure, Measured

from .values import ALPHA, BETA, COUNT, FLOWS, cause_points

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
    for drawn in (_limit, _causes, _needless, _map, _grid):
        yield drawn(measured)


def panels(rows: int, columns: int, height: float, share: str = "") -> tuple[style.Figure, Any]:
    """A figure with panels of the width of the text; `share` is their common axis, `x` or `y`."""
    made = style.Figure(figsize=(WIDTH, height), layout="constrained")
    axes = made.subplots(rows, columns, squeeze=False, sharex=share == "x", sharey=share == "y")
    return made, axes


def legend(figure: style.Figure, axes: Any, columns: int = 2) -> None:  # noqa: ANN401
    """One legend above all panels."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=columns, handlelength=2.2)


def curve(
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


def label(measured: Measured, case: str) -> str:
    """The label of a sender."""
    return measured.study.experiments["loss"].cases[case].label


def over_axis(
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
        curve(axes, list(points), found, LOOKS[case] | {"label": label(measured, case)})


def numbers(measured: Measured, *names: str) -> list[float]:
    """Numbers of the paper."""
    published = measured.study.published.numbers
    return [float(published[name].value) for name in names]


def series(measured: Measured, name: str) -> dict[str, float]:
    """A series of the paper."""
    values = measured.study.published.series[name].values
    return {case: float(value) for case, value in values.items()}


def _cells(
    axes: Any,  # noqa: ANN401
    values: Any,  # noqa: ANN401
    dark: Any,  # noqa: ANN401
    form: Callable[[float], str] = "{:.0f}".format,
) -> None:
    """Writes each finite value of an array into its cell of a map, in white on `dark` cells."""
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
            measured.estimate("window", case, "goodput", at={"tcp.reno.max_cwnd": f"{size} mss"})
            for size in sizes
        ]
        curve(panel, sizes, found, looks[case] | {"label": what.label})
    panel.set(xlabel="largest window (segments)", ylabel="goodput (kbit/s)")
    panel.set_ylim(bottom=0)
    legend(figure, panel, 1)
    return Figure(
        "limit", figure,
        "Figure 3: goodput against a fixed maximum window. The paper's curve falls everywhere; "
        "the paper prints no numbers.",
        "Goodput over the largest window, for Reno and the proposal.",
    )  # fmt: skip


def _causes(measured: Measured) -> Figure:
    tags = list(measured.study.experiments["mixes"].cases)
    figure, axes = panels(2, 1, 4.4, "x")
    printed = {
        "rto": [*numbers(measured, "rto_3_congestion", "rto_3_wireless"), 0.0],
        "frr": numbers(measured, "frr_3_congestion", "frr_3_wireless", "frr_3_spurious"),
    }
    place = tags.index("3 7:3") + 0.42
    for panel, kind, title in ((axes[0, 0], "rto", "RTOs"), (axes[1, 0], "frr", "FRRs")):
        bottom, theirs = np.zeros(len(tags)), 0.0
        for number, cause in enumerate(("congestion", "wireless", "spurious")):
            shares = np.array(
                [
                    100
                    * measured.mean("mixes", tag, f"{kind}_{cause}", at={"flow.ftp.tcp": "reno"})
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
        "Figure 5b: causes of Reno's recoveries in the mixes that the text names. Narrow bars "
        "with blue edges: the paper's numbers at 3 %, 7:3.",
        "Stacked bars of causes: congestion, wireless, spurious.",
    )  # fmt: skip


def _needless(measured: Measured) -> Figure:
    figure, axes = panels(1, 2, 2.9)
    points = cause_points(measured)
    for label, key, value, look in (
        ("faults, one flow", FLOWS, 1, LOOKS["dynamic"]),
        ("losses of the queue only, with more and more flows", COUNT, 0, LOOKS["reno"]),
    ):
        some = [point for point in points if point[key] == value and point["resent"] > 0]
        some.sort(key=lambda point: point["lost_percent"])
        lost = [point["lost_percent"] for point in some]
        for panel, quantity in zip(axes[0], ("resent", "unnecessary_share"), strict=True):
            found = [point[quantity] for point in some]
            panel.plot(lost, found, ms=3.5, lw=1.1, **look, label=label)
    resent, share = numbers(measured, "resent_at_1", "unnecessary_at_1")
    axes[0, 0].plot([1], [resent], **PAPER)
    axes[0, 1].plot([1], [share], **PAPER)
    axes[0, 1].axhline(0.9, color=style.GREY, lw=0.8, ls=":")
    labels = ("retransmissions in 200 s", "share of them unnecessary")
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
    axes_of = measured.axes("causes")
    right, up = axes_of[COUNT], axes_of[FLOWS]
    values = np.full((len(up), len(right)), np.nan)
    for point in cause_points(measured):
        if point["lost_percent"] > 0:
            share = 100 * np.nan_to_num(point["irrelevant"])
            values[up.index(point[FLOWS]), right.index(point[COUNT])] = share
    figure, axes = panels(1, 1, 2.9)
    panel = axes[0, 0]
    cells = panel.pcolormesh(values, cmap=style.MAP, vmin=0, vmax=100, edgecolors="white", lw=0.5)
    _cells(panel, values, values <= 50)
    _ticks(panel, [str(one) for one in right], [str(one) for one in up])
    panel.set(xlabel="faults in 200 s", ylabel="flows")
    figure.colorbar(cells, ax=panel, label="not due to congestion (%)")
    return Figure(
        "map", figure,
        "Share of Reno's recoveries that congestion did not trigger (figure 5b), by load and "
        "number of faults.",
        "A map of the share of congestion-irrelevant recoveries.",
    )  # fmt: skip


def _grid(measured: Measured) -> Figure:
    cases = measured.study.experiments["alpha_beta"].cases
    grid = measured.axes("alpha_beta")
    alphas, betas = grid[ALPHA], grid[BETA]
    figure, axes = panels(2, 2, 5.4)
    for panel, (case, what) in zip(axes.flat, cases.items(), strict=False):
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
    ((key, sizes),) = measured.axes("cwnd_max").items()
    for case, what in cases.items():
        found = [measured.estimate("cwnd_max", case, "goodput", at={key: size}) for size in sizes]
        curve(last, [size / 1e3 for size in sizes], found, LOOKS[case] | {"label": what.label})
    last.axvline(25, color=style.RED, lw=0.8, ls=":")
    last.set(xlabel="cwnd_max (kB)", ylabel="kbit/s")
    last.set_ylim(bottom=0)
    return Figure(
        "grid", figure,
        "Figure 6: goodput in percent of the best over α and β (cwnd_max = 65,535 bytes), and "
        "over cwnd_max, for three readings of equation 5. Circle, dotted line: the paper's choice.",
        "Maps of goodput over alpha and beta, and curves over cwnd_max.",
    )  # fmt: skip
