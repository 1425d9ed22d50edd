"""Delay spikes with one change: support for the claims on Reno, Veno and Vegas."""

from __future__ import annotations

import polars as pl

from retx.study import Cell, Column, Estimate, Measured, Table, estimate

from .ranking import logs_by_cell, ratio

HELD = "held"
TCP, DELAY = "tcp.sender.like", "link.air.delay"
PAIRS = {"reno": ("reno", "veno"), "vegas": ("vegas", "reno")}
"""Presets by claim: the goodput of the first is divided by that of the second."""

Named = dict[str, Estimate | float | None]


def held_values(measured: Measured) -> Named:
    """Geometric means over all round trips, run by run, and the largest over all changes."""
    found: Named = {}
    flows = _flows(measured)
    cases = measured.study.experiments[HELD].cases
    for case in cases:
        own = flows.filter(pl.col("change") == case)
        logs = logs_by_cell(own, ())[()]
        for claim, (one, other) in PAIRS.items():
            found[f"held_{case}_{claim}"] = ratio(logs, one, other)
        for tcp in ("reno", "veno", "vegas"):
            each = own.filter(pl.col("case") == tcp).group_by("replication", maintain_order=True)
            timeouts = each.agg(pl.col("rto_count").mean())["rto_count"].to_list()
            found[f"held_{case}_{tcp}_rto"] = estimate(timeouts, least=0.0)
    gains = [found[f"held_{case}_reno"] for case in cases]
    known = [gain for gain in gains if isinstance(gain, Estimate)]
    found["held_most_reno"] = max(known, key=lambda gain: gain.mean)
    return found


def _flows(measured: Measured) -> pl.DataFrame:
    """One row per download; `change` is the case, and `case` the sender, as in the logs."""
    flows = measured.table(HELD, "flows").filter(pl.col("name").cast(pl.String) == "download")
    return flows.select(
        "replication",
        "goodput_bit_s",
        "rto_count",
        change=pl.col("case").cast(pl.String),
        case=pl.col(TCP).cast(pl.String),
    )


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
