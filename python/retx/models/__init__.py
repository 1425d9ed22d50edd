"""Closed forms: what theory says of throughput, latency, losses, contention and queues.

One module for each concept; each says equation and source at its head. Functions take numbers or
NumPy arrays, and broadcast; names end in the unit of what they return (`_s`, `_bit_s`, `_packets`).

`describe` lists them all; `calculate` evaluates those that speak of flows for a scenario.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retx.models.calculation import calculate
    from retx.models.listing import describe

MODELS = (
    "bit_errors",
    "window_limit",
    "ethernet_limit",
    "mathis",
    "pftk",
    "cardwell",
    "knee",
    "recovery",
    "dcf",
    "gilbert_elliott",
    "fading",
    "repair",
    "fairness",
    "queueing",
)
"""The modules, in the order of the documentation."""

__all__ = ["MODELS", "calculate", "describe"]

_HOME = {"calculate": "retx.models.calculation", "describe": "retx.models.listing"}


def __getattr__(name: str) -> object:
    if name in MODELS:
        return import_module(f"retx.models.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'retx.models' has no attribute {name!r}")
