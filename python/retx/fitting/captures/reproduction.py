"""One simulation of a fit, whose goodput is compared with that of its capture.

A fit describes the path, and the endpoints as far as the capture shows them. If a program limited
the flow in a way that the capture does not show, the scenario lacks this limit, and the simulation
is faster.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from retx.fitting.captures.check import AT, AT_SENDER, simulated
from retx.terminal.quantities import rate

if TYPE_CHECKING:
    from retx.fitting.captures.capture import CaptureFit

MOST = 1.5
"""Goodputs count as different if their ratio is at least this."""


@dataclass(frozen=True)
class Reproduction:
    """Goodput of the capture and of one simulation of its fit."""

    captured_bit_s: float
    simulated_bit_s: float

    @property
    def factor(self) -> float:
        """Simulated goodput relative to the captured one."""
        return self.simulated_bit_s / self.captured_bit_s

    @property
    def warning(self) -> str | None:
        """Sentence about the difference; None if it is small."""
        if 1 / MOST <= self.factor <= MOST:
            return None
        if self.factor > 1:
            why = (
                "what held the flow back may be no part of a fit: a pausing program, or a send "
                "buffer beside losses"
            )
        else:
            why = "losses, delays or reordering may be taken for more than they were"
        return (
            f"the scenario does not behave as the capture: {rate(self.simulated_bit_s)} in a "
            f"simulation, {rate(self.captured_bit_s)} captured; {why} (--check compares more)"
        )


def reproduction(fit: CaptureFit, *, replay: bool = False) -> Reproduction | None:
    """Simulates the scenario of a fit once; None if the capture contains no data."""
    captured = float(fit.path["figures"]["goodput_bit_s"])
    if captured <= 0:
        return None
    at = AT.get(fit.flow["place"], AT_SENDER)
    with tempfile.TemporaryDirectory(prefix="retx-fit-") as folder:
        found = simulated(fit.toml(replay=replay), {}, 0, (Path(folder), at))
    return Reproduction(captured, float(found["path"]["figures"]["goodput_bit_s"]))
