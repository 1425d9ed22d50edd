"""Remedies, one file for each family. A new file must be added to `FAMILIES`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from retx.explaining.remedy import Remedy

FAMILIES = (
    "window_limits",
    "buffers",
    "slow_reader",
    "one_connection",
    "congestion_control",
    "link_repair",
    "linux_stack",
    "active_queue",
    "shaper",
    "initial_window",
    "relay",
    "parallel",
    "queue_size",
    "spurious",
    "giving_up",
    "timeout_bounds",
    "loss_detection",
    "delayed_ack",
    "nagle",
    "idle_restart",
    "reordering",
    "pacing",
    "explicit_congestion",
    "further_congestion_control",
    "dctcp",
    "backoff",
    "loss_cause",
    "proposals",
)
"""Modules of this package, each with its `REMEDIES`. Those that help most often come first."""


@cache
def remedies() -> tuple[Remedy, ...]:
    """Every remedy, in the order of the families."""
    return tuple(
        remedy for family in FAMILIES for remedy in import_module(f"{__name__}.{family}").REMEDIES
    )
