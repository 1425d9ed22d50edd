"""Overview of the figures, tables and equations of a paper, with the verdicts on each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
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


def with_pictures(
    places: Iterable[Place], figures: Mapping[str, Figure], tables: Mapping[str, Table]
) -> list[Place]:
    """Adds to each place our first figure, and our first table, that shows the place."""
    drawn, listed = _first(figures), _first(tables)
    return [
        replace(
            it,
            picture=drawn.get(it.name) or drawn.get(_whole(it.name)),
            table=listed.get(it.name) or listed.get(_whole(it.name)),
        )
        for it in places
    ]


def _first(ours: Mapping[str, T]) -> dict[str, T]:
    """For each place: the first figure or table that shows it."""
    return {name: it for it in reversed(list(ours.values())) for name in it.shows}


def _whole(name: str) -> str:
    """Name without the letter of a part: figure 5 for figure 5b."""
    return name.rstrip("abcdefghij") if name[-2:-1].isdigit() else name


def overview(everything: Iterable[Judged], papers: Collection[str] = ()) -> list[Place]:
    """The figures, tables and equations of a paper in their order, and its text.

    Args:
        everything: All verdicts.
        papers: Names of other studies. The source of a claim may begin with one of them; its place
            is then the paper of this study.
    """
    places: dict[str, list[Judged]] = {}
    for line in everything:
        source = line.claim.source
        paper = source.partition(",")[0]
        found = PLACE.search(source)
        name = paper if paper in papers else f"{found[1].lower()} {found[2]}" if found else TEXT
        places.setdefault(name, []).append(line)
    return [
        Place(name, _status(name, places[name]), Tally.of(places[name]))
        for name in sorted(places, key=_rank)
    ]


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
