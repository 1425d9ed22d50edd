"""Tables of the study."""

from __future__ import annotations

from collections.abc import Iterator

from retx.study import Cell, Column, Measured, Table

from . import front
from .runs import BER, COUNTS, QUEUE, RATES, Runs, power, rate, ratio
from .switch_tables import switch_tables
from .switches import FAR, NEAR, NONE, level
from .values import READINGS, TCPS, gain

TICKS = tuple(f"{ticks}0 ms" for ticks in (51, 53, 55, 60))
HARMLESS = 0.95
"""Share of the throughput without the rule below which the rule does harm."""
LOADS = (1, 3, 10)
QUEUES = (5, 10, 20, 50, 100)
HARM_TICKS = (51, 52, 53, 55, 59, 67, 83, 115)


def tables(measured: Measured) -> Iterator[Table]:
    """Tables in the order of the report."""
    yield _trends(measured)
    yield front.table(measured)
    yield _short(measured)
    yield _open(measured)
    yield from switch_tables(measured)
    yield _tcps(measured)
    yield _remedies(measured, "remedies")
    yield _remedies(measured, "last_hop")
    yield _fairness(measured)
    yield _onset(measured)
    yield _surface(measured)
    yield _delays(measured)


def _trends(measured: Measured) -> Table:
    """Figures 3, 5 and 7 in numbers."""
    runs = Runs(measured, "threshold")
    columns = [
        Column("reading", "reading"),
        Column("connections", "connections"),
        Column("ber", "bit errors", right=True),
        Column("none", "51 ticks", "kbit/s"),
        Column("gain_53", "53", "times"),
        Column("gain_55", "55", "times"),
        Column("gain_60", "60", "times"),
        Column("right", "correct at 55"),
    ]
    table = Table(
        "trends",
        "Throughput by threshold (figures 3, 5 and 7)",
        columns,
        note="At 51 ticks, the base RTT, the rule has no effect. Correct: share of correct verdicts"
        " among the recoveries that were attributed to the channel, in runs with such "
        "recoveries. Commands: 55 ticks.",
    )
    for reading, label in READINGS.items():
        for count in COUNTS:
            for ber in RATES:
                at = (count, ber)
                row: dict[str, Cell] = {
                    "reading": label,
                    "connections": count,
                    "ber": rate(ber),
                    "none": runs.estimate(reading, "throughput", *at, TICKS[0]),
                    "right": runs.estimate(reading, "right", *at, TICKS[2]),
                }
                for ticks, high in zip((53, 55, 60), TICKS[1:], strict=True):
                    row[f"gain_{ticks}"] = gain(runs, reading, high, TICKS[0], *at)
                table.add(row, runs.command(reading, *at, TICKS[2]))
    return table


def _short(measured: Measured) -> Table:
    """Figure 8 in numbers."""
    runs = Runs(measured, "short")
    columns = [
        Column("reading", "reading"),
        Column("ber", "bit errors", right=True),
        Column("none", "6 ticks", "kbit/s"),
        Column("gain_8", "8", "times"),
        Column("gain_10", "10", "times"),
        Column("gain_15", "15", "times"),
    ]
    table = Table(
        "short",
        "Round trip of 50 ms (figure 8)",
        columns,
        note="One connection. Commands: 10 ticks.",
    )
    for case, what in measured.study.experiments["short"].cases.items():
        for ber in RATES:
            row: dict[str, Cell] = {
                "reading": what.label,
                "ber": rate(ber),
                "none": runs.estimate(case, "throughput", ber, "60 ms"),
            }
            for ticks in (8, 10, 15):
                row[f"gain_{ticks}"] = gain(runs, case, f"{ticks}0 ms", "60 ms", ber)
            table.add(row, runs.command(case, ber, "100 ms"))
    return table


