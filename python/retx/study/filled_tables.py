"""Fills the tables that a study declares with the results of its runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from retx.study.data import StudyError, build
from retx.study.declared_tables import FILE, DeclaredColumn, DeclaredTable
from retx.study.estimates import Estimate
from retx.study.items import Lists, Scope, in_name, in_place, in_text
from retx.study.measures import Measuring, measure, point
from retx.study.points import Points
from retx.study.tables import Cell, Column, Table, effects

if TYPE_CHECKING:
    from retx.study.measured import Measured


def filled_tables(measured: Measured, values: Mapping[str, Estimate | Points]) -> Iterator[Table]:
    """The declared tables of a study with their cells.

    Args:
        measured: Results of the runs.
        values: Named values.

    Raises:
        StudyError: A place, a quantity or a name does not exist.
    """
    measuring = Measuring(measured, measured.study.declared.lists, values.get)
    for table in measured.study.tables:
        if table.effects:
            yield effects(measured, table.effects)
            continue
        try:
            yield _filled(table, measuring, values)
        except StudyError as error:
            path = measured.study.folder / FILE
            raise StudyError(f"{path}: {table.id}: {error}") from None


def _filled(
    table: DeclaredTable, measuring: Measuring, values: Mapping[str, Estimate | Points]
) -> Table:
    columns = list(_columns(table, measuring.lists))
    made = Table(
        table.id,
        table.title,
        [
            Column(in_name(it.key, scope), in_text(it.label, scope), it.unit, it.digits, it.right)
            for it, scope in columns
        ],
        note=table.note,
    )
    if table.head:
        first, *others = columns
        head: dict[str, Cell] = {first[0].key: table.head}
        made.add(head | {in_name(it.key, one): it.asks for it, one in others if it.asks}, "")
    for scope in measuring.lists.scopes(table.rows):
        row: dict[str, Cell] = {}
        for column, own in columns:
            row[in_name(column.key, own)] = _cell(
                column.is_, table.of, dict(scope) | dict(own), measuring, values
            )
        made.add(row, _command(table.command, scope, measuring.measured))
    if not table.command:
        made.commands.clear()
    return made


def _columns(table: DeclaredTable, lists: Lists) -> Iterator[tuple[DeclaredColumn, Scope]]:
    for number, column in enumerate(table.columns):
        renamed = {"is_" if key == "is" else key: value for key, value in column.items()}
        made = build(DeclaredColumn, renamed, f"columns[{number}]")
        for scope in lists.scopes(made.over):
            yield made, scope


def _cell(
    what: str | dict[str, Any],
    of: str | list[str],
    scope: Scope,
    measuring: Measuring,
    values: Mapping[str, Estimate | Points],
) -> Cell:
    if isinstance(what, str):
        return in_text(what, scope)
    if "value" in what:
        name = in_name(what["value"], scope)
        found = values.get(name)
        return found if isinstance(found, Estimate) else None
    if "published" in what:
        series, _, case = in_place(what["published"], scope).partition("/")
        return measuring.measured.study.published.series[series].values.get(case)
    asked = {"of": of} | {key: value for key, value in what.items() if key != "single"}
    result = measuring.found(measure(asked, "a cell"), scope)
    if not isinstance(result, Estimate):
        return None
    return result.single if what.get("single") else result


def _command(command: str | list[str], scope: Scope, measured: Measured) -> str:
    lines = []
    for place in [command] if isinstance(command, str) else command:
        if place:
            at = point(measured, in_place(place, scope))
            lines.append(measured.command(at.experiment, at.case, at=at.at))
    return "\n".join(lines)
