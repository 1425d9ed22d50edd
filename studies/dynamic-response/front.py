"""Claims that agree in each set-up of the search, and claims that never agree together."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import combinations

from retx.plots import style
from retx.study import Cell, Measured
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


def rows(measured: Measured) -> Iterator[tuple[dict[str, Cell], str]]:
    """Each claim with those that exclude it, the most exclusive one first."""
    set_ups = _set_ups(measured)
    apart = _apart(set_ups)
    for name in sorted((it for it in apart if apart[it]), key=lambda it: -len(apart[it])):
        agrees = sum(name in _agreeing(it) for it in set_ups)
        row: dict[str, Cell] = {"claim": name, "apart": ", ".join(apart[name])}
        yield row | {"agrees": f"{agrees} of {len(set_ups)}"}, ""


def most(measured: Measured) -> float:
    """Largest number of claims that agree in one set-up."""
    return max(len(_agreeing(it)) for it in _set_ups(measured))


def never(measured: Measured) -> float:
    """Number of claims that agree in no set-up."""
    set_ups = _set_ups(measured)
    return len(set_ups[0].keys() - frozenset().union(*map(_agreeing, set_ups)))


def figure(measured: Measured) -> style.Figure:
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
    return drawn
