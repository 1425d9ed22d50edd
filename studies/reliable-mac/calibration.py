"""Values of calibrating and of held-out claims."""

from __future__ import annotations

from retx.study import Measured, Named, scaled

from .paper import MSS_BYTES as MSS_BYTES
from .values import GOODPUT, P, at_loss, judged_delay, judged_loss, short_delays, windows


def calibration(measured: Measured) -> Named:
    """Values of the calibrating claims."""
    return judged_loss(measured) | judged_delay(measured)


def held_out(measured: Measured) -> Named:
    """Values of claims on the corner, short delays, windows, and the advice."""
    corner = {}
    for name, p in (("6", 0.06), ("8", 0.08)):
        found = measured.estimate("corner", "reno", GOODPUT, at={P: p})
        corner[f"corner_reno_{name}_kept"] = scaled(found, 1e-3)
    return (
        corner
        | {"use_reno": measured.ratio("long", "reno", "veno")}
        | at_loss(measured, "3", 0.03)
        | short_delays(measured, "kept", reorder=False)
        | windows(measured, "kept", reorder=False)
    )
