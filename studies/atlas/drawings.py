"""Maps of the atlas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.patches import Patch, Rectangle

from retx.plots import style
from retx.study import Measured

from .ranking import LISTS, Leader
from .values import AT_ONCE, NEVER, delays, leaders, losses, places, worth

FINE = 6
"""Number of loss rates above which cells are too small for numbers of the usual size."""
WIDTH_INCHES = 5.2
COLOURS = {
    name: getattr(style, it["color"].upper())
    for name, it in LISTS["families"].items()
    if "color" in it
}
OTHER = "#666666"
DEFAULT_DOES, UNCLEAR = "#F2E6C2", "#E0E0E0"


def decide(measured: Measured) -> style.Figure:
    """Map of Linux's algorithms over all conditions of a round trip and a loss rate."""
    found = places(measured)
    height = 1.2 + 0.34 * len(delays(measured))
    figure = style.Figure(figsize=(WIDTH_INCHES, height), layout="constrained")
    axes = figure.subplots()
    _legend(figure, _map(axes, measured, found, 8))
    axes.set_xlabel("loss (%)", fontsize=9)
    axes.set_ylabel("round trip (ms)", fontsize=9)
    return figure


def _map(
    axes: Any,  # noqa: ANN401
    measured: Measured,
    found: Mapping[Any, Leader],
    size: float,
    condition: tuple[object, ...] = (),
) -> set[str]:
    """Draws a cell for each round-trip time and loss rate; returns the families that they name."""
    rates, rounds = losses(measured), delays(measured)
    seen: set[str] = set()
    for y, delay in enumerate(rounds):
        for x, loss in enumerate(rates):
            cell = (delay, loss, *condition)
            seen |= _cell(axes, (x, y), found[cell], size)
    axes.set_xlim(0, len(rates))
    axes.set_ylim(0, len(rounds))
    axes.set_xticks([x + 0.5 for x in range(len(rates))], [f"{100 * p:g}" for p in rates])
    axes.set_yticks([y + 0.5 for y in range(len(rounds))], [f"{it:g}" for it in rounds.values()])
    axes.grid(visible=False)
    axes.tick_params(length=0, labelsize=size)
    return seen


def _legend(figure: Any, seen: set[str]) -> None:  # noqa: ANN401
    handles = [
        Patch(facecolor=DEFAULT_DOES, label="the default (CUBIC) is within 5 %"),
        *(Patch(facecolor=COLOURS[name], label=name) for name in COLOURS if name in seen),
        *([Patch(facecolor=OTHER, label="another")] if seen - set(COLOURS) else []),
        Patch(facecolor=UNCLEAR, label="not settled"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=2)


def conditions(measured: Measured) -> style.Figure:
    """Eight maps of all algorithms, one for each condition."""
    found = leaders(measured)
    size = 7 if len(losses(measured)) < FINE else 5.5
    figure = style.Figure(figsize=(WIDTH_INCHES, 7.6), layout="constrained")
    panels = figure.subplots(4, 2, sharex=True, sharey=True)
    both = [(start, spikes) for start in (NEVER, AT_ONCE) for spikes in (0.0, 0.001)]
    seen: set[str] = set()
    for row, (start, spikes) in zip(panels, both, strict=True):
        for axes, burst in zip(row, (1, 4), strict=True):
            what = [
                "single losses" if burst == 1 else "bursts of 4",
                *(["cross traffic"] if start == AT_ONCE else []),
                *(["spikes"] if spikes else []),
            ]
            axes.set_title(", ".join(what), fontsize=8)
            seen |= _map(axes, measured, found, size, (burst, start, spikes))
    _legend(figure, seen)
    figure.supxlabel("loss (%)", fontsize=9)
    figure.supylabel("round trip (ms)", fontsize=9)
    return figure


def _cell(
    axes: Any,  # noqa: ANN401
    place: tuple[int, int],
    found: Leader,
    size: float,
) -> set[str]:
    """Draws one cell; returns the family that it names."""
    gain = worth(found)
    named = gain is True and found.apart
    colour = COLOURS.get(found.family, OTHER) if named else UNCLEAR
    if gain is False:
        colour = DEFAULT_DOES
    axes.add_patch(Rectangle(place, 1, 1, facecolor=colour, edgecolor="white", lw=0.8))
    if gain is True:
        times = found.gain.mean
        axes.text(
            place[0] + 0.5,
            place[1] + 0.5,
            f"{times:.1f}" if times < 10 else f"{times:.0f}",
            ha="center",
            va="center",
            fontsize=size,
            color="white" if named else "black",
        )
    return {found.family} if named else set()
