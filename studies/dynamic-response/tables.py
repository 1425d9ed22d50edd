"""Tables of the study that tables.toml does not describe."""

from __future__ import annotations

from collections.abc import Iterator

from retx.study import Cell, Column, Measured, Table

from . import front, searched
from .values import COUNT, FLOWS


def tables(measured: Measured) -> Iterator[Table]:
    """Tables in no order: the text places them."""
    yield _mixes(measured)
    yield searched.table(measured)
    yield front.table(measured)


def _mixes(measured: Measured) -> Table:
    """Causes of Reno's recoveries, with the flows and faults of each mix."""
    columns = [
        Column("mix", "mix"),
        Column("flows", "flows"),
        Column("faults", "faults"),
        Column("lost_percent", "lost", "%"),
        Column("lost_wireless", "share of it by faults"),
        Column("rto_each", "RTOs of a flow"),
        Column("rto_congestion", "by congestion"),
        Column("frr_each", "fast retransmits of a flow"),
        Column("frr_congestion", "by congestion"),
        Column("irrelevant", "not by congestion"),
        Column("unnecessary_share", "unnecessary"),
    ]
    note = (
        "The numbers of flows and faults were chosen so that Reno's losses have the mixes of the "
        "text."
    )
    table = Table("mixes", "Mixes of causes, with Reno (figure 5)", columns, note=note)
    at = {"flow.ftp.tcp": "reno"}
    for name, case in measured.study.experiments["mixes"].cases.items():
        row: dict[str, Cell] = {
            "mix": case.label, "flows": case.set[FLOWS], "faults": case.set[COUNT],
        }  # fmt: skip
        for column in columns[3:]:
            row[column.key] = measured.estimate("mixes", name, column.key, at=at)
        table.add(row, measured.command("mixes", name, at=at))
    return table
