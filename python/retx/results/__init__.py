"""Results of runs: tables, summaries, and their files."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retx.results.result import NotRecordedError, Result

__all__ = ["NotRecordedError", "Result"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'retx.results' has no attribute {name!r}")
    return getattr(import_module("retx.results.result"), name)
