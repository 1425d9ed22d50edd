"""Measurements: their text with an interval, and from which probability on a segment is lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LOST = 0.5
"""A segment counts as lost if its probability of loss is at least this."""


def bracketed(estimate: Mapping[str, Any], shown: Any) -> str:  # noqa: ANN401
    """Value with its interval: `5.95 Mbit/s [5.94, 5.96]`."""
    if estimate["value"] is None:
        return "not known"
    low, high = estimate["low"], estimate["high"]
    return f"{shown(estimate['value'])} [{shown(low)}, {shown(high)}]"
