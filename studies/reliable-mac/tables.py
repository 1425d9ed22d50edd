"""Rows of tables that mark numbers, or join two experiments."""

from __future__ import annotations

from collections.abc import Iterator

from retx.study import Cell, Estimate, Measured
from retx.study.items import in_name

TOLERANCES = {
    "reno_10": ("delay_reno", 0.5),
    "reno_30": ("delay_reno_30", 0.1),
    "veno_10": ("delay_veno", 0.1),
    "vegas_20_fall": ("delay_vegas_drop", 5.0),
}
"""For each end of a value's name: published number, and permitted distance from it."""


def front(measured: Measured) -> Iterator[tuple[dict[str, Cell], str]]:
    """Published numbers on delays, then the readings, which are marked where they reach them."""
    numbers, lists = measured.study.published.numbers, measured.study.declared.lists
    published = {key: numbers[name].value for key, (name, _) in TOLERANCES.items()}
    head: dict[str, Cell] = {"case": "published"}
    yield head | {key: f"{value:g}" for key, value in published.items()}, ""
    for reading in lists.items("readings"):
        row: dict[str, Cell] = {"case": reading.label}
        for key, (_, tolerance) in TOLERANCES.items():
            value = measured.value(f"read_{reading.key}_{key}")
            assert isinstance(value, Estimate)
            held = abs(value.mean - published[key]) <= tolerance
            row[key] = f"{'✓ ' if held else ''}{value.mean:.3g}"
        shares = "forward.channel.0.share=0.1, reverse.channel.0.share=0.1"
        yield row, measured.at(f"readings/reno @ {shares}, {reading.value}").command()


def switches(measured: Measured) -> Iterator[tuple[dict[str, Cell], str]]:
    """Single changes under random loss; loss of ACKs is an experiment of its own."""
    lists = measured.study.declared.lists
    places = {
        what.label: f"switches/{case} @ like={{tcp}}, p={{p}}"
        for case, what in measured.study.experiments["switches"].cases.items()
    }
    acks = "both_ways/{tcp} @ forward.channel.0.p={p}, reverse.channel.0.p={p}"
    places["ACKs are lost, too"] = acks
    for label, place in places.items():
        row: dict[str, Cell] = {"case": label}
        for scope in lists.scopes({"tcp": "tcps", "p": "switched_losses"}):
            there = measured.at(place.format(tcp=scope["tcp"].key, p=scope["p"].key))
            row[in_name("{tcp}_{p}", scope)] = there.estimate("mbit")
        yield row, measured.at(place.format(tcp="reno", p=0.01)).command()
