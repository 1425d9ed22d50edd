"""Tables that mark numbers, or join two experiments."""

from __future__ import annotations

from collections.abc import Iterator

from retx.study import Cell, Column, Estimate, Measured, Table
from retx.study.measures import point


def tables(measured: Measured) -> Iterator[Table]:
    """Tables in no order: the text places them."""
    yield _front(measured)
    yield _switches(measured)


def _command(measured: Measured, place: str) -> str:
    at = point(measured, place)
    return measured.command(at.experiment, at.case, at=at.at)


PUBLISHED = {
    "reno_10": ("Reno, 10 %", "delay_reno", 0.5),
    "reno_30": ("Reno, 30 %", "delay_reno_30", 0.1),
    "veno_10": ("Veno, 10 %", "delay_veno", 0.1),
    "vegas_20_fall": ("fall of Vegas at 20 %", "delay_vegas_drop", 5.0),
}
"""For each end of a value's name: label, published number, and permitted distance from it."""


def _front(measured: Measured) -> Table:
    """Published numbers on delays, with the readings that reach them."""
    numbers = measured.study.published.numbers
    declared = measured.study.declared
    columns = [Column("case", "what is delayed")]
    published: dict[str, Cell] = {"case": "published"}
    for key, (label, name, _) in PUBLISHED.items():
        columns.append(Column(key, label, numbers[name].unit, right=True))
        published[key] = f"{numbers[name].value:g}"
    table = Table(
        "front",
        "Published numbers on delays of 2 s, and readings that reproduce them",
        columns,
        note="✓: our mean is within the claim's tolerance. No reading reproduces all numbers: "
        "with a mean of 50 ms Reno's two numbers agree, but Vegas's fall does not.",
    )
    table.add(published, "")
    for reading in declared.lists.items("readings"):
        row: dict[str, Cell] = {"case": reading.label}
        found = declared.computed(measured, [f"read_{reading.key}_{key}" for key in PUBLISHED])
        for key, (_, name, tolerance) in PUBLISHED.items():
            value = found[f"read_{reading.key}_{key}"]
            assert isinstance(value, Estimate)
            held = abs(value.mean - numbers[name].value) <= tolerance
            row[key] = f"{'✓ ' if held else ''}{value.mean:.3g}"
        shares = "forward.channel.0.share=0.1, reverse.channel.0.share=0.1"
        table.add(row, _command(measured, f"readings/reno @ {shares}, {reading.value}"))
    return table


def _switches(measured: Measured) -> Table:
    """Single changes under random loss; loss of ACKs is an experiment of its own."""
    tcps = measured.study.declared.lists.items("tcps")
    places = {
        what.label: f"switches/{case} @ like={{tcp}}, p={{p}}"
        for case, what in measured.study.experiments["switches"].cases.items()
    }
    acks = "both_ways/{tcp} @ forward.channel.0.p={p}, reverse.channel.0.p={p}"
    places["ACKs are lost, too"] = acks
    columns = {
        (tcp.key, p): Column(f"{tcp.key}_{p}", f"{tcp.label}, {100 * p:g} %", "Mbit/s")
        for tcp in tcps
        for p in (0.01, 0.03, 0.06)
    }
    table = Table(
        "switches",
        "Random loss, one setting changed at a time",
        [Column("case", "change"), *columns.values()],
        note="The commands run Reno at 1 %.",
    )
    for label, place in places.items():
        row: dict[str, Cell] = {"case": label}
        for (tcp, p), column in columns.items():
            at = point(measured, place.format(tcp=tcp, p=p))
            row[column.key] = measured.estimate(at.experiment, at.case, "mbit", at=at.at)
        table.add(row, _command(measured, place.format(tcp="reno", p=0.01)))
    return table
