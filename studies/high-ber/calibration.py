"""Values of calibrating and of held-out claims."""

from __future__ import annotations

from retx.study import Measured, Named

from .switches import RESENT
from .values import drops_by_window


def calibration(measured: Measured) -> Named:
    """Values of calibrating claims: none, because a search uses only rows of tables."""
    return {}


def held_out(measured: Measured) -> Named:
    """Values of claims on bit errors, drops and their positions."""
    return {
        "open_at_10_ber_times": measured.ratio("open_at_10", "ber", "preset"),
        "all_steps_resent_times": measured.ratio("steps", "preset", "one_way", RESENT),
        "drops_by_window": drops_by_window(measured),
    }
