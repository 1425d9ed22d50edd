"""Tables of the study that tables.toml does not describe."""

from __future__ import annotations

from collections.abc import Iterator

from retx.study import Cell, Column, Measured, Table

from . import front
from .runs import RATES, Runs, level, rate, ratio

NONE, NEAR, FAR = "0 ms", "20 ms", "90 ms"
"""Thresholds above the base RTT: no rule, and the paper's 53 and 60 ticks."""
HARMLESS = 0.95
"""Share of the throughput without the rule below which the rule does harm."""
LOADS = (1, 3, 10)
QUEUES = (5, 10, 20, 50, 100)
HARM_TICKS = (51, 52, 53, 55, 59, 67, 83, 115)


def tables(measured: Measured) -> Iterator[Table]:
    """Tables in no order: the text places them."""
    yield front.table(measured)
    yield _open(measured)
    yield _onset(measured)


def _open(measured: Measured) -> Table:
    """Table of the choices that the text leaves open, and of the trends that then hold."""
    runs = Runs(measured, "open")
    columns = [
        Column("case", "case"),
        *(Column(f"gain_{rate(ber)[3:]}", rate(ber), "times") for ber in RATES),
        Column("significant", "by a tenth"),
        Column("levels", "levels off"),
        Column("order", "order"),
    ]
    table = Table(
        "open",
        "What the text leaves open, one setting changed at a time",
        columns,
        note="Gain at 2 ticks above the base RTT (the paper's 53) for one connection, and the "
        "paper's trends that hold: a gain of a tenth at each error rate; from 2 to 9 ticks, "
        "a change of at most a tenth; the larger the error rate, the larger the (mean) gain."
        " Commands: 1e-6.",
    )
    for case, what in measured.study.experiments["open"].cases.items():
        row: dict[str, Cell] = {"case": what.label}
        gains = []
        most = 0.0
        for ber in RATES:
            none, near, far = (runs.throughput(case, ber, t) for t in (NONE, NEAR, FAR))
            found = ratio(near, none)
            assert found is not None
            row[f"gain_{rate(ber)[3:]}"] = found
            gains.append(found.mean)
            beyond = level(far, near, none)
            assert beyond is not None
            most = max(most, max(0.0, beyond.bounds.low), max(0.0, -beyond.bounds.high))
        row["significant"] = _held(min(gains) >= 1.1)
        row["levels"] = _held(most <= 0.1)
        row["order"] = _held(gains == sorted(gains, reverse=True))
        table.add(row, runs.command(case, 1e-6, "20 ms"))
    return table


def _held(holds: bool) -> str:
    return "yes" if holds else "no"


def _onset(measured: Measured) -> Table:
    """The highest threshold that does no harm, by queue and load."""
    runs = Runs(measured, "harm")
    full = ", ".join(f"{51 + queue} at {queue}" for queue in QUEUES)
    columns = [
        Column("case", "reading"),
        Column("load", "connections"),
        *(Column(f"queue_{queue}", f"queue {queue}", right=True) for queue in QUEUES),
    ]
    table = Table(
        "onset",
        "The highest threshold without harm",
        columns,
        note="In ticks, of those tried; no errors. Harm: less than 95 % of the throughput without "
        f"the rule. A full queue makes the RTT {full} packets. Commands: queue 20, 59 ticks.",
    )
    for case, what in measured.study.experiments["harm"].cases.items():
        for load in LOADS:
            row: dict[str, Cell] = {"case": what.label, "load": load}
            for queue in QUEUES:
                row[f"queue_{queue}"] = _highest(runs, case, load, queue)
            table.add(row, runs.command(case, 0.0, load, 20, "590 ms"))
    return table


def _highest(runs: Runs, case: str, load: int, queue: int) -> str:
    none = runs.throughput(case, 0.0, load, queue, "510 ms")
    best = 51
    for ticks in HARM_TICKS[1:]:
        found = ratio(runs.throughput(case, 0.0, load, queue, f"{ticks}0 ms"), none)
        if found is None or found.mean < HARMLESS:
            return "none" if best == 51 else str(best)
        best = ticks
    return f"≥ {best}"
