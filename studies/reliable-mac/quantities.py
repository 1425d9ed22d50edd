"""Goodput of the parts of a run by the temporal chart, at each of its loss rates."""

from __future__ import annotations

import polars as pl

import retx
from retx.study import RunTables

CHART_S = 1000
"""Time for which a loss rate holds."""


def quantities(run: RunTables) -> dict[str, float | None]:
    """`at_P`: mean goodput in kbit/s over all shares of delayed packets, at a loss of P ‰."""
    try:
        samples = run.samples
    except retx.NotRecordedError:
        return {}
    acked = samples.sort("time_s").select("time_s", "ack_bytes")
    # The last loss rate holds for 800 s only: its shares are not all there.
    ends = acked.filter(pl.col("time_s") % CHART_S == 0)["ack_bytes"].to_list()
    found = dict[str, float | None]()
    before = 0
    for number, end in enumerate(ends[1:] if acked["time_s"][0] == 0 else ends):
        found[f"at_{10 * number}"] = 8 * (end - before) / CHART_S / 1e3
        before = end
    return found
