"""Reproduces published papers: compares published with measured numbers, with a verdict per claim.

A study is a folder of files (listed in `retx.study.library`); this package runs its experiments
through the public API and writes one report. A study's Python files use the names below, which are
imported on first use.
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
    from retx.study.measured import Measured
    from retx.study.page import plain
    from retx.study.points import Points
    from retx.study.reproduction import Report, reproduce
    from retx.study.runs import Plan
    from retx.study.tables import Cell, Column, Noted, Table
    from retx.study.verdicts import Verdict
    from retx.sweeps.derive import RunTables

_HOME = {
    "retx.plots.report": "Figure new_figure",
    "retx.study.estimates": "Estimate Interval Values as_share changed estimate "
    "exact mean_quotient of_means scaled",
    "retx.study.library": "load",
    "retx.study.measured": "Measured",
    "retx.study.page": "plain",
    "retx.study.points": "Points",
    "retx.study.reproduction": "Report reproduce",
    "retx.study.runs": "Plan",
    "retx.study.tables": "Cell Column Noted Table",
    "retx.study.verdicts": "Verdict",
    "retx.sweeps.derive": "RunTables",
}
"""Names by their modules."""

__all__ = [
    "Cell",
    "Column",
    "Estimate",
    "Figure",
    "Interval",
    "Measured",
    "Noted",
    "Plan",
    "Points",
    "Report",
    "RunTables",
    "Table",
    "Values",
    "Verdict",
    "as_share",
    "changed",
    "describe",
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
    for home, names in _HOME.items():
        if name in names.split():
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'retx.study' has no attribute {name!r}")
