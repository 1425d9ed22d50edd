"""Tables of packets: CSV with a header, with the columns `time_s`, `lost`, `delay_s`, `bytes`.

`time_s` is required, and so is `lost` or `delay_s`. `lost` is 0, 1 or a probability; it is empty if
unknown. Names of other tools are accepted: `time`, `loss`, `delay`, `rtt_s`, `rtt_ms`, `delay_ms`,
`size`. If the table contains RTTs instead of delays, losses may have occurred in either direction.
Tables of the channel `trace`, with `rate_bit_s`, are also accepted.
"""

from __future__ import annotations

import csv
import io

import numpy as np

from retx.fitting.series import Numbers, Packets, Rates, Series

NAMES = {
    "time_s": ("time_s", "time", "timestamp", "t"),
    "lost": ("lost", "loss", "lost_probability"),
    "delay_s": ("delay_s", "delay", "owd_s", "latency_s"),
    "delay_ms": ("delay_ms", "latency_ms", "owd_ms"),
    "rtt_s": ("rtt_s", "rtt"),
    "rtt_ms": ("rtt_ms",),
    "bytes": ("bytes", "size", "size_bytes", "length"),
    "rate_bit_s": ("rate_bit_s",),
}
DELAYS = {"delay_s", "delay_ms", "rtt_s", "rtt_ms"}
BYTES = 1500.0
WORDS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "lost": 1.0, "received": 0.0}
UNKNOWN = (
    "the bottleneck's rate and queue, unless the table has rates",
    "how the path behaves under another load than that of the trace",
)


def read(text: str, name: str) -> Series:
    """Reads a table.

    Raises:
        ValueError: A column is missing, an entry is not a number, or a delay is negative; the
            message names the line.
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=_delimiter(lines)))
    if len(rows) < 3:
        raise ValueError("fewer than two rows: a header, and a row for each packet")
    columns = _columns(rows[0])
    if "time_s" not in columns:
        raise ValueError(f"no column time_s: the header has {', '.join(rows[0])}")
    table = {key: _numbers(rows, place, key) for key, place in columns.items()}
    order = np.argsort(table["time_s"], kind="stable")
    findings = []
    if np.any(np.diff(order) < 0):
        findings.append("the rows were not in order of time: sorted")
    table = {key: values[order] for key, values in table.items()}
    table["time_s"] = table["time_s"] - table["time_s"][0]
    return _series(table, name, findings)


def _delimiter(lines: list[str]) -> str:
    head = lines[0] if lines else ""
    return max(",;\t", key=head.count)


def _columns(header: list[str]) -> dict[str, int]:
    found = {}
    for place, word in enumerate(header):
        for key, names in NAMES.items():
            if word.strip().lower() in names and key not in found:
                found[key] = place
    return found


def _numbers(rows: list[list[str]], place: int, key: str) -> Numbers:
    values = np.full(len(rows) - 1, np.nan)
    for index, row in enumerate(rows[1:]):
        word = row[place].strip() if place < len(row) else ""
        if word in {"", "-"} or word.lower() in {"nan", "null", "none"}:
            continue
        try:
            said = WORDS.get(word.lower())
            values[index] = float(word) if said is None else said
        except ValueError:
            raise ValueError(f"row {index + 1}, column {key}: “{word}” is no number") from None
    if key == "time_s" and np.isnan(values).any():
        first = int(np.flatnonzero(np.isnan(values))[0]) + 1
        raise ValueError(f"row {first} has no time")
    if key in DELAYS and (values < 0).any():
        first = int(np.flatnonzero(values < 0)[0])
        raise ValueError(
            f"row {first + 1}, column {key}: {values[first]:g} is negative, and no packet arrives "
            f"before it was sent ({np.count_nonzero(values < 0)} rows are so): if the clocks of "
            "both ends differ, add their difference, or take rtt_s"
        )
    return values


def _series(table: dict[str, Numbers], name: str, findings: list[str]) -> Series:
    count = len(table["time_s"])
    nothing = np.full(count, np.nan)
    is_round_trip = "rtt_s" in table or "rtt_ms" in table
    delays = nothing
    for key, scale in (("rtt_ms", 1e-3), ("rtt_s", 1.0), ("delay_ms", 1e-3), ("delay_s", 1.0)):
        if key in table:
            delays = table[key] * scale
    if "lost" in table:
        lost = table["lost"]
        wrong = np.flatnonzero((lost < 0) | (lost > 1))
        if len(wrong):
            raise ValueError(f"row {wrong[0] + 1}: lost is {lost[wrong[0]]:g}, outside 0 … 1")
    elif not np.isnan(delays).all():
        lost = np.isnan(delays).astype(float)
        findings.append("no column lost: a packet without a delay counts as lost")
    else:
        lost = nothing
    rates = None
    if "rate_bit_s" in table:
        rates = Rates(table["time_s"], table["rate_bit_s"])
    elif np.isnan(lost).all():
        raise ValueError("no column lost, delay_s or rate_bit_s: there is nothing to fit")
    sizes = table.get("bytes", np.full(count, BYTES))
    packets = Packets(table["time_s"], np.where(np.isnan(sizes), BYTES, sizes), lost, delays)
    return Series(
        "trace", name, is_round_trip, packets, rates=rates, findings=tuple(findings),
        unknown=UNKNOWN,
    )  # fmt: skip
