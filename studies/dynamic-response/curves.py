"""Figures of goodputs and shares against a parameter: figures 3, 5, 6, 9, 11, 12 and 14."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from retx.plots import style
from retx.study import Estimate, Figure, Measured

from .mixed import ALPHA, BETA, MIXES, cause_points
from .network import COUNT, DELAY, TO, UDP
from .pairs import DURATION, FAULTS, FLOWS, READINGS, P, by_tcp, over

WIDTH = 5.2
LOOKS: dict[str, dict[str, Any]] = {
    "reno": {"color": style.BLACK, "marker": "o", "ls": "-"},
    "dynamic": {"color": style.RED, "marker": "D", "ls": "-"},
    "dynamic_path": {"color": style.ORANGE, "marker": "s", "ls": "--"},
    "frto": {"color": style.BLUE, "marker": "^", "ls": "-."},
    "jtcp_like": {"color": style.GREEN, "marker": "v", "ls": ":"},
    "prairie_like": {"color": style.PURPLE, "marker": "P", "ls": "--"},
}
"""The senders of the paper's figures 11 and 12, and the proposal's other reading."""


@dataclass(frozen=True)
class Curve:
    """Source of a curve's values: an experiment, a key of its grid, and a quantity."""

    experiment: str
    key: str
    points: Mapping[float, object]
    """Places on the axis, and the values of the key."""
    quantity: str = "goodput"


def curves(measured: Measured) -> Iterator[Figure]:
    """Figures in the order of the report."""
    for drawn in (
        _limit, _needless, _maps, _grid, _gains, _mix_gains, _dumbbell, _chain, _fairness,
    ):  # fmt: skip
        yield drawn(measured)


def panels(rows: int, columns: int, height: float, share: str = "") -> tuple[style.Figure, Any]:
    """A figure with panels, as wide as a report's text; `share` their axis `x` or `y`."""
    made = style.Figure(figsize=(WIDTH, height), layout="constrained")
    axes = made.subplots(rows, columns, squeeze=False, sharex=share == "x", sharey=share == "y")
    return made, axes


def dots(
    axes: Any,  # noqa: ANN401
    places: Sequence[float],
    found: Sequence[Estimate | None],
    look: Mapping[str, Any],
) -> None:
    """Means with their intervals."""
    known = [(x, one) for x, one in zip(places, found, strict=True) if one is not None]
    halves = [(one.bounds.high - one.bounds.low) / 2 for _, one in known]
    axes.errorbar(
        [x for x, _ in known],
        [one.mean for _, one in known],
        yerr=halves,
        ms=3.5,
        lw=1.1,
        capsize=2,
        elinewidth=0.8,
        **look,
    )


def draw(measured: Measured, axes: Any, curve: Curve, cases: Sequence[str]) -> None:  # noqa: ANN401
    """One curve for each case."""
    known = measured.study.experiments[curve.experiment].cases
    for case in cases:
        found = [
            measured.estimate(curve.experiment, case, curve.quantity, at={curve.key: value})
            for value in curve.points.values()
        ]
        dots(axes, list(curve.points), found, LOOKS[case] | {"label": known[case].label})


def from_zero(axes: Any, x: str, y: str) -> None:  # noqa: ANN401
    """Labels of both axes; the upright one begins at 0."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_ylim(bottom=0)


def write_cells(
    axes: Any,  # noqa: ANN401
    values: Any,  # noqa: ANN401
    form: Callable[[float], str],
    dark: Any,  # noqa: ANN401
    size: float = 6.5,
) -> None:
    """Each finite value of an array in its cell of a map, white on `dark` ones."""
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            axes.text(
                column + 0.5, row + 0.5, form(value), ha="center", va="center", fontsize=size,
                color="white" if dark[row, column] else "black",
            )  # fmt: skip


def legend(figure: style.Figure, axes: Any, columns: int = 3) -> None:  # noqa: ANN401
    """One legend above all panels."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=columns, handlelength=2.2)


