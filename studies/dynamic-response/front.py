"""Claims that agree in each set-up of the search, and claims that never agree together."""

from __future__ import annotations

import csv
from itertools import combinations

from retx.plots import style
from retx.study import Cell, Column, Figure, Measured, Table
from retx.study.overview import PLACE

FILE = "front.csv"
"""Findings of the search, written by `retx study --freeze`."""
AGREES = 1.0
"""Score of a claim that agrees."""

Scores = dict[str, float]
"""Score of each claim in one set-up."""


def _set_ups(measured: Measured) -> list[Scores]:
    """Scores in each admitted set-up, once each, from the most claims that agree to the fewest."""
    claims = {claim.id for claim in measured.study.claims}
    found: dict[str, Scores] = {}
    with (measured.study.folder / FILE).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if not row["breaks"]:
                scores = {name: float(text) for name, text in row.items() if name in claims}
                own = repr([row[name] for name in list(row)[5:] if name not in claims])
                found.setdefault(own, scores)
    return sorted(found.values(), key=lambda it: -len(_agreeing(it)))


def _agreeing(scores: Scores) -> frozenset[str]:
    return frozenset(name for name, score in scores.items() if score >= AGREES)


def _apart(set_ups: list[Scores]) -> dict[str, list[str]]:
    """For each claim that some set-up satisfies: the claims that never agree with it."""
    sets = [_agreeing(it) for it in set_ups]
    apart: dict[str, list[str]] = {name: [] for name in set_ups[0] if any(name in s for s in sets)}
    for pair in combinations(apart, 2):
        if not any(set(pair) <= agree for agree in sets):
            for one, other in (pair, pair[::-1]):
                apart[one].append(other)
    return apart


def table(measured: Measured) -> Table:
    """Each claim with those that exclude it, the most exclusive one first."""
    set_ups = _set_ups(measured)
    columns = [
        Column("claim", "claim"),
        Column("agrees", f"agrees in set-ups, of {len(set_ups)}", right=True),
        Column("apart", "never together with"),
    ]
    made = Table(
        "front",
        "Claims that never agree together in the set-ups of the search",
        columns,
        note="Claims on experiments with open parameters of their own, such as figures 5c and 11, "
        "may agree together in a set-up that was not tried.",
    )
    apart = _apart(set_ups)
    for name in sorted((it for it in apart if apart[it]), key=lambda it: -len(apart[it])):
        row: dict[str, Cell] = {
            "claim": name,
            "agrees": str(sum(name in _agreeing(it) for it in set_ups)),
            "apart": ", ".join(apart[name]),
        }
        made.add(row, "")
    return made


def figure(measured: Measured) -> Figure:
    """Claims against set-ups: filled where a claim agrees."""
    set_ups = _set_ups(measured)
    times = {name: sum(name in _agreeing(it) for it in set_ups) for name in set_ups[0]}
    claims = sorted(times, key=lambda name: times[name])
    drawn = style.Figure(figsize=(5.2, 5.6), layout="constrained")
    axes = drawn.subplots()
    for column, scores in enumerate(set_ups):
        for row, name in enumerate(claims):
            agrees = scores[name] >= AGREES
            axes.plot(
                column + 1, row, "s" if agrees else ".", ms=7 if agrees else 2,
                color=style.BLUE if agrees else style.GREY,
            )  # fmt: skip
    places = {it.id: PLACE.search(it.source) for it in measured.study.claims}
    labels = [f"{name} ({it[1]} {it[2]})" if (it := places[name]) else name for name in claims]
    axes.set_yticks(range(len(claims)), labels, fontsize=7)
    axes.set_xlabel("set-up, from the most claims that agree to the fewest")
    axes.set_xlim(0, len(set_ups) + 1)
    axes.grid(visible=False)
    never = [name for name in claims if not times[name]]
    most = max(len(_agreeing(it)) for it in set_ups)
    return Figure(
        "front", drawn,
        f"Squares: the claim agrees in that set-up of the search. No set-up satisfies more than "
        f"{most} of {len(claims)} claims; {len(never)} agree in none. Two claims without squares "
        f"in the same column agree together in no set-up that was tried. Names as in “Claim by "
        f"claim”.",
        "Claims that agree, by set-up of the search.",
    )  # fmt: skip
