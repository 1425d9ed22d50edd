"""Reproduces published papers: compares published with measured numbers, with a verdict per claim.

A study is a folder of files (listed in `retx.study.library`); this package runs its experiments
through the public API and writes one report. A study's Python files use the names below, which are
imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retx.plots.report import Figure as Figure
    from retx.plots.report import new_figure as new_figure
    from retx.study.estimates import Estimate as Estimate
    from retx.study.estimates import Interval as Interval
    from retx.study.estimates import Values as Values
    from retx.study.estimates import as_share as as_share
    from retx.study.estimates import changed as changed
    from retx.study.estimates import estimate as estimate
    from retx.study.estimates import exact as exact
    from retx.study.estimates import mean_quotient as mean_quotient
    from retx.study.estimates import of_means as of_means
    from retx.study.estimates import scaled as scaled
    from retx.study.library import load as load
    from retx.study.measured import Measured as Measured
    from retx.study.page import plain as plain
    from retx.study.points import Points as Points
    from retx.study.reproduction import Report as Report
    from retx.study.reproduction import reproduce as reproduce
    from retx.study.runs import Plan as Plan
    from retx.study.shipped import describe as describe
    from retx.study.tables import Cell as Cell
    from retx.study.tables import Column as Column
    from retx.study.tables import Noted as Noted
    from retx.study.tables import Table as Table
    from retx.study.verdicts import Verdict as Verdict
    from retx.sweeps.derive import RunTables as RunTables

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
    "retx.study.shipped": "describe",
    "retx.study.tables": "Cell Column Noted Table",
    "retx.study.verdicts": "Verdict",
    "retx.sweeps.derive": "RunTables",
}
"""Names by their modules."""


def __getattr__(name: str) -> object:
    # Imports are deferred: `retx --help` imports this package, and must not load tables and
    # figures.
    for home, names in _HOME.items():
        if name in names.split():
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'retx.study' has no attribute {name!r}")
