"""Overview of the figures, tables and equations of a paper, with the verdicts on each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TypeVar

from retx.plots.report import Figure
from retx.study.tables import Table
from retx.study.verdicts import Judged, Tally, Verdict

T = TypeVar("T", Figure, Table)
PLACE = re.compile(r"\b(figure|table|equation)s? (\d+[a-z]?|[IVX]+\b)", re.IGNORECASE)
TEXT = "text"
KINDS = ("figure", "table", "equation")
"""Kinds of places in their order; papers that a claim names follow, and the text comes last."""
SHAPES = ("curve", "trend", "order", "direction")
"""Rules that judge a shape, not a level."""


@dataclass(frozen=True)
class Place:
    """A figure or table of the paper, with the verdicts on its claims."""

    name: str
    status: str
    """`reproduced`, `same shape`, `in part`, `not settled`, `not`, `contradicts itself`, or
    `not judged`."""
    tally: Tally
    picture: Figure | None = None
    """The corresponding figure in this report."""
    table: Table | None = None
    """The corresponding table, if there is no such figure."""


def overview(
    everything: Iterable[Judged],
    papers: Collection[str] = (),
    figures: Collection[Figure] = (),
    tables: Collection[Table] = (),
) -> list[Place]:
    """The figures, tables and equations of a paper in their order, and its text.

    Args:
        everything: All verdicts.
        papers: Names of other studies. The source of a claim may begin with one of them; its place
            is then the paper of this study.
        figures: Our figures.
        tables: Our tables.
    """
    places: dict[str, list[Judged]] = {}
    for line in everything:
        source = line.claim.source
        paper = source.partition(",")[0]
        found = PLACE.search(source)
        name = paper if paper in papers else f"{found[1].lower()} {found[2]}" if found else TEXT
        places.setdefault(name, []).append(line)
    return [
        Place(
            name, _status(name, lines), Tally.of(lines), _first(figures, name), _first(tables, name)
        )
        for name, lines in sorted(places.items(), key=lambda place: _rank(place[0]))
    ]


def _first(ours: Iterable[T], name: str) -> T | None:
    """Our first figure or table that shows a place; for figure 5b also one that shows figure 5."""
    whole = name.rstrip("abcdefghij") if name[-2:-1].isdigit() else name
    return next((it for wanted in (name, whole) for it in ours if wanted in it.shows), None)


def _rank(name: str) -> tuple[int, int, str]:
    """Sort key: the kind of the place, and its number."""
    kind, _, number = name.partition(" ")
    rank = KINDS.index(kind) if kind in KINDS else len(KINDS) + (name == TEXT)
    digits = re.match(r"\d+", number)
    return (rank, int(digits[0]) if digits else 0, number)


def _status(name: str, lines: list[Judged]) -> str:
    counted = [line for line in lines if line.counted]
    agreeing = [line for line in counted if line.verdict is Verdict.AGREES]
    shapes = [line for line in counted if line.claim.rule in SHAPES]
    kinds = {line.verdict for line in (counted or lines) if not line.shown}
    if kinds == {Verdict.CONTRADICTS}:
        return Verdict.CONTRADICTS.value
    if not counted:
        return "not judged"
    if len(agreeing) == len(counted):
        return "reproduced"
    if kinds == {Verdict.UNSETTLED}:
        return Verdict.UNSETTLED.value
    if name != TEXT and shapes and all(line in agreeing for line in shapes):
        return "same shape"
    return "in part" if agreeing else "not"
