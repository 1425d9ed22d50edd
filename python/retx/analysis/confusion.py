"""Causes of losses as the senders inferred them, compared with the true causes."""

from __future__ import annotations

import polars as pl

KINDS = ("fast_retransmit", "rto")
INFERRED = ("congestion", "corruption")
CAUSES = ("congestion", "wireless", "spurious")


def confusion(flows: pl.DataFrame) -> pl.DataFrame:
    """Number of episodes by flow, kind and inferred cause (rows) and by true cause (columns).

    Columns: `flow kind inferred_cause congestion wireless spurious`, with `replication` before them
    where the table has it. A TCP flow has four rows: fast retransmits that its sender attributed to
    congestion, fast retransmits that it attributed to corruption, and the same two rows for
    timeouts.

    Args:
        flows: The `flows` table of a run or of several replications.
    """
    keys = ["replication", "name"] if "replication" in flows.columns else ["name"]
    numbered = flows.filter(pl.col("tcp").is_not_null()).with_row_index("row")
    parts = [
        numbered.select(
            "row",
            *keys,
            pl.lit(kind, dtype=pl.Enum(KINDS)).alias("kind"),
            pl.lit(inferred, dtype=pl.Enum(INFERRED)).alias("inferred_cause"),
            *(pl.col(f"inferred_{kind}_{inferred}_{cause}").alias(cause) for cause in CAUSES),
        )
        for kind in KINDS
        for inferred in INFERRED
    ]
    table = pl.concat(parts).sort("row", maintain_order=True)
    return table.drop("row").rename({"name": "flow"})
