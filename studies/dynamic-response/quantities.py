"""Numbers of each run from its recoveries, whose table is not kept (figure 7)."""

from __future__ import annotations

import retx
from retx.study import RunTables

SAMPLE = range(8, 19)
"""Retransmissions of a timeout's recovery that is like that of figure 7: 13 there."""
FIGURE_7 = 54.70
"""Time of the timeout in figures 7a and 7b, s."""


def quantities(result: RunTables) -> dict[str, float | None]:
    """Windows after losses, and how long it takes to send again."""
    try:
        recoveries = list(result.episodes.iter_rows(named=True))
    except retx.NotRecordedError:
        return {}
    timeouts = [row for row in recoveries if row["kind"] == "rto"]
    kept = [
        row["cwnd_after_bytes"] / row["cwnd_before_bytes"]
        for row in recoveries
        if row["kind"] == "fast_retransmit" and row["cwnd_before_bytes"]
    ]
    alike = [row for row in timeouts if row["retransmitted"] in SAMPLE and row["end_s"]]
    shown = [row["retransmitted"] for row in timeouts if row["start_s"] >= FIGURE_7]
    return {
        "cwnd_after_rto": _mean([row["cwnd_after_bytes"] for row in timeouts]),
        "cwnd_kept_frr": _mean(kept),
        "resent_of_an_rto": _mean([row["retransmitted"] for row in timeouts]),
        "resent_of_one_rto": _mean(shown[:1]),
        "recovery": _mean([row["end_s"] - row["start_s"] for row in alike]),
        "first_rto": _mean([row["rto_s"] for row in timeouts if row["backoff"] == 0]),
    }


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
