"""Figure 1, which figures.toml cannot say, and the set-ups by the claims that they reach."""

from __future__ import annotations

from retx.plots import style
from retx.study import Estimate, Measured, new_figure

from .values import round_trips


def correlation(measured: Measured) -> style.Figure:
    """The paper's figure 1."""
    trips = round_trips(measured.at("traces/clean").run()).drop_nulls()
    figure = style.Figure(figsize=(5.2, 3.6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.plot(trips["acked_s"], trips["rtt_s"] * 100, color=style.BLUE, lw=0.9)
    upper.set_ylabel("RTT (ticks)")
    lower.plot(trips["acked_s"], trips["cwnd"], color=style.RED, lw=0.9)
    lower.set_ylabel("cwnd (segments)")
    lower.set_xlabel("time (s)")
    lower.set_ylim(bottom=0)
    lower.set_xlim(0, 100)
    return figure


def front(measured: Measured) -> style.Figure:
    """Set-ups by their numbers of satisfied claims on levels and on the order."""
    drawn, axes = new_figure(height=3.6)
    cases = measured.study.experiments["joint"].cases
    for number, (case, what) in enumerate(cases.items()):
        kinds = ("significant", "level", "order")
        significant, level, order = (_number(measured, f"joint_{kind}_{case}") for kind in kinds)
        # Set-ups with equal numbers are drawn next to each other.
        x = level + 0.06 * (number % 5 - 2)
        colour = style.COLOURS[number % len(style.COLOURS)]
        mark = style.MARKS[number % len(style.MARKS)]
        label = f"{what.label} ({significant:g} of 9)"
        again = number >= len(style.MARKS)
        inside = "none" if again else colour
        axes.plot(x, order, mark, color=colour, mfc=inside, ms=8, label=label, alpha=0.8)
    axes.set_xlim(-0.5, 9.5)
    axes.set_ylim(-0.5, 6.5)
    axes.set_xlabel("“levels off beyond 53 ticks” holds, of 9")
    axes.set_ylabel("order of the error rates, of 6")
    drawn.set_size_inches(6.2, 5.6)
    drawn.legend(loc="outside lower left", fontsize=8)
    return drawn


def _number(measured: Measured, name: str) -> float:
    found = measured.value(name)
    assert isinstance(found, Estimate)
    return found.mean