def _limit(measured: Measured) -> Figure:
    """Figure 3."""
    key = "tcp.reno.max_cwnd"
    sizes = (2, 4, 6, 8, 10, 15, 20, 30, 40, 50)
    looks = {
        "independent": LOOKS["reno"],
        "faults": LOOKS["reno"] | {"marker": "s", "ls": "--", "mfc": "none"},
        "independent_dynamic": LOOKS["dynamic"],
        "faults_dynamic": LOOKS["dynamic"] | {"marker": "s", "ls": "--", "mfc": "none"},
    }
    figure, axes = panels(1, 1, 3.2)
    for case, what in measured.study.experiments["window"].cases.items():
        found = [
            measured.estimate("window", case, "goodput", at={key: f"{size} mss"}) for size in sizes
        ]
        dots(axes[0, 0], sizes, found, looks[case] | {"label": what.label})
    from_zero(axes[0, 0], "largest window (segments)", "goodput (kbit/s)")
    legend(figure, axes[0, 0], 2)
    return Figure(
        "limit",
        figure,
        "Goodput against the largest window at 5 % lost (the paper's figure 3): means with 95 % "
        "confidence intervals.",
        "Reno's goodput does not fall with the largest window; that of the proposal under "
        "independent errors does from 8 segments on.",
    )


def _needless(measured: Measured) -> Figure:
    """Figures 5c and 5d."""
    figure, axes = panels(1, 2, 3.1)
    series = {
        "independent errors, one flow": ("causes", {FLOWS: 1}, LOOKS["dynamic"]),
        "75 faults, one flow": ("causes_faults", {FLOWS: 1}, LOOKS["dynamic_path"]),
        "queue alone, more and more flows": ("causes", {P: 0}, LOOKS["reno"]),
    }
    for label, (experiment, fixed, look) in series.items():
        ((key, value),) = fixed.items()
        points = cause_points(measured, experiment).filter(
            cause_points(measured, experiment)[key] == value
        )
        points = points.filter(points["resent"] > 0).sort("lost_percent")
        for panel, quantity in zip(axes[0], ("resent", "unnecessary_share"), strict=True):
            panel.plot(
                points["lost_percent"], points[quantity], ms=3.5, lw=1.1, **look, label=label
            )
    labels = ("retransmissions in 165 s", "share of them that is unnecessary")
    for panel, label in zip(axes[0], labels, strict=True):
        from_zero(panel, "packets lost (%)", label)
    legend(figure, axes[0, 0], 2)
    return Figure(
        "needless",
        figure,
        "Reno's retransmissions and the share of unnecessary ones against the loss rate (the "
        "paper's figures 5c and 5d), by what loses the packets. Means.",
        "The unnecessary share stays below a half everywhere.",
    )


def _maps(measured: Measured) -> Figure:
    """Figure 5b, over all loads and errors."""
    figure, axes = panels(1, 2, 3.0, "y")
    for panel, experiment, key, title in (
        (axes[0, 0], "causes", P, "independent errors"),
        (axes[0, 1], "causes_faults", DURATION, "75 faults in 200 s"),
    ):
        points = cause_points(measured, experiment)
        right = points[key].unique(maintain_order=True).to_list()
        up = points[FLOWS].unique(maintain_order=True).to_list()
        values = np.full((len(up), len(right)), np.nan)
        for row in points.iter_rows(named=True):
            if row["lost_percent"] > 0:
                values[up.index(row[FLOWS]), right.index(row[key])] = row["irrelevant"]
        cells = panel.pcolormesh(values, cmap=style.MAP, vmin=0, vmax=1, edgecolors="white", lw=0.5)
        write_cells(panel, 100 * values, "{:.0f}".format, values <= 0.5)
        panel.set_xticks(np.arange(len(right)) + 0.5, [_percent(key, value) for value in right])
        panel.set_yticks(np.arange(len(up)) + 0.5, [str(value) for value in up])
        panel.grid(visible=False)
        panel.set_xlabel("lost by errors (%)" if key == P else "time in faults (%)")
        panel.set_title(title, fontsize=9)
    axes[0, 0].set_ylabel("flows")
    figure.colorbar(cells, ax=list(axes[0]), label="share not due to congestion")
    return Figure(
        "maps",
        figure,
        "Share of recoveries, in percent, that congestion did not trigger, by load and errors: "
        "what the paper's figure 5b samples at some mixes. Means.",
        "Maps of the share of congestion-irrelevant recoveries.",
    )


