"""Closed-form models of throughput, latency, losses, contention and queues.

There is one module for each concept; it opens with the equations and their source. Functions take
numbers or NumPy arrays, and broadcast; their names end in the unit of the result (`_s`, `_bit_s`,
`_packets`).

`describe` lists all models; `calculate` evaluates those of flows for a scenario.
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
"""Modules of the closed forms, in the order of the documentation."""

__all__ = ["MODELS", "calculate", "describe"]

_HOME = {"calculate": "retx.models.calculation", "describe": "retx.models.listing"}


def __getattr__(name: str) -> object:
    if name in MODELS:
        return import_module(f"retx.models.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'retx.models' has no attribute {name!r}")
