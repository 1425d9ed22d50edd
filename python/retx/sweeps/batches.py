"""What runs bring, from native columns to data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from retx._native import _Column as Column

Batch = Mapping[str, Mapping[str, "Column"]]
"""Tables by name, each with columns by name; `point` and `replication` say whose a row is."""


def runs_of(batch: Batch) -> list[tuple[int, int, int]]:
    """Point, replication and events of each run."""
    runs = batch.get("runs")
    if not runs:
        return []
    numbers: Any = [runs[name] for name in ("point", "replication", "events")]
    return list(zip(*(column.tolist() for column in numbers), strict=True))


def frames_of(batches: Sequence[Batch], keys: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Tables of some batches together, sorted by the order of `keys`; these come first.

    Args:
        batches: What has been found.
        keys: The name of each point.
    """
    import polars as pl

    from retx.frames import frame

    named = pl.Series("key", keys, dtype=pl.String)
    tables = {}
    for name in dict.fromkeys(name for batch in batches for name in batch):
        parts = [batch[name] for batch in batches if name in batch]
        # Joined before they become series: there are hundreds of columns, and each series costs.
        whole = frame({column: _joined([part[column] for part in parts]) for column in parts[0]})
        whole = whole.with_columns(pl.col(pl.Enum).cast(pl.String))
        whole = whole.sort("point", "replication", maintain_order=True)
        key = named.gather(whole["point"].cast(pl.UInt32))
        tables[name] = whole.select(
            key, pl.col("replication").cast(pl.UInt32), pl.exclude("point", "replication")
        )
    return tables


def _joined(columns: Sequence[Any]) -> Any:  # noqa: ANN401
    """One native column of several; codes of names differ from batch to batch."""
    import numpy as np

    from retx.frames import NO_NAME

    if len(columns) == 1:
        return columns[0]
    if not isinstance(columns[0], tuple):
        return np.concatenate(columns)
    known: dict[str, int] = {}
    parts = []
    for codes, names in columns:
        # The last stands for no name, whose code is beyond all others.
        common = [*(known.setdefault(name, len(known)) for name in names), NO_NAME]
        parts.append(np.array(common, dtype=np.uint32)[np.minimum(codes, len(names))])
    return np.concatenate(parts), list(known)
