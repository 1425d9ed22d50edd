"""Tables of a flow in a capture, with the columns of a run's tables, and their plots.

A capture shows neither the congestion window nor the slow start threshold, so these two columns are
empty. Times at a host are estimated as the time at the capture point, plus or minus half of the
smallest round-trip time between that point and the host.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from retx import _native
from retx.diagnosing.wording import phrases, resent
from retx.results.result import NotRecordedError

if TYPE_CHECKING:
    from retx.plots.chooser import Plot

PLOTS = ("cwnd", "sequence", "rtt", "ladder", "episodes", "goodput", "why")
"""Plots that a capture allows."""
OF_ALL = ("flows", "episodes", "retransmissions", "timeouts", "stalls", "patterns")
"""Tables of all flows."""
OF_ONE = ("samples", "segments", "acks")
"""Names of the tables of one flow that contain every packet."""
SAMPLES = {
    "flow": pl.String, "time_s": pl.Float64, "cwnd_bytes": pl.Int64, "ssthresh_bytes": pl.Int64,
    "flight_size_bytes": pl.Int64, "rwnd_bytes": pl.Int64, "srtt_s": pl.Float64,
    "rttvar_s": pl.Float64, "rto_s": pl.Float64, "backoff": pl.Int64, "state": pl.String,
    "ack_bytes": pl.Int64,
}  # fmt: skip
SEGMENTS = {
    "flow": pl.String, "sent_s": pl.Float64, "seq": pl.Int64, "length_bytes": pl.Int64,
    "packet_number": pl.Int64, "retransmission": pl.Boolean, "cause": pl.String, "fate": pl.String,
    "arrived_s": pl.Float64, "acked_s": pl.Float64,
}  # fmt: skip
ACKS = {
    "flow": pl.String, "sent_s": pl.Float64, "ack": pl.Int64, "window_bytes": pl.Int64,
    "fate": pl.String, "arrived_s": pl.Float64,
}  # fmt: skip
CAUSES = ("congestion", "wireless", "spurious", "unknown")
LIMITS = (
    "handshake", "application", "send_buffer", "receive_window", "bottleneck", "slow_start",
    *(f"{it}_{cause}" for it in ("window", "recovery", "timeout") for cause in CAUSES),
    "pacing", "nagle", "delayed_ack", "unknown",
)  # fmt: skip
FLOWS = {
    "number": pl.Int64, "name": pl.String, "place": pl.String, "sender_loop_s": pl.Float64,
    "receiver_loop_s": pl.Float64, "life_s": pl.Float64, "packets": pl.Int64, "bytes": pl.Int64,
    "acknowledged_bytes": pl.Int64, "goodput_bit_s": pl.Float64, "timer": pl.String,
    "certainty": pl.Float64,
    "capture_duplicates": pl.Int64, "not_captured_bytes": pl.Int64, "reordered": pl.Int64,
    **{f"limited_{it}_s": pl.Float64 for it in LIMITS},
    **{f"{it}_count": pl.Int64 for it in ("retransmissions", "timeouts", "episodes", "stalls")},
}  # fmt: skip
EPISODES = {
    "flow": pl.String, "kind": pl.String, "start_s": pl.Float64, "end_s": pl.Float64,
    "cause": pl.String, "congestion_probability": pl.Float64, "evidence": pl.String,
    "confidence": pl.Float64, "retransmitted": pl.Int64, "unnecessary": pl.Int64,
    "trigger_packet": pl.Int64,
}  # fmt: skip
RETRANSMISSIONS = {
    "flow": pl.String, "packet": pl.Int64, "time_s": pl.Float64, "seq": pl.Int64,
    "length_bytes": pl.Int64, "from": pl.String, "kind": pl.String, "number": pl.Int64,
    "needless": pl.String, "confidence": pl.Float64, "arrived": pl.Boolean, "original": pl.Int64,
    "evidence": pl.String, "evidence_packet": pl.Int64,
}  # fmt: skip
TIMEOUTS = {
    "flow": pl.String, "packet": pl.Int64, "time_s": pl.Float64, "number": pl.Int64,
    "waited_s": pl.Float64, "rto_s": pl.Float64,
}  # fmt: skip
STALLS = {
    "flow": pl.String, "start_s": pl.Float64, "duration_s": pl.Float64, "cause": pl.String,
    "packet": pl.Int64,
}  # fmt: skip
PATTERNS = {
    "flow": pl.String, "name": pl.String, "evidence": pl.String, "packets": pl.List(pl.Int64),
    "confidence": pl.Float64,
}  # fmt: skip
SCHEMAS: dict[str, Mapping[str, Any]] = {
    "flows": FLOWS, "episodes": EPISODES, "retransmissions": RETRANSMISSIONS,
    "timeouts": TIMEOUTS, "stalls": STALLS, "patterns": PATTERNS,
    "samples": SAMPLES, "segments": SEGMENTS, "acks": ACKS,
}  # fmt: skip
NO_QUEUE = "a capture does not show queues, nor the rates of other flows"


class FlowTables:
    """Tables and plots of one flow of a capture.

    Args:
        file: The capture.
        flow: The flow as diagnosed.
    """

    def __init__(self, file: Path, flow: Mapping[str, Any]) -> None:
        self._file = file
        self._flow = flow

    @cached_property
    def _packets(self) -> dict[str, dict[str, list[Any]]]:
        found = json.loads(_native.flow_tables(self._file, self._flow["number"]))
        return found or {name: {} for name in OF_ONE}

    def _table(self, name: str) -> pl.DataFrame:
        columns, schema = self._packets[name], SCHEMAS[name]
        height = len(next(iter(columns.values()), []))
        given = columns | {"flow": [self._flow["name"]] * height}
        return pl.DataFrame(
            {column: given.get(column, [None] * height) for column in schema}, schema=schema
        )

    @cached_property
    def samples(self) -> pl.DataFrame:
        """State of the sender after each acknowledgment: flight size, windows, RTT and RTO."""
        return self._table("samples")

    @cached_property
    def segments(self) -> pl.DataFrame:
        """One row per transmission of data; `packet_number` counts frames, `fate` is inferred."""
        return self._table("segments")

    @cached_property
    def acks(self) -> pl.DataFrame:
        """One row per acknowledgment in the capture."""
        return self._table("acks")

    @cached_property
    def episodes(self) -> pl.DataFrame:
        """One row per episode of loss recovery."""
        return table_of_all([self._flow], "episodes")

    @property
    def link_samples(self) -> pl.DataFrame:
        """Table of queues, which a capture does not show.

        Raises:
            NotRecordedError: Always.
        """
        raise NotRecordedError(NO_QUEUE)

    def confusion(self) -> pl.DataFrame:
        """Table of the causes that a sender inferred, which a capture does not show.

        Raises:
            NotRecordedError: Always.
        """
        raise NotRecordedError("a capture does not show the cause that the sender infers")

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """All tables, by name."""
        return {name: getattr(self, name) for name in (*OF_ONE, "episodes")}

    @property
    def summary(self) -> dict[str, Any]:
        """Summary like that of a run, with this flow only, and the phrases for its limits."""
        return {"flows": [{**self._flow, "phrases": phrases(self._flow)}]}

    @property
    def plot(self) -> Plot:
        """Plots like those of a run, such as `plot.sequence()`."""
        from retx.plots.chooser import Plot

        return Plot(self)


def table_of_all(flows: list[Mapping[str, Any]], name: str) -> pl.DataFrame:
    """Table of all flows: `flows`, or one that joins their lists, such as `retransmissions`."""
    if name == "flows":
        return pl.DataFrame([_row(flow) for flow in flows], schema=SCHEMAS[name])
    rows = [{"flow": flow["name"]} | _renamed(it, name) for flow in flows for it in flow[name]]
    return pl.DataFrame(rows, schema=SCHEMAS[name])


def _renamed(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Row with the column names of a run's table, without nested values."""
    row = dict(row)
    if name == "episodes":
        row["trigger_packet"] = row.pop("trigger")
        row["evidence"] = "; ".join(row["evidence"])
    if proof := row.pop("proof", None):
        row |= {"evidence": proof["evidence"], "evidence_packet": proof.get("packet")}
    return row


def _row(flow: Mapping[str, Any]) -> dict[str, Any]:
    """Flow as a row: numbers and names, and `limited_…_s` as in a run's table."""
    row = {key: value for key, value in flow.items() if not isinstance(value, (list, dict))}
    for key, value in flow["limited_by"].items():
        if isinstance(value, dict):
            row |= {f"limited_{key}_{cause}_s": part for cause, part in value.items()}
        else:
            row[f"limited_{key}_s"] = value
    row["retransmissions_count"] = len(resent(flow))
    return row | {f"{name}_count": len(flow[name]) for name in ("timeouts", "episodes", "stalls")}