def _open(measured: Measured) -> Table:
    """Table of the choices that the text leaves open, and of the trends that then hold."""
    runs = Runs(measured, "open")
    columns = [
        Column("case", "case"),
        *(Column(f"gain_{power(ber)}", rate(ber), "times") for ber in RATES),
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
            none, near, far = (runs.values(case, "throughput", ber, t) for t in (NONE, NEAR, FAR))
            found = ratio(near, none)
            assert found is not None
            row[f"gain_{power(ber)}"] = found
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


def _tcps(measured: Measured) -> Table:
    runs = Runs(measured, "tcps")
    columns = [
        Column("tcp", "TCP"),
        Column("ber", "bit errors", right=True),
        Column("none", "without", "kbit/s"),
        Column("text", "every loss judged", "times"),
        Column("fast", "timeouts congestion", "times"),
        Column("right_text", "right"),
        Column("right_fast", "right, fast"),
    ]
    table = Table(
        "tcps",
        "The rule under other TCPs",
        columns,
        note="The threshold is 4 ticks above the base RTT. Without: throughput without the rule; "
        "the next columns: factor by which the rule changes it. Last column: share of correct "
        "verdicts among the recoveries attributed to the channel, for both readings.",
    )
    for tcp, label in TCPS.items():
        for ber in RATES:
            none = runs.values("none", "throughput", tcp, ber)
            row: dict[str, Cell] = {
                "tcp": label,
                "ber": rate(ber),
                "none": runs.estimate("none", "throughput", tcp, ber),
            }
            for case in ("text", "fast"):
                row[case] = ratio(runs.values(case, "throughput", tcp, ber), none)
                row[f"right_{case}"] = runs.estimate(case, "right", tcp, ber)
            table.add(row, runs.command("text", tcp, ber))
    return table


def _remedies(measured: Measured, name: str) -> Table:
    runs = Runs(measured, name)
    columns = [
        Column("case", "remedy"),
        *(Column(f"rate_{power(ber)}", rate(ber), "kbit/s") for ber in RATES),
        Column("taken", "misattributed at 1e-6"),
        Column("right", "correct at 1e-6"),
    ]
    table = Table(
        name,
        measured.study.experiments[name].title,
        columns,
        note="End-to-end throughput. Misattributed: share of the recoveries due to congestion that "
        "the sender attributed to the channel. Correct: share of correct verdicts among the "
        "recoveries attributed to the channel. Both in runs with such recoveries. Commands: "
        "1e-6.",
    )
    for case, what in measured.study.experiments[name].cases.items():
        row: dict[str, Cell] = {"case": what.label}
        for ber in RATES:
            row[f"rate_{power(ber)}"] = runs.estimate(case, "throughput", ber)
        row["taken"] = runs.estimate(case, "taken", 1e-6)
        row["right"] = runs.estimate(case, "right", 1e-6)
        table.add(row, runs.command(case, 1e-6))
    return table


def _fairness(measured: Measured) -> Table:
    runs = Runs(measured, "fairness")
    columns = [
        Column("ber", "bit errors", right=True),
        Column("case", "connections with the rule"),
        Column("long", "500 ms", "kbit/s"),
        Column("short", "50 ms", "kbit/s"),
        Column("both", "both", "kbit/s"),
        Column("jain", "Jain's index"),
    ]
    table = Table(
        "fairness",
        "A long and a short connection",
        columns,
        note="Reno over one link of 800 kbit/s. Jain's index of the two throughputs is 1 if they "
        "are equal, and 0.5 if one connection has everything.",
    )
    for ber in (0.0, *reversed(RATES)):
        for case, what in measured.study.experiments["fairness"].cases.items():
            table.add(
                {
                    "ber": rate(ber),
                    "case": what.label,
                    "long": runs.estimate(case, "long", ber),
                    "short": runs.estimate(case, "short", ber),
                    "both": runs.estimate(case, "throughput", ber),
                    "jain": runs.estimate(case, "jain", ber),
                },
                runs.command(case, ber),
            )
    return table


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
    none = runs.values(case, "throughput", 0.0, load, queue, "510 ms")
    best = 51
    for ticks in HARM_TICKS[1:]:
        found = ratio(runs.values(case, "throughput", 0.0, load, queue, f"{ticks}0 ms"), none)
        if found is None or found.mean < HARMLESS:
            return "none" if best == 51 else str(best)
        best = ticks
    return f"≥ {best}"


def _surface(measured: Measured) -> Table:
    """Every point, for the CSV."""
    runs = Runs(measured, "harm")
    rows: list[dict[str, Cell]] = []
    commands = []
    points = measured.sweep("harm").grid.iter_rows(named=True)
    for point in points:
        case, *at = (point[key] for key in runs.keys)
        none = runs.values(case, "throughput", *at[:-1], "510 ms")
        rows.append(
            {
                "case": case,
                "ber": point[BER],
                "load": at[1],
                "queue": point[QUEUE],
                "threshold": at[-1],
                "times": ratio(runs.values(case, "throughput", *at), none),
                "taken": runs.estimate(case, "taken", *at),
                "dropped": runs.estimate(case, "dropped", *at),
            }
        )
        commands.append(runs.command(case, *at))
    columns = [Column(name, name) for name in rows[0]]
    return Table("surface", "Threshold, queue and load", columns, rows, commands=commands)


def _delays(measured: Measured) -> Table:
    runs = Runs(measured, "delays")
    delays = (3.5, 8.5, 23.5, 48.5, 98.5, 248.5)
    columns = [
        Column("rtt", "round trip", "ms"),
        Column("ber", "bit errors", right=True),
        Column("none", "without", "kbit/s"),
        Column("text", "4 ticks", "times"),
        Column("fast", "4 ticks, timeouts congestion", "times"),
        Column("fast 1", "1 tick, timeouts congestion", "times"),
    ]
    table = Table(
        "delays",
        "From satellite to terrestrial delays",
        columns,
        note="Propagation there and back; the threshold above the base RTT. Commands: 4 ticks, "
        "timeouts congestion.",
    )
    for delay in delays:
        for ber in RATES:
            at = (f"{delay} ms", ber)
            none = runs.values("none", "throughput", *at)
            row: dict[str, Cell] = {
                "rtt": 2 * (delay + 1.5),
                "ber": rate(ber),
                "none": runs.estimate("none", "throughput", *at),
            }
            for case in ("text", "fast", "fast 1"):
                row[case] = ratio(runs.values(case, "throughput", *at), none)
            table.add(row, runs.command("fast", *at))
    return table
