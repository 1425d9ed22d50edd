"""Tables of a report: with intervals on the page, and as plain numbers in CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retx.study.claims import Rows
from retx.study.estimates import Estimate, Interval
from retx.study.measured import Measured
from retx.study.verdicts import Judged, Verdict


@dataclass(frozen=True)
class Noted:
    """Text with a note in small print."""

    text: str
    note: str


Cell = str | int | float | Estimate | Interval | Noted | Verdict | None


@dataclass(frozen=True)
class Column:
    """A column: its key in rows and in CSV, and its heading."""

    key: str
    label: str
    unit: str = ""
    digits: int | None = None
    """Decimals; without it four significant digits."""
    right: bool = False
    """True for texts that are numbers, which are aligned to the right."""


@dataclass(frozen=True)
class Table:
    """Rows of cells by the columns' keys."""

    id: str
    title: str
    columns: list[Column]
    rows: list[dict[str, Cell]] = field(default_factory=list)
    note: str = ""
    shows: Sequence[str] = ()
    """Figures and tables of the paper that it shows."""
    commands: list[str] = field(default_factory=list)
    """Commands that run each row again; empty if nothing was run."""

    def add(self, row: dict[str, Cell], command: str) -> None:
        """Adds a row with the command that repeats its run."""
        self.rows.append(row)
        self.commands.append(command)


def write_csv(table: Table, path: Path) -> None:
    """Writes a table; an estimate becomes `KEY`, `KEY_low`, `KEY_high` and `KEY_n`."""
    names: list[str] = []
    flat: list[dict[str, Any]] = [{} for _ in table.rows]
    for column in table.columns:
        cells = [_flat(column, row.get(column.key)) for row in table.rows]
        # The longest cell has the names of all parts, since exact values have no interval.
        names += max(cells, key=len).keys()
        for line, cell in zip(flat, cells, strict=True):
            line |= cell
    if table.commands:
        names.append("command")
        for line, command in zip(flat, table.commands, strict=True):
            line["command"] = command.replace("\n", "; ")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(flat)


def _flat(column: Column, cell: Cell) -> dict[str, Any]:
    name = f"{column.key}_{column.unit}" if column.unit.isalpha() else column.key
    if cell is None:
        return {}
    if isinstance(cell, Estimate):
        if cell.interval is None:
            return {name: cell.mean, f"{name}_n": cell.n}
        ends = {f"{name}_low": cell.interval.low, f"{name}_high": cell.interval.high}
        return {name: cell.mean} | ends | {f"{name}_n": cell.n}
    if isinstance(cell, Interval):
        return {f"{name}_low": cell.low, f"{name}_high": cell.high}
    if isinstance(cell, Noted):
        return {name: cell.text, f"{name}_note": cell.note}
    return {name: cell.value if isinstance(cell, Verdict) else cell}


def comparison(rows: Rows, judged: list[Judged], measured: Measured) -> Table:
    """Published and measured values, one row per case."""
    series = measured.study.published.series[rows.published]
    digits = 2 if series.unit == "s" else None
    columns = [Column("case", "case"), Column("published", "published", series.unit, digits)]
    if series.subtract:
        columns.append(Column("compared", f"less {series.subtract:g}", series.unit, digits))
    columns += [
        Column("measured", "measured", series.unit),
        Column("single", "95 % of runs", series.unit),
        Column("verdict", "verdict"),
    ]
    lines: list[dict[str, Cell]] = [
        {
            "case": row.case,
            "published": series.values[row.claim.case],
            "compared": series.targets[row.claim.case].value,
            "measured": row.measured,
            "single": row.measured and row.measured.single,
            "verdict": Noted(row.shown, row.verdict.value) if row.shown else row.verdict,
        }
        for row in judged
    ]
    return Table(
        rows.id,
        f"{series.title} ({series.source})",
        columns,
        lines,
        shows=[series.source],
        note=" ".join(filter(None, [series.subtract_why, _given(rows, measured)])),
        commands=[row.command for row in judged],
    )


def _given(rows: Rows, measured: Measured) -> str:
    """Note on the runs with which the paper's are compared; empty if it is all of them."""
    if not rows.given:
        return ""
    titles = {
        row.id: measured.study.published.series[row.published].title for row in measured.study.rows
    }
    listed = ", ".join(titles[name][0].lower() + titles[name][1:] for name in rows.given)
    return (
        f"Of our runs, those are compared in which the paper's numbers hold within 25 %: {listed}."
    )