def _percent(key: str, value: Any) -> str:  # noqa: ANN401
    share = 100 * value if key == P else 75 * float(str(value).split()[0]) / 2000
    return f"{share:.2g}"


def _grid(measured: Measured) -> Figure:
    """Figure 6a."""
    figure, axes = panels(1, 2, 3.2, "y")
    for panel, case in zip(axes[0], ("1 %", "5 %"), strict=True):
        table = measured.table("alpha_beta", "derived", case)
        alphas = table[ALPHA].unique().sort().to_list()
        betas = table[BETA].unique().sort().to_list()
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
        middle = (share.min() + share.max()) / 2
        write_cells(panel, share, "{:.0f}".format, share <= middle)
        column, row = alphas.index(0.5), betas.index(10_000)
        panel.plot(column + 0.5, row + 0.5, "o", ms=15, mfc="none", mec=style.RED, mew=1.4)
        panel.set_xticks(np.arange(len(alphas)) + 0.5, [f"{alpha:g}" for alpha in alphas])
        panel.set_yticks(np.arange(len(betas)) + 0.5, [f"{beta:,}" for beta in betas])
        panel.grid(visible=False)
        panel.set_xlabel("α (%)")
        panel.set_title(f"{case} lost: percent of {values.max():.0f} kbit/s", fontsize=9)
    axes[0, 0].set_ylabel("β (bytes)")
    return Figure(
        "grid",
        figure,
        "Goodput over α and β with cwnd_max = 65,535 bytes (the paper's figure 6a), in percent "
        "of the best. The circle is the paper's choice.",
        "Goodput hardly depends on alpha; it peaks at some 5,000 to 25,000 bytes of beta.",
    )


def _gains(measured: Measured) -> Figure:
    """Figure 9a."""
    cases = list(LOOKS)
    points: dict[float, object] = {
        0: 0,
        1: 0.01,
        2: 0.02,
        3: 0.03,
        5: 0.05,
        6: 0.06,
        8: 0.08,
        10: 0.1,
    }
    points[15] = 0.15
    faults: dict[float, object] = {float(share): length for share, length in FAULTS.items()}
    figure, axes = panels(1, 2, 3.4, "y")
    draw(measured, axes[0, 0], Curve("loss", P, points), cases)
    draw(measured, axes[0, 1], Curve("faults", DURATION, faults), cases)
    from_zero(axes[0, 0], "packets lost independently (%)", "goodput (kbit/s)")
    axes[0, 1].set_xlabel("time lost in 75 faults (%)")
    legend(figure, axes[0, 0], 3)
    return Figure(
        "gains",
        figure,
        "Goodput of one flow against the loss rate (the paper's figure 9a): means with 95 % "
        "confidence intervals.",
        "Goodput falls with the loss rate; that of the proposal falls less from 2 % on.",
    )


def _mix_gains(measured: Measured) -> Figure:
    """Figure 9b."""
    tags = ("1_9", "2_8", "5_5", "8_2")
    figure, axes = panels(1, 1, 2.8)
    goodputs = by_tcp(measured, "mixes")
    for case in READINGS:
        found = [over(goodputs(MIXES[tag], case), goodputs(MIXES[tag], "reno")) for tag in tags]
        label = measured.study.experiments["loss"].cases[case].label
        dots(axes[0, 0], range(len(tags)), found, LOOKS[case] | {"label": label})
    axes[0, 0].plot([0, 3], [1.06, 1.32], "x", color=style.BLACK, ms=6, label="paper")
    axes[0, 0].axhline(1, color=style.GREY, lw=0.8)
    axes[0, 0].set_xticks(range(len(tags)), [tag.replace("_", ":") for tag in tags])
    axes[0, 0].set_xlabel("wireless to congestion losses, with Reno")
    axes[0, 0].set_ylabel("goodput, times Reno's")
    legend(figure, axes[0, 0], 3)
    return Figure(
        "mix_gains",
        figure,
        "Goodput over Reno's at 5 % lost, by the mix of causes (the paper's figure 9b).",
        "With congestion in the mix the proposal does not gain.",
    )


