"""Overview of the paper's figures: each is reproduced, has the same shape, or neither."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from retx.plots.report import Figure
from retx.study.verdicts import Judged, Tally, Verdict

PLACE = re.compile(r"\b(figure|table|equation)s? (\d+[a-z]?|[IVX]+\b)", re.IGNORECASE)
_ONE = r"(?:\d+[a-z]?|[IVX]+\b)"
SEVERAL = re.compile(rf"\b(figure|table)s? ({_ONE})((?:(?:, | and | to ){_ONE})*)", re.IGNORECASE)
"""Pattern of one or several places in a caption: “figure 3”, “figures 5c and 5d”, “figures 5 to
9”."""
JOINTS = re.compile(rf"(, | and | to )({_ONE})")
TEXT = "text"
SHAPES = ("curve", "trend", "order", "direction")
"""Rules that judge a shape, not a level."""


@dataclass(frozen=True)
class Place:
    """A figure or table of the paper, with the verdicts on its claims."""

    name: str
    status: str
    """`reproduced`, `same shape`, `in part`, `not`, or `not judged`."""
    tally: Tally
    picture: Figure | None = None
    """The corresponding figure in this report."""


def with_pictures(places: Iterable[Place], figures: Mapping[str, Figure]) -> list[Place]:
    """The paper's figures and tables, each with the first of our figures whose caption names it."""
    shown: dict[str, Figure] = {}
    for figure in figures.values():
        for name in _named(figure.caption):
            shown.setdefault(name, figure)
    return [replace(it, picture=shown.get(it.name) or shown.get(_whole(it.name))) for it in places]


def _named(caption: str) -> list[str]:
    """Figures and tables that a caption names, one by one."""
    found = []
    for kind, first, more in SEVERAL.findall(caption):
        places = [first]
        for joint, place in JOINTS.findall(more):
            places += _between(places[-1], place) if joint == " to " else []
            places.append(place)
        found += [f"{kind.lower()} {it}" for it in places]
    return found


def _between(first: str, last: str) -> list[str]:
    """Numbers of figures between two: 6 to 8 for 5 and 9, 11b and 11c for 11a and 11d."""
    if first.isdigit() and last.isdigit():
        return [str(number) for number in range(int(first) + 1, int(last))]
    return [f"{first[:-1]}{chr(code)}" for code in range(ord(first[-1]) + 1, ord(last[-1]))]


def _whole(name: str) -> str:
    """Name without the letter of a part: figure 5 for figure 5b."""
    return name.rstrip("abcdefghij") if name[-2:-1].isdigit() else name


def overview(everything: Iterable[Judged]) -> list[Place]:
    """The paper's figures and tables in the order of the claims; claims from its text come last."""
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
