"""Fills the tables that a study declares with the results of its runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from retx.study.data import StudyError, located, look_up, unknown
from retx.study.declared_tables import (
    FILE,
    DeclaredColumn,
    DeclaredTable,
    PublishedCell,
    PythonCell,
    SettingCell,
)
from retx.study.estimates import Estimate
from retx.study.items import Scope, in_name, in_place, in_text
from retx.study.measures import Measuring, Places, listed
from retx.study.page import plain
from retx.study.points import Points
from retx.study.tables import Cell, Column, Table

if TYPE_CHECKING:
    from retx.study.measured import Measured


def filled_tables(measured: Measured) -> Iterator[Table]:
    """The declared tables of a study with their cells.

    Raises:
        StudyError: A place, a quantity or a name does not exist.
    """
    measuring = measured.measuring
    for table in measured.study.tables:
        with located(f"{measured.study.folder / FILE}: {table.id}"):
            made = [_filled(table, it, measuring) for it in measuring.lists.scopes(table.over)]
        yield from made


def _filled(table: DeclaredTable, outer: Scope, measuring: Measuring) -> Table:
    columns = [
        (in_name(it.key, scope), it, scope) for it, scope in table.scoped(measuring.lists, outer)
    ]
    note = in_text(table.note, outer)
    if table.emulations:
        note = f"{note} {measuring.measured.emulations(table.emulations)}"
    made = Table(
        in_name(table.id, outer),
        in_text(table.title, outer),
        [
            Column(key, in_text(it.label, scope), in_text(it.unit, scope), it.digits, it.right)
            for key, it, scope in columns
        ],
        note=note,
        shows=[in_text(it, outer) for it in table.shows],
    )
    if table.head:
        (first, *_), *others = columns
        head: dict[str, Cell] = {first: table.head}
        made.add(head | {key: it.asks for key, it, _ in others if it.asks}, "")
    if table.python:
        lines = _returned(table, outer, measuring, [key for key, *_ in columns])
    else:
        lines = [
            (
                {key: _cell(it, table.of, {**scope, **own}, measuring) for key, it, own in columns},
                _command(table.command, scope, measuring.measured),
            )
            for scope in measuring.lists.scopes(table.rows, outer)
        ]
    if table.sort:
        lines.sort(key=lambda line: -_size(line[0].get(table.sort)))
    for row, command in lines:
        made.add(row, command)
    if not any(made.commands):
        made.commands.clear()
    return made


def _returned(
    table: DeclaredTable, scope: Scope, measuring: Measuring, keys: list[str]
) -> list[tuple[dict[str, Cell], str]]:
    """Rows that a function of the study yields; none while the runs have no numbers."""
    lines: list[tuple[dict[str, Cell], str]] = (
        measuring.returned(table.python, table.with_, scope) or []
    )
    for row, _ in lines:
        for key in row:
            if key not in keys:
                raise StudyError(f"{table.python}: {unknown('column', key, keys)}")
    return lines


def _cell(column: DeclaredColumn, of: Places, scope: Scope, measuring: Measuring) -> Cell:
    what = column.is_
    if what is None or isinstance(what, str):
        return in_text(what or "", scope)
    if isinstance(what, PythonCell):
        returned: Cell = measuring.returned(what.python, what.with_, scope)
        return returned
    if isinstance(what, PublishedCell):
        name = in_place(what.published, scope)
        series, _, case = name.partition("/")
        known = measuring.measured.study.published.series
        if series not in known or not case:
            raise StudyError(f"published.toml has no {name!r}")
        value = known[series].values.get(case)
        return value if value is None or not what.printed else plain(value)
    if isinstance(what, SettingCell):
        at = measuring.measured.at(in_place(what.setting, scope))
        settings = measuring.measured.study.experiments[at.experiment].overrides(at.case)
        with located(repr(what.setting)):
            found: Cell = look_up("setting", what.key, settings)
        return found
    compared = what.places if what.kind in ("ratio", "difference") and not what.over else []
    if len({in_place(it, scope) for it in compared}) == 1:
        return None
    measured = measuring.found(what.by_default(of), scope)
    if isinstance(measured, Points):
        raise StudyError("a cell is a number, not a curve")
    if measured is None or not column.words:
        return measured
    if measured.mean not in range(len(column.words)):
        raise StudyError(f"{measured.mean:g} has none of the `words`")
    return column.words[int(measured.mean)]


def _size(cell: Cell) -> float:
    return cell.mean if isinstance(cell, Estimate) else 0.0


def _command(command: Places, scope: Scope, measured: Measured) -> str:
    places = (in_place(place, scope) for place in listed(command) if place)
    return "\n".join(measured.at(place).command() for place in places)
