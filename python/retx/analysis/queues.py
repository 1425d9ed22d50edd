"""Length of queues over time."""

from __future__ import annotations

import polars as pl


def queue_length(
    link_samples: pl.DataFrame, place: str, span: tuple[float, float] | None = None
) -> pl.DataFrame:
    """Samples of one queue within a span, with a row at each end of the span.

    Each sample holds until the next.

    Args:
        link_samples: The `link_samples` table.
        place: Name of the queue, such as `cloud.forward`.
        span: Start and end, in seconds of the run; the whole table by default.
    """
    time = pl.col("time_s")
    rows = link_samples.filter(pl.col("place").cast(pl.String) == place)
    if span is not None:
        before = rows.filter(time < span[0]).tail(1).with_columns(time_s=pl.lit(float(span[0])))
        rows = pl.concat([before, rows.filter(time.is_between(*span))])
    end = link_samples.select(time.max() if span is None else time.max().clip(upper_bound=span[1]))
    last = rows.tail(1).filter(time < end.item()).with_columns(time_s=pl.lit(float(end.item())))
    return pl.concat([rows, last])
