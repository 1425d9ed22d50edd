"""Delay spikes with one change: support for the claims on Reno, Veno and Vegas."""

from __future__ import annotations

import polars as pl

from retx.study import Estimate, Measured, estimate

from .ranking import logs_by_cell, ratio

HELD = "held"
TCP, DELAY = "tcp.sender.like", "link.air.delay"
PAIRS = {"reno": ("reno", "veno"), "vegas": ("vegas", "reno")}
"""Presets by claim: the goodput of the first is divided by that of the second."""


def held_values(measured: Measured) -> dict[str, Estimate | None]:
    """Geometric means over all round trips, run by run, and the largest over all changes."""
    found: dict[str, Estimate | None] = {}
    flows = _flows(measured)
    cases = measured.study.experiments[HELD].cases
    for case in cases:
        own = flows.filter(pl.col("change") == case)
        logs = logs_by_cell(own, ())[()]
        for claim, (one, other) in PAIRS.items():
            found[f"held_{case}_{claim}"] = ratio(logs, one, other)
        each = own.filter(pl.col("case") == "reno").group_by("replication", maintain_order=True)
        timeouts = each.agg(pl.col("rto_count").mean())["rto_count"].to_list()
        found[f"held_{case}_reno_rto"] = estimate(timeouts, least=0.0)
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
