"""Text of a measurement with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def bracketed(estimate: Mapping[str, Any], shown: Any) -> str:  # noqa: ANN401
    """Value with its interval: `5.95 Mbit/s [5.94, 5.96]`."""
    if estimate["value"] is None:
        return "not known"
    low, high = estimate["low"], estimate["high"]
    return f"{shown(estimate['value'])} [{shown(low)}, {shown(high)}]"
