"""Colours and hatches of the limits of a flow, the same in every figure."""

from __future__ import annotations

from retx.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY

MOST_NAMED = 6
LEAST_NAMED = 0.001
"""Maximum number of limits in a legend, and minimum share of a limit that appears there."""

LOOKS: dict[str, tuple[str, str]] = {
    "handshake": (SKY, "...."),
    "application": ("#DDDDDD", ""),
    "send_buffer": (ORANGE, "////"),
    "receive_window": (ORANGE, ""),
    "bottleneck": (GREEN, ""),
    "slow_start": (SKY, ""),
    "congestion": (BLACK, ""),
    "wireless": (RED, ""),
    "spurious": (PURPLE, ""),
    "pacing": (BLUE, "...."),
    "nagle": (BLUE, "////"),
    "delayed_ack": (BLUE, ""),
}
"""Colour and hatch by key of `limited_by`, or by cause."""
KIND_HATCH = {"window": "", "recovery": "////", "timeout": "xxxx"}


def colour_and_hatch(key: str) -> tuple[str, str]:
    """Colour and hatch of a key of `limited_by`: colour by cause, hatch by kind."""
    kind, _, cause = key.partition(".")
    if cause:
        return LOOKS.get(cause, (GREY, ""))[0], KIND_HATCH.get(kind, "")
    return LOOKS.get(key, (GREY, ""))
