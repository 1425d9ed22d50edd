"""Overview of a report, figure by figure: reproduced, the same shape, or not."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from retx.study.verdicts import Judged, Tally, Verdict

PLACE = re.compile(r"\b(figure|table|equation)s? (\d+[a-z]?|[IVX]+\b)", re.IGNORECASE)
TEXT = "text"
SHAPES = ("curve", "trend", "order", "direction")
"""Rules that judge a shape and not a level."""


@dataclass(frozen=True)
class Place:
    """A figure or table of the paper, with the verdicts on its claims."""

    name: str
    status: str
    """`reproduced`, `same shape`, `in part`, `not`, or `not judged`."""
    tally: Tally


def overview(everything: Iterable[Judged]) -> list[Place]:
    """The paper's figures and tables in the order of the claims; the rest of its text last."""
    places: dict[str, list[Judged]] = {}
    for line in everything:
        found = PLACE.search(line.source)
        name = f"{found[1].lower()} {found[2]}" if found else TEXT
        places.setdefault(name, []).append(line)
    text = places.pop(TEXT, None)
    if text:
        places[TEXT] = text
    return [Place(name, _status(lines), Tally.of(lines)) for name, lines in places.items()]


def _status(lines: list[Judged]) -> str:
    counted = [line for line in lines if line.counted]
    agreeing = [line for line in counted if line.verdict is Verdict.AGREES]
    shapes = [line for line in counted if line.rule in SHAPES]
    if not counted:
        return "not judged"
    if len(agreeing) == len(counted):
        return "reproduced"
    if shapes and all(line in agreeing for line in shapes):
        return "same shape"
    return "in part" if agreeing else "not"
