"""Tables of explanations of differences, with one change at a time."""

from __future__ import annotations

from retx.study import Cell, Column, Measured, Table, Verdict, by_case

from .recovery import rwnd_least
from .switches import DELIVERED, LOSSES, LOST, RESENT, SMALL_WINDOW, cost, refilled
from .values import POSITIONS

EXACT_S = 0.3
"""Tolerance of a deterministic time, as in table 4."""


def open_parameters(measured: Measured) -> Table:
    """Table of the parameters that the paper leaves open, at 1 and 10 %."""
    table_4 = measured.study.published.series["table_4"]
    rows: list[dict[str, Cell]] = []
    commands = []
    for name, case in measured.study.experiments["open_at_1"].cases.items():
        row: dict[str, Cell] = {"case": case.label}
        pair = []
        for tag, p in (("1", "0.01"), ("10", "0.1")):
            found = measured.estimate(f"open_at_{tag}", name)
            published = table_4.comparable(p)
            row[f"time_{tag}"] = found
            if found and published is not None:
                close = abs(found.mean - published) <= EXACT_S
                holds = found.single.holds(published) if found.single else close
                row[f"verdict_{tag}"] = Verdict.AGREES if holds else Verdict.DIFFERS
            pair.append(measured.command(f"open_at_{tag}", name))
        rows.append(row)
        # The two commands of a row are shown together.
        commands.append("\n".join(pair))
    columns = [
        Column("case", "changed"),
        Column("time_1", "at 1 %", "s"),
        Column("verdict_1", "66.83 s"),
        Column("time_10", "at 10 %", "s"),
        Column("verdict_10", "1943.61 s"),
    ]
    return Table(
        "open",
        "What the paper leaves open, one change at a time",
        columns,
        rows,
        note="Agreement: the published time lies where 95 % of single runs fall; of evenly spaced "
        f"losses, which are without chance, within {EXACT_S} s.",
        commands=commands,
    )


def dropping(measured: Measured) -> Table:
    """Table of the segments dropped at 1 %, by kind of dropping, window and start."""
    cases = measured.study.experiments["dropping"].cases
    quantities = {"resent": RESENT, "lost": LOST, "small": SMALL_WINDOW}
    columns = [
        Column("case", "case"),
        Column("resent", "retransmissions"),
        Column("lost", "share of segments lost"),
        Column("small", "lost with less than six in flight", "times"),
    ]
    return Table(
        "dropping",
        "Dropped packets at 1 %, one setting changed at a time",
        columns,
        by_case(measured, "dropping", quantities),
        note="The paper's run has 62 retransmissions. Last column: share lost of the segments "
        "sent with fewer than six in flight, divided by that of the others; a window of 3 "
        "MSS never has six.",
        commands=[measured.command("dropping", name) for name in cases],
    )


def fewer_drops(measured: Measured) -> Table:
    """The simulator's settings with fewer drops, and the testbed's settings with all drops."""
    points = [("fewer_drops", case) for case in measured.study.experiments["fewer_drops"].cases]
    points.append(("steps", "one_way"))
    labels = [measured.study.experiments[name].cases[case].label for name, case in points[:-1]]
    labels = [f"{label}, settings of the simulator" for label in labels]
    rows: list[dict[str, Cell]] = [
        {
            "case": label,
            "time": measured.estimate(name, case),
            "resent": measured.estimate(name, case, RESENT),
        }
        for label, (name, case) in zip(
            [*labels, "10 %, all five switches of the next table"], points, strict=True
        )
    ]
    columns = [
        Column("case", "drop probability"),
        Column("time", "download", "s"),
        Column("resent", "retransmissions"),
    ]
    return Table(
        "fewer_drops",
        "The number of drops alone",
        columns,
        rows,
        note="Paper: 1943.61 s with 1092 retransmissions in the simulator; 259.665 s in the "
        "testbed, without a number of retransmissions.",
        commands=[measured.command(name, case) for name, case in points],
    )


def loss_costs(measured: Measured) -> Table:
    """Table of the cost of one lost segment, and of the recovery of the window."""
    positions = [("one_loss", name, "none") for name in POSITIONS[1:]]
    rows: list[dict[str, Cell]] = []
    for experiment, name, twin in [LOSSES[0], *positions, *LOSSES[1:]]:
        found = refilled(measured, experiment, name)
        rows.append(
            {
                "lost": measured.study.experiments[experiment].cases[name].label,
                "time": measured.mean(experiment, name),
                "cost": cost(measured, experiment, name, twin),
                "rounds": found.rounds,
                "growth": found.rounds_of_growth,
                "segments": found.segments,
            }
        )
    columns = [
        Column("lost", "lost"),
        Column("time", "download", "s", digits=3),
        Column("cost", "cost", "s", digits=3),
        Column("rounds", "rounds", digits=1),
        Column("growth", "of growth", digits=1),
        Column("segments", "segments", digits=0),
    ]
    return Table(
        "loss_costs",
        "Cost of one lost segment, one setting changed at a time",
        columns,
        rows,
        note="Cost: compared with the same download without the loss. Rounds: from the lost copy "
        "until six segments are in flight again; of growth: those after the recovery; "
        "segments: sent meanwhile. The paper has 0.4268 s, 27 rounds, 14 by its table 9, and"
        " 98 segments. Rows of Linux: on the testbed's path, without options, with a window "
        "of six segments.",
        commands=[
            measured.command(experiment, name)
            for experiment, name, _ in [LOSSES[0], *positions, *LOSSES[1:]]
        ],
    )


def late_reader(measured: Measured) -> Table:
    """Table of the effect that an application which reads late has on the window."""
    cases = measured.study.experiments["late_reader"].cases
    rows: list[dict[str, Cell]] = [
        {
            "case": case.label,
            "rwnd": rwnd_least(measured.run("late_reader", name)),
            "time": measured.mean("late_reader", name),
        }
        for name, case in cases.items()
    ]
    columns = [
        Column("case", "the client's application"),
        Column("rwnd", "smallest window", "bytes", digits=0),
        Column("time", "download", "s", digits=3),
    ]
    return Table(
        "late_reader",
        "The client's window around the loss",
        columns,
        rows,
        note="The paper's figure 10: 2920 bytes, then 8760. The client is a socket and an "
        "application 0.2 ms behind it.",
        commands=[measured.command("late_reader", name) for name in cases],
    )


def bit_errors(measured: Measured) -> Table:
    """Table of bit error rates; all segments are lost if BER × L is one."""
    cases = measured.study.experiments["bit_errors"].cases
    columns = [
        Column("case", "bit errors"),
        Column("lost", "share of data packets lost"),
        Column("delivered", "delivered", "bytes"),
    ]
    return Table(
        "bit_errors",
        "A bit error rate at which BER × L is one",
        columns,
        by_case(measured, "bit_errors", {"lost": LOST, "delivered": DELIVERED}),
        note="Downloads that end after 2700 s at the latest. If every packet of the server is "
        "lost, no connection opens.",
        commands=[measured.command("bit_errors", name) for name in cases],
    )
