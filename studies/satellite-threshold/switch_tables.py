"""Tables of runs with one change each, which explain the claims that differ."""

from __future__ import annotations

from collections.abc import Iterator

from retx.study import Cell, Column, Estimates, Measured, Table

from .runs import BER, COUNT, RATES, THRESHOLD, Runs, power, rate
from .switches import FAR, FIGURE_2, NEAR, SWITCHED, switch_values

CHANGED = {
    "levels": {
        "one": ("level_open_{}_5", "one", "within ±0.1"),
        "two": ("several_level_2_{}_5", "two", "within ±0.1"),
        "three": ("several_level_3_{}_5", "three", "within ±0.1"),
        "rate": ("several_kbit_3_{}_5", "three at 60 ticks, kbit/s", "–"),
    },
    "gains": {
        "two": ("several_2_{}_7", "two, 1e-7", "at least 1.1"),
        "three": ("several_3_{}_7", "three, 1e-7", "at least 1.1"),
        "short_6": ("open_short_{}_6", "50 ms, 1e-6", "at least 1"),
        "short_7": ("open_short_{}_7", "50 ms, 1e-7", "at least 1"),
    },
}
"""Columns by table and name: the value of a case, the heading, and the bound of the claim."""
BERS = RATES[:2]
"""Error rates at which the rule does not regain enough."""
ASKED = {"open_westwood": ("westwood", "at least 1"), "shrink": ("to_one", "1")}
"""Prefix of the values' names, and the paper's claim, by table and experiment."""


def switch_tables(measured: Measured) -> Iterator[Table]:
    """Tables in the order of the report."""
    values = switch_values(measured, {name: Runs(measured, name) for name in SWITCHED})
    yield _levels(measured, values)
    yield _gains(measured, values)
    yield _recovered(measured, values)
    yield _westwood(measured, values)
    yield _shrunk(measured, values)


def _levels(measured: Measured, values: Estimates) -> Table:
    """Figures 3, 5 and 7 beyond 53 ticks."""
    table = Table(
        "levels",
        "Levelling off (figures 3, 5 and 7): one change at a time",
        [Column("case", "changed")],
        note="Change of the throughput from 53 to 60 ticks at 1e-5, divided by the throughput "
        "without the rule, for one, two and three connections. Commands: three connections, "
        "60 ticks.",
    )
    at: dict[str, Cell] = {COUNT: 3, BER: 1e-5, THRESHOLD: FAR}
    return _filled(measured, values, table, at)


def _gains(measured: Measured, values: Estimates) -> Table:
    """Figures 5, 7 and 8, for missing gains."""
    table = Table(
        "gains",
        "Missing gains (figures 5, 7 and 8): one change at a time",
        [Column("case", "changed")],
        note="Throughput divided by that without the rule: two and three connections with 53 "
        "ticks, and one over 50 ms with 4 ticks above the base RTT. Commands: three "
        "connections, 53 ticks.",
    )
    at: dict[str, Cell] = {COUNT: 3, BER: 1e-7, THRESHOLD: NEAR}
    return _filled(measured, values, table, at)


def _filled(measured: Measured, values: Estimates, table: Table, at: dict[str, Cell]) -> Table:
    """Fills a table with the claims and a row for each case, whose command runs at `at`."""
    columns = CHANGED[table.id]
    table.columns.extend(Column(key, label, right=True) for key, (_, label, _) in columns.items())
    asked: dict[str, Cell] = {"case": "the paper"}
    asked |= {key: asks for key, (_, _, asks) in columns.items()}
    table.add(asked, "")
    for case, what in measured.study.experiments["open_several"].cases.items():
        row: dict[str, Cell] = {"case": what.label}
        row |= {key: values[name.format(case)] for key, (name, _, _) in columns.items()}
        table.add(row, measured.command("open_several", case, at=at))
    return table


def _recovered(measured: Measured, values: Estimates) -> Table:
    """Table of the harm that remains with the rule."""
    columns = [Column("case", "changed"), Column("clean", "no errors", "kbit/s")]
    columns += [Column(f"share_{power(ber)}", rate(ber)) for ber in BERS]
    columns += [Column(f"back_{power(ber)}", f"back, {rate(ber)}") for ber in BERS]
    table = Table(
        "recovered",
        "“Unaffected” and “mitigates”: one change at a time",
        columns,
        note="One connection, 4 ticks above the base RTT. First: its throughput without errors. "
        "Then: the share of this throughput that it has with errors and the rule. Then: the "
        "part of the loss that the rule restores. Commands: 1e-5.",
    )
    asked: dict[str, Cell] = {"case": "the paper"}
    asked |= {f"share_{power(ber)}": "at least 0.9" for ber in BERS}
    asked |= {f"back_{power(ber)}": "at least 0.5" for ber in BERS}
    table.add(asked, "")
    for case, what in measured.study.experiments["open"].cases.items():
        row: dict[str, Cell] = {"case": what.label, "clean": values[f"clean_open_{case}"]}
        for ber in BERS:
            row[f"share_{power(ber)}"] = values[f"share_open_{case}_{power(ber)}"]
            row[f"back_{power(ber)}"] = values[f"regained_open_{case}_{power(ber)}"]
        at = {BER: 1e-5, THRESHOLD: FIGURE_2}
        table.add(row, measured.command("open", case, at=at))
    return table


def _westwood(measured: Measured, values: Estimates) -> Table:
    """§2, any version of TCP."""
    table = Table(
        "open_westwood",
        "Westwood: one change at a time",
        _columns(),
        note="Throughput with the rule, 4 ticks above the base RTT, divided by that without. "
        "Commands: 1e-7.",
    )
    at: dict[str, Cell] = {BER: 1e-7, "tcp.westwood.loss_cause.threshold": FIGURE_2}
    return _by_rate(measured, values, table, at)


def _shrunk(measured: Measured, values: Estimates) -> Table:
    """§1.B."""
    table = Table(
        "shrink",
        "Recoveries that shrink the window to one segment",
        _columns(),
        note="Share of all recoveries of a sender without the rule. Commands: 1e-6.",
    )
    return _by_rate(measured, values, table, {BER: 1e-6})


def _columns() -> list[Column]:
    return [Column("case", "changed"), *(Column(f"at_{power(ber)}", rate(ber)) for ber in RATES)]


def _by_rate(measured: Measured, values: Estimates, table: Table, at: dict[str, Cell]) -> Table:
    """A row for each case with a value for each error rate; its command runs at `at`."""
    prefix, asks = ASKED[table.id]
    first: dict[str, Cell] = {"case": "the paper"}
    first |= {f"at_{power(ber)}": asks for ber in RATES}
    table.add(first, "")
    for case, what in measured.study.experiments[table.id].cases.items():
        row: dict[str, Cell] = {"case": what.label}
        row |= {f"at_{power(ber)}": values[f"{prefix}_{case}_{power(ber)}"] for ber in RATES}
        table.add(row, measured.command(table.id, case, at=at))
    return table
