"""The remedies: a new one is a file here, and a word in `FAMILIES`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from retx.explaining.remedy import Remedy

FAMILIES = (
    "buffers",
    "initial_window",
    "queue_size",
    "active_queue",
    "explicit_congestion",
    "loss_detection",
    "congestion_control",
    "linux_stack",
    "backoff",
    "timeout_bounds",
    "spurious",
    "delayed_ack",
    "nagle",
    "loss_cause",
    "link_repair",
    "relay",
    "pacing",
    "parallel",
    "one_connection",
    "idle_restart",
    "reordering",
    "proposals",
)
"""Modules of this package; each has `REMEDIES`."""


@cache
def remedies() -> tuple[Remedy, ...]:
    """Every remedy, in the order of the families."""
    return tuple(
        remedy for family in FAMILIES for remedy in import_module(f"{__name__}.{family}").REMEDIES
    )
