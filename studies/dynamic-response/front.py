"""Claims that agree in each set-up of the search, and claims that never agree together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np
import polars as pl

from retx.plots import style
from retx.study import Cell, Measured
from retx.study.overview import PLACE

FILE = "front.csv"
"""Findings of the search, written by `retx study --freeze`."""
AGREES = 1.0
"""Score of a claim that agrees."""


def _agreement(measured: Measured) -> pl.DataFrame:
    """Agreement of each claim (column) in each admitted set-up (row), the most claims first."""
    table = pl.read_csv(measured.study.folder / FILE, infer_schema=False)
    own = {claim.id for claim in measured.study.claims}
    claims = [name for name in table.columns if name in own]
    values = [name for name in table.columns[5:] if name not in own]
    admitted = table.filter(pl.col("breaks").is_null())
    set_ups = admitted.unique(values, keep="first", maintain_order=True)
    agrees = set_ups.select(pl.col(claims).cast(pl.Float64) >= AGREES)
    return agrees.sort(pl.sum_horizontal(claims), descending=True, maintain_order=True)


def rows(measured: Measured) -> Iterator[tuple[dict[str, Cell], str]]:
    """Each claim with those that exclude it, the most exclusive one first."""
    agrees = _agreement(measured)
    reached = [it.name for it in agrees if it.any()]
    apart: dict[str, list[str]] = {name: [] for name in reached}
    for one, other in permutations(reached, 2):
        if not (agrees[one] & agrees[other]).any():
            apart[one].append(other)
    for name in sorted(filter(apart.get, apart), key=lambda it: -len(apart[it])):
        row: dict[str, Cell] = {"claim": name, "apart": ", ".join(apart[name])}
        yield row | {"agrees": f"{agrees[name].sum()} of {agrees.height}"}, ""


def most(measured: Measured) -> float:
    """Largest number of claims that agree in one set-up."""
    return float(_agreement(measured).sum_horizontal().to_numpy().max())


def never(measured: Measured) -> float:
    """Number of claims that agree in no set-up."""
    return sum(not it.any() for it in _agreement(measured))


def figure(measured: Measured) -> style.Figure:
    """Claims against set-ups: filled where a claim agrees."""
    agrees = _agreement(measured)
    claims = sorted(agrees.columns, key=lambda name: agrees[name].sum())
    drawn = style.Figure(figsize=(5.2, 5.6), layout="constrained")
    axes = drawn.subplots()
    for agreeing, mark, size, colour in ((False, ".", 2, style.GREY), (True, "s", 7, style.BLUE)):
        set_up, claim = np.nonzero(agrees.select(claims).to_numpy() == agreeing)
        axes.plot(set_up + 1, claim, mark, ms=size, color=colour)
    places = {it.id: PLACE.search(it.source) for it in measured.study.claims}
    labels = [f"{name} ({it[1]} {it[2]})" if (it := places[name]) else name for name in claims]
    axes.set_yticks(range(len(claims)), labels, fontsize=7)
    axes.set_xlabel("set-up, from the most claims that agree to the fewest")
    axes.set_xlim(0, agrees.height + 1)
    axes.grid(visible=False)
    return drawn
