"""Losses of a capture, replayed as recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retx.fitting.captures.capture import CaptureFit


def script(fit: CaptureFit) -> dict[str, Any]:
    """Channel that drops the segments lost in the capture, identified by their first bytes."""
    copies = fit.path["copies"]
    lost = [
        start
        for start, probability, by_queue in zip(
            copies["starts"], copies["lost"], copies["by_queue"], strict=True
        )
        if probability is not None and probability * (1 - by_queue) > 0.5
    ]
    return {"model": "script", "drop_seq": sorted(lost)}
