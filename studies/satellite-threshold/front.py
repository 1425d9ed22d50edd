"""Claims of figures 3, 5 and 7 that hold simultaneously, for several set-ups."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from retx.plots import style
from retx.study import Cell, Column, Figure, Measured, Table, new_figure

from .runs import COUNTS, RATES, Runs, level, mean_of, ratio

SIGNIFICANT, LEVEL = 1.1, 0.1
"""Bounds of the claims: gain at 53 ticks, and change from there to 60."""


@dataclass(frozen=True)
class Reached:
    """Numbers of the claims that hold for one set-up, of 9, 9 and 6."""

    significant: int
    level: int
    order: int

    @property
    def all(self) -> int:
        """Number of claims reached, of 24."""
        return self.significant + self.level + self.order


def reached(runs: Runs, case: str) -> Reached:
    """Claims on one, two and three connections at three error rates, by means."""
    significant = flat = order = 0
    for count in COUNTS:
        gains = []
        for ber in RATES:
            none, near, at_55, far = (
                runs.throughput(case, count, ber, f"{ticks}0 ms") for ticks in (51, 53, 55, 60)
            )
            significant += mean_of(ratio(near, none)) >= SIGNIFICANT
            flat += abs(mean_of(level(far, near, none))) <= LEVEL
            gains.append(mean_of(ratio(at_55, none)))
        order += sum(high > low for high, low in pairwise(gains))
    return Reached(significant, flat, order)


def table(measured: Measured) -> Table:
    """The set-ups, and what each reaches."""
    runs = Runs(measured, "joint")
    columns = [
        Column("case", "set-up"),
        Column("significant", "significant at 53 ticks, of 9", right=True),
        Column("level", "levels off, of 9", right=True),
        Column("order", "order of error rates, of 6", right=True),
        Column("all", "of 24", right=True),
    ]
    found = Table(
        "front",
        "Claims on figures 3, 5 and 7 that hold together",
        columns,
        note="For one, two and three connections, judged by means. The commands run one "
        "connection at 1e-5 with 53 ticks.",
    )
    for case, what in measured.study.experiments["joint"].cases.items():
        it = reached(runs, case)
        row: dict[str, Cell] = {"case": what.label}
        row |= {name: str(getattr(it, name)) for name in ("significant", "level", "order", "all")}
        found.add(row, runs.command(case, 1, 1e-5, "530 ms"))
    return found


def figure(measured: Measured) -> Figure:
    """Set-ups by their numbers of satisfied claims on levels and on the order."""
    drawn, axes = new_figure(height=3.6)
    runs = Runs(measured, "joint")
    cases = measured.study.experiments["joint"].cases
    for number, (case, what) in enumerate(cases.items()):
        it = reached(runs, case)
        # Set-ups with equal numbers are drawn next to each other.
        x = it.level + 0.06 * (number % 5 - 2)
        colour = style.COLOURS[number % len(style.COLOURS)]
        mark = style.MARKS[number % len(style.MARKS)]
        label = f"{what.label} ({it.significant} of 9)"
        again = number >= len(style.MARKS)
        inside = "none" if again else colour
        axes.plot(x, it.order, mark, color=colour, mfc=inside, ms=8, label=label, alpha=0.8)
    axes.set_xlim(-0.5, 9.5)
    axes.set_ylim(-0.5, 6.5)
    axes.set_xlabel("“levels off beyond 53 ticks” holds, of 9")
    axes.set_ylabel("order of the error rates, of 6")
    drawn.set_size_inches(6.2, 5.6)
    drawn.legend(loc="outside lower left", fontsize=8)
    return Figure(
        "front",
        drawn,
        "No set-up satisfies all claims; the paper would be in the upper right corner. In "
        "brackets: number of claims “significant at 53 ticks” that hold.",
        "Set-ups by the number of claims on levels and on the order that hold.",
    )
