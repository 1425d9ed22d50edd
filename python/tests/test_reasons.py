"""Reasons in the reports rest on runs that switch one thing at a time."""

from __future__ import annotations

from itertools import chain

import pytest
from conftest import QuickReports
from markupsafe import escape

from retx.study import Verdict
from retx.study.shipped import names

READINGS = ("dynamic-response",)
"""Studies whose tables have every reading of the paper side by side, instead of single switches."""


@pytest.mark.parametrize("name", names())
def test_what_differs_names_runs_that_switch_one_thing(
    quick_reports: QuickReports, name: str
) -> None:
    report = quick_reports[name]
    text = report.page.read_text()
    differ = [
        line
        for line in chain(report.claims, *report.rows.values())
        if line.verdict is Verdict.DIFFERS
    ]
    assert differ
    for line in differ:
        assert line.because, line.id
        assert line.switched or name in READINGS, line.id
        assert all(str(escape(one)) in text for one in line.switched), line.id
        assert line.command or line.claim.rule == "arithmetic", line.id
