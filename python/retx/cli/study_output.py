"""Output of `retx study`: tables, verdicts, and the path of the report."""

from __future__ import annotations

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from retx.analysis.limits import per_cent
from retx.cli.console import console
from retx.study.page import MARKS, estimate_text, interval, plain
from retx.study.reproduction import Report
from retx.study.verdicts import Judged


def print_report(report: Report) -> None:
    """Prints a report to a terminal."""
    out = console()
    plan = report.plan
    out.print(escape(f"{report.study.title}: {report.study.paper.reference}"), style="bold")
    out.print(f"{plan.form} form, seed {plan.seed}; means with 95 % confidence intervals")
    for lines in report.rows.values():
        out.print(_table(lines))
    if report.study.set_up_choice:
        out.print(escape(report.study.set_up_choice.sentence))
    tally = report.tally
    out.print(f"Verdicts: {tally.sentence()}.")
    if tally.counted:
        out.print(
            f"{tally.agrees} of {tally.counted} counted claims agree ({per_cent(tally.share)})."
        )
    out.print(escape(f"Report: {report.page}"), soft_wrap=True)


def print_index(page: Path) -> None:
    """Prints the path of the page that lists all reports."""
    console().print(f"All reports: {page.resolve()}", soft_wrap=True)


def _table(lines: list[Judged]) -> Table:
    first = lines[0]
    unit = f" ({first.unit})" if first.unit else ""
    table = Table(
        title=escape(f"{first.claim.statement}, {first.claim.source}{unit}"),
        title_justify="left",
        title_style="",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for heading in ("", ">published", ">measured", ">95 % of runs", "verdict"):
        right = heading.startswith(">")
        table.add_column(heading.lstrip(">"), justify="right" if right else "left")
    for line in lines:
        measured = line.measured
        table.add_row(
            escape(line.case),
            plain(line.published) if line.published is not None else "–",
            estimate_text(measured) if measured else "–",
            interval(measured.single) if measured else "",
            f"{MARKS[line.verdict][1]} {line.verdict.value}{', ' * bool(line.shown)}{line.shown}",
        )
    return table