def _dumbbell(measured: Measured) -> Figure:
    """Figure 11."""
    cases = list(LOOKS)
    counts: dict[float, object] = {count: count for count in (0, 5, 15, 30, 45, 60, 75)}
    flows: dict[float, object] = {count: count for count in (1, 4, 7, 10)}
    delays: dict[float, object] = {delay: f"{delay} ms" for delay in (5, 10, 30, 60, 90)}
    figure, axes = panels(2, 2, 5.6)
    draw(measured, axes[0, 0], Curve("dumbbell_faults", COUNT, counts), cases)
    draw(measured, axes[0, 1], Curve("dumbbell_faults", COUNT, counts, "unnecessary"), cases)
    draw(measured, axes[1, 0], Curve("dumbbell_reverse", UDP, flows), cases)
    draw(measured, axes[1, 1], Curve("dumbbell_delay", DELAY, delays), cases)
    of_all = "goodput of all (kbit/s)"
    from_zero(axes[0, 0], "faults in 200 s", of_all)
    from_zero(axes[1, 0], "UDP flows from right to left", of_all)
    from_zero(axes[1, 1], "propagation delay of the wired link (ms)", of_all)
    axes[0, 1].set_xlabel("faults in 200 s")
    axes[0, 1].set_ylabel("unnecessary retransmissions")
    axes[0, 1].set_yscale("log")
    legend(figure, axes[0, 0], 3)
    return Figure(
        "dumbbell",
        figure,
        "Dumbbell with four TCP flows (the paper's figures 11a to 11d): means with 95 % "
        "confidence intervals. UDP flows: four where they are not varied; faults: 30.",
        "The proposal has the lowest goodput and the most unnecessary retransmissions.",
    )


def _chain(measured: Measured) -> Figure:
    """Figure 12b."""
    hops: dict[float, object] = {number: f"n{number}" for number in (1, 2, 3, 4)}
    figure, axes = panels(1, 1, 3.0)
    draw(measured, axes[0, 0], Curve("chain", TO, hops), list(LOOKS))
    axes[0, 0].set_xticks([1, 2, 3, 4])
    from_zero(axes[0, 0], "hops of 802.11b", "goodput (kbit/s)")
    legend(figure, axes[0, 0], 3)
    return Figure(
        "chain",
        figure,
        "Goodput over a chain of 802.11b stations (the paper's figure 12b): means with 95 % "
        "confidence intervals.",
        "Goodput falls with the number of hops; no sender stands out.",
    )


def _fairness(measured: Measured) -> Figure:
    """Figure 14a."""
    figure, axes = panels(1, 1, 2.8)
    for case in ("reno", *READINGS):
        found = [
            measured.estimate(
                "fairness", case, "jain", at={"flow.one.count": half, "flow.other.count": half}
            )
            for half in range(1, 7)
        ]
        label = measured.study.experiments["fairness"].cases[case].label
        dots(axes[0, 0], range(2, 13, 2), found, LOOKS[case] | {"label": label})
    axes[0, 0].axhline(0.986, color=style.GREY, lw=0.8, ls=":", label="paper: always above")
    axes[0, 0].set_xlabel("equal connections")
    axes[0, 0].set_ylabel("Jain's index")
    legend(figure, axes[0, 0], 2)
    return Figure(
        "fairness",
        figure,
        "Fairness of equal connections over 165 s (the paper's figure 14a): means with 95 % "
        "confidence intervals.",
        "Reno stays near 0.99; the proposal falls with the number of connections.",
    )
