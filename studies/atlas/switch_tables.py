"""Table of the delay spikes with one change."""

from __future__ import annotations

from retx.study import Cell, Column, Measured, Table

from .switches import DELAY, HELD, PAIRS, TCP, held_values


def held_table(measured: Measured) -> Table:
    """Table of the changes that explain the claims on delay spikes."""
    values = held_values(measured)
    columns = [
        Column("case", "changed"),
        Column("reno", "Reno over Veno", "times"),
        Column("vegas", "Vegas over Reno", "times"),
        Column("rto", "timeouts per run of Reno"),
    ]
    table = Table(
        HELD,
        "Delay spikes: one change at a time",
        columns,
        note="Losses of 0.001 %, no cross traffic; geometric means over round trips of 10, 50, 200 "
        "and 600 ms, and timeouts of a run. Commands: Vegas at 50 ms.",
    )
    first: dict[str, Cell] = {"case": "the paper", "reno": "at least 1.05"}
    table.add(first | {"vegas": "at most 0.95"}, "")
    for case, what in measured.study.experiments[HELD].cases.items():
        row: dict[str, Cell] = {"case": what.label, "rto": values[f"held_{case}_reno_rto"]}
        row |= {claim: values[f"held_{case}_{claim}"] for claim in PAIRS}
        at = {TCP: "vegas", DELAY: "25 ms", "link.air.queue.packets": 20}
        table.add(row, measured.command(HELD, case, at=at))
    return table
