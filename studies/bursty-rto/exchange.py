"""The exchange of table II: its situations, values and rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

import retx
from retx.study import Cell, Measured, Noted, Verdict

KEEP = "table_2/keep"
"""The place of the exchange."""
SMSS = 1448
BEFORE = 48 * SMSS
"""Bytes of silence.toml before the first segment of the table."""
FIGURES = ("srtt", "mdev", "cwnd", "ssthresh", "backoff", "out")
EVENTS = {
    "1": "eight segments sent",
    **{str(number): "segment 1 retransmitted" for number in range(2, 6)},
    "6": "ACK 4",
    "7": "ACK 6",
    "8": "ACK 8",
}


def situations(result: retx.Result) -> dict[str, Mapping[str, float]]:
    """State of the sender in each of the eight situations."""
    acks = result.samples.filter(pl.col("ack_bytes") >= BEFORE)
    # The first sample at each acknowledged position shows the effect of the ACK.
    rows = acks.group_by("ack_bytes", maintain_order=True).first()
    start, *later = [_row(row) for row in rows.head(4).iter_rows(named=True)]
    timeouts = result.episodes.filter(kind="rto").head(4)
    found: dict[str, Mapping[str, float]] = {"1": start}
    for number, timeout in enumerate(timeouts.iter_rows(named=True), 2):
        found[str(number)] = start | {
            "cwnd": timeout["cwnd_after_bytes"] // SMSS,
            "ssthresh": later[0]["ssthresh"],
            "backoff": timeout["backoff"] + 1,
        }
    return found | {str(number): row for number, row in enumerate(later, 6)}


def _row(sample: Mapping[str, float]) -> dict[str, float]:
    return {
        "srtt": int(sample["srtt_s"] * 1e3 + 1e-6),
        "mdev": int(sample["rttvar_s"] * 1e3 + 1e-6),
        "cwnd": sample["cwnd_bytes"] // SMSS,
        "ssthresh": sample["ssthresh_bytes"] // SMSS,
        "backoff": sample["backoff"],
        "out": 8 - (sample["ack_bytes"] - BEFORE) // SMSS,
    }


def wrong(measured: Measured) -> float:
    """Number of values that differ from the paper's."""
    found, series = situations(measured.at(KEEP).run()), measured.study.published.series
    return sum(
        found[situation][name] != value
        for name in FIGURES
        for situation, value in series[f"table_2_{name}"].values.items()
    )


def new_segments(measured: Measured) -> float:
    """Number of new segments during the timeouts."""
    keep = measured.at(KEEP).run()
    ends = keep.episodes.filter(kind="rto").head(5)
    between = pl.col("sent_s").is_between(ends["start_s"].min(), ends["end_s"].max(), closed="none")
    return keep.segments.filter(between & ~pl.col("retransmission")).height


def rows(measured: Measured) -> Iterator[tuple[dict[str, Cell], str]]:
    """Table II, with the paper's number below each of ours."""
    found = situations(measured.at(KEEP).run())
    series = measured.study.published.series
    for situation, event in EVENTS.items():
        row: dict[str, Cell] = {"situation": situation, "event": event}
        differs = False
        for name in FIGURES:
            published = series[f"table_2_{name}"].values.get(situation)
            ours = found[situation][name]
            differs |= published is not None and published != ours
            said = "?" if published is None else f"{published:g}"
            row[name] = Noted(f"{ours:g}", f"paper {said}")
        row["verdict"] = Verdict.DIFFERS if differs else Verdict.AGREES
        yield row, measured.at(KEEP).command()
