"""Reproduces published papers: compares published with measured numbers, with a verdict per claim.

A study is a folder of data with a file of figures (listed in `retx.study.library`); this package
runs its experiments through the public API and writes one report. A study's `figures.py` uses the
names below, which are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retx.plots.report import Figure, new_figure
    from retx.study.estimates import (
        Estimate,
        Interval,
        Values,
        as_share,
        changed,
        estimate,
        exact,
        mean_quotient,
        of_means,
        scaled,
    )
    from retx.study.library import load
    from retx.study.measured import Measured, Plan
    from retx.study.page import plain
    from retx.study.points import Named, Points
    from retx.study.reproduction import Report, reproduce
    from retx.study.tables import Cell, Column, Noted, Table, by_case, effects
    from retx.study.verdicts import Verdict
    from retx.sweeps.derive import RunTables

_HOME = {
    "Cell": "retx.study.tables",
    "Column": "retx.study.tables",
    "Estimate": "retx.study.estimates",
    "Figure": "retx.plots.report",
    "Interval": "retx.study.estimates",
    "Measured": "retx.study.measured",
    "Named": "retx.study.points",
    "Noted": "retx.study.tables",
    "Plan": "retx.study.measured",
    "Points": "retx.study.points",
    "Report": "retx.study.reproduction",
    "RunTables": "retx.sweeps.derive",
    "Table": "retx.study.tables",
    "Values": "retx.study.estimates",
    "Verdict": "retx.study.verdicts",
    "as_share": "retx.study.estimates",
    "by_case": "retx.study.tables",
    "changed": "retx.study.estimates",
    "effects": "retx.study.tables",
    "estimate": "retx.study.estimates",
    "exact": "retx.study.estimates",
    "load": "retx.study.library",
    "mean_quotient": "retx.study.estimates",
    "new_figure": "retx.plots.report",
    "of_means": "retx.study.estimates",
    "plain": "retx.study.page",
    "reproduce": "retx.study.reproduction",
    "scaled": "retx.study.estimates",
}

__all__ = [
    "Cell",
    "Column",
    "Estimate",
    "Figure",
    "Interval",
    "Measured",
    "Named",
    "Noted",
    "Plan",
    "Points",
    "Report",
    "RunTables",
    "Table",
    "Values",
    "Verdict",
    "as_share",
    "by_case",
    "changed",
    "describe",
    "effects",
    "estimate",
    "exact",
    "load",
    "mean_quotient",
    "new_figure",
    "of_means",
    "plain",
    "reproduce",
    "scaled",
]


def describe() -> list[dict[str, Any]]:
    """The studies that are included in retx, as shown by `retx list`."""
    from retx.study.shipped import described

    return described()


def __getattr__(name: str) -> object:
    # Imports are deferred: `retx --help` imports this package, and must not load tables and
    # figures.
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'retx.study' has no attribute {name!r}")
    return getattr(import_module(home), name)
