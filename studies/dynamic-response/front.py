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


def _set_ups(measured: Measured) -> tuple[list[str], list[frozenset[str]]]:
    """The claims, and those that agree in each admitted set-up, the largest number first."""
    own = {claim.id for claim in measured.study.claims}
    found: dict[str, frozenset[str]] = {}
    with (measured.study.folder / FILE).open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        names = reader.fieldnames or []
        claims = [name for name in names if name in own]
        for row in reader:
            if not row["breaks"]:
                set_up = repr([row[name] for name in names[5:] if name not in own])
                agreeing = frozenset(name for name in claims if float(row[name]) >= AGREES)
                found.setdefault(set_up, agreeing)
    return claims, sorted(found.values(), key=len, reverse=True)


def rows(measured: Measured) -> Iterator[tuple[dict[str, Cell], str]]:
    """Each claim with those that exclude it, the most exclusive one first."""
    claims, set_ups = _set_ups(measured)
    times = {name: sum(name in agreeing for agreeing in set_ups) for name in claims}
    apart: dict[str, list[str]] = {name: [] for name in claims}
    for pair in combinations((name for name in claims if times[name]), 2):
        if not any(agreeing.issuperset(pair) for agreeing in set_ups):
            for one, other in (pair, pair[::-1]):
                apart[one].append(other)
    for name in sorted((it for it in apart if apart[it]), key=lambda it: -len(apart[it])):
        row: dict[str, Cell] = {"claim": name, "apart": ", ".join(apart[name])}
        yield row | {"agrees": f"{times[name]} of {len(set_ups)}"}, ""


def most(measured: Measured) -> float:
    """Largest number of claims that agree in one set-up."""
    return max(map(len, _set_ups(measured)[1]))


def never(measured: Measured) -> float:
    """Number of claims that agree in no set-up."""
    claims, set_ups = _set_ups(measured)
    return len(set(claims).difference(*set_ups))


def figure(measured: Measured) -> style.Figure:
    """Claims against set-ups: filled where a claim agrees."""
    names, set_ups = _set_ups(measured)
    claims = sorted(names, key=lambda name: sum(name in agreeing for agreeing in set_ups))
    drawn = style.Figure(figsize=(5.2, 5.6), layout="constrained")
    axes = drawn.subplots()
    for column, agreeing in enumerate(set_ups):
        for row, name in enumerate(claims):
            agrees = name in agreeing
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
