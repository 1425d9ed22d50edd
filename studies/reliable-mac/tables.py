"""Tables of the study."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from retx.study import Cell, Column, Measured, Table, scaled

from .values import (
    CWND,
    DELAY,
    GOODPUT,
    MSS_BYTES,
    ORDERS,
    READINGS,
    REORDER,
    SENDER,
    SHARE,
    TCPS,
    P,
    fall,
    mbit,
    reading,
)

LABELS = {"reno": "Reno", "vegas": "Vegas", "veno": "Veno"}
ORDER_LABELS = {"kept": "order kept", "over": "others overtake"}
READING_LABELS = {
    "data": "data, order kept",
    "data_over": "data, others overtake",
    "data_constant": "data, always 2 s, order kept",
    "data_constant_over": "data, always 2 s, others overtake",
    "acks": "ACKs, order kept",
    "acks_over": "ACKs, others overtake",
    "both": "data and ACKs, order kept",
    "both_over": "data and ACKs, others overtake",
    "upper": "data, 2 s the largest of 3000, order kept",
    "upper_over": "data, 2 s the largest of 3000, others overtake",
    "short": "data, mean 50 ms, order kept",
    "short_over": "data, mean 50 ms, others overtake",
    "field": "data, mean 128 ms, order kept",
    "field_over": "data, mean 128 ms, others overtake",
    "field_both": "data and ACKs, mean 128 ms, order kept",
}
BURST, BAD = "wlan.cell.channel.mean_burst", "wlan.cell.channel.loss"


def tables(measured: Measured) -> Iterator[Table]:
    """Tables in the order of the report."""
    yield _loss(measured)
    yield _delay(measured)
    yield _readings(measured)
    yield _front(measured)
    yield _chart(measured)
    yield _switches(measured)
    yield _switches_delay(measured)
    yield _mac(measured)
    yield _every(measured, "every_imposed", {P: 0.01, SHARE: 0.003}, "delays imposed")
    yield _every(measured, "every_mac", {P: 0.01, BAD: 0.3}, "a reliable MAC")


def _columns(*, ratio: bool = True) -> list[Column]:
    columns = [Column(tcp, LABELS[tcp], "Mbit/s") for tcp in TCPS]
    return [*columns, Column("ratio", "Veno over Reno, times")] if ratio else columns


def _row(measured: Measured, experiment: str, label: str, at: Mapping[str, Any]) -> dict[str, Cell]:
    """Goodput of the three senders, and the ratio of Veno to Reno."""
    row: dict[str, Cell] = {"case": label}
    for tcp in TCPS:
        row[tcp] = mbit(measured, experiment, tcp, at)
    row["ratio"] = measured.ratio(experiment, "veno", "reno", at=at)
    return row


def _commands(measured: Measured, experiment: str, points: list[dict[str, Any]]) -> list[str]:
    """A command per row: a sweep over the three senders."""
    varied = shlex.quote(f"{SENDER}={json.dumps(TCPS)}")
    return [
        measured.command(experiment, "reno", at=at).replace("retx run", "retx sweep", 1)
        + f" --vary {varied} --out ../rows/{experiment}-{number}"
        for number, at in enumerate(points, 1)
    ]


def _loss(measured: Measured) -> Table:
    points = [{P: p} for p in (0, 0.001, 0.003, 0.01, 0.03, 0.06, 0.08)]
    rows: list[dict[str, Cell]] = []
    for at in points:
        row = _row(measured, "loss", f"{100 * at[P]:g} %", at)
        for tcp in TCPS:
            window = measured.estimate("loss", tcp, CWND, at=at)
            row[f"{tcp}_window"] = scaled(window, 1 / MSS_BYTES)
        rows.append(row)
    windows = [Column(f"{tcp}_window", f"{LABELS[tcp]}, window", "segments") for tcp in TCPS]
    return Table(
        "loss",
        "Random loss, no long delays",
        [Column("case", "loss"), *_columns(), *windows],
        rows,
        note="Goodput, and mean window over time.",
        commands=_commands(measured, "loss", points),
    )


def _delay(measured: Measured) -> Table:
    rows: list[dict[str, Cell]] = []
    points = []
    for order, reorder in ORDERS.items():
        for delay in ("0.5 s", "1 s", "2 s"):
            for share in (0.01, 0.1, 0.3):
                at = {REORDER: reorder, DELAY: delay, SHARE: share}
                label = f"{delay}, {100 * share:g} %, {ORDER_LABELS[order]}"
                rows.append(_row(measured, "delay", label, at))
                points.append(at)
    return Table(
        "delay",
        "Long delays of data, no loss",
        [Column("case", "mean delay, packets delayed"), *_columns()],
        rows,
        commands=_commands(measured, "delay", points),
    )


def _readings(measured: Measured) -> Table:
    rows: list[dict[str, Cell]] = []
    points = []
    for share in (0.1, 0.3):
        for name in READINGS:
            at = reading(name, share)
            label = f"{100 * share:g} %: {READING_LABELS[name]}"
            rows.append(_row(measured, "readings", label, at))
            points.append(at)
    return Table(
        "readings",
        "Readings of “a percentage of packets is delayed by 2 s”",
        [Column("case", "what is delayed"), *_columns()],
        rows,
        note="Delays are exponential with mean 2 s unless stated otherwise. If 2 s is the largest"
        " of some 3000 delays, the mean is 2 s / ln 3000 = 0.25 s. The paper has, at 10 %: "
        "Reno 3, Veno 2.2 Mbit/s; at 30 %: Reno 1.5 Mbit/s, Veno 65 % less.",
        commands=_commands(measured, "readings", points),
    )


PUBLISHED = (
    ("reno_10", "Reno, 10 %", "delay_reno", 0.5),
    ("reno_30", "Reno, 30 %", "delay_reno_30", 0.1),
    ("veno_10", "Veno, 10 %", "delay_veno", 0.1),
    ("vegas_20_fall", "fall of Vegas at 20 %", "delay_vegas_drop", 5.0),
)
"""Measured value, its label, the published number, and the permitted distance from it."""


def _front(measured: Measured) -> Table:
    """Published numbers on delays, with the readings that reach them."""
    numbers = measured.study.published.numbers
    columns = [Column("case", "what is delayed")]
    published: dict[str, Cell] = {"case": "published"}
    for key, label, name, _ in PUBLISHED:
        columns.append(Column(key, label, numbers[name].unit, right=True))
        published[key] = f"{numbers[name].value:g}"
    table = Table(
        "front",
        "Published numbers on delays of 2 s, and readings that reproduce them",
        columns,
        note="✓: our mean is within the claim's tolerance. No reading reproduces all numbers: "
        "with a mean of 50 ms Reno's two numbers agree, but Vegas's fall does not.",
    )
    table.add(published, "")
    for reading_name, text in READING_LABELS.items():
        row: dict[str, Cell] = {"case": text}
        for key, _, name, tolerance in PUBLISHED:
            tcp, share, *fall_of = key.split("_")
            at = reading(reading_name, int(share) / 100)
            found = mbit(measured, "readings", tcp, at)
            if fall_of:
                found = fall(measured, "readings", tcp, at, reading(reading_name, 0))
            assert found is not None
            held = abs(found.mean - numbers[name].value) <= tolerance
            row[key] = f"{'✓ ' if held else ''}{found.mean:.3g}"
        table.add(row, measured.command("readings", "reno", at=reading(reading_name, 0.1)))
    return table


def _chart(measured: Measured) -> Table:
    table = Table(
        "chart",
        "Goodput according to the paper's temporal chart",
        [
            Column("case", "sender"),
            *(Column(f"p{p}", f"loss {p / 10:g} %", "kbit/s") for p in (0, 20, 40, 60, 80)),
        ],
        note="Means over 1000 s, in which the share of delayed packets rises from 0 to 99 %.",
    )
    for order, reorder in ORDERS.items():
        at = {"link.above.forward.channel.reorder": reorder}
        for tcp in TCPS:
            row: dict[str, Cell] = {"case": f"{LABELS[tcp]}, {ORDER_LABELS[order]}"}
            for p in (0, 20, 40, 60, 80):
                row[f"p{p}"] = measured.estimate("chart", tcp, f"at_{p}", at=at)
            table.add(row, measured.command("chart", tcp, at=at))
    return table


def _switches(measured: Measured) -> Table:
    rows: list[dict[str, Cell]] = []
    commands = []
    experiment = measured.study.experiments["switches"]
    for case, what in experiment.cases.items():
        row: dict[str, Cell] = {"case": what.label}
        for tcp in TCPS:
            for p in (0.01, 0.03, 0.06):
                row[f"{tcp}_{p}"] = mbit(measured, "switches", case, {SENDER: tcp, P: p})
        rows.append(row)
        commands.append(measured.command("switches", case, at={SENDER: "reno", P: 0.01}))
    lost: dict[str, Cell] = {"case": "ACKs are lost, too"}
    for tcp in TCPS:
        for p in (0.01, 0.03, 0.06):
            at = {P: p, "link.above.reverse.channel.0.p": p}
            lost[f"{tcp}_{p}"] = mbit(measured, "both_ways", tcp, at)
    rows.append(lost)
    at = {P: 0.01, "link.above.reverse.channel.0.p": 0.01}
    commands.append(measured.command("both_ways", "reno", at=at))
    columns = [
        Column(f"{tcp}_{p}", f"{LABELS[tcp]}, {100 * p:g} %", "Mbit/s")
        for tcp in TCPS
        for p in (0.01, 0.03, 0.06)
    ]
    return Table(
        "switches",
        "Random loss, one setting changed at a time",
        [Column("case", "change"), *columns],
        rows,
        note="The commands run Reno at 1 %.",
        commands=commands,
    )


def _switches_delay(measured: Measured) -> Table:
    rows: list[dict[str, Cell]] = []
    commands = []
    experiment = measured.study.experiments["switches_delay"]
    columns = [Column("case", "change")]
    for order in ORDERS:
        for tcp in TCPS:
            label = f"{LABELS[tcp]}, {ORDER_LABELS[order]}"
            columns.append(Column(f"{tcp}_{order}", label, "Mbit/s"))
    for case, what in experiment.cases.items():
        row: dict[str, Cell] = {"case": what.label}
        for order, reorder in ORDERS.items():
            for tcp in TCPS:
                at = {SENDER: tcp, REORDER: reorder, SHARE: 0.1}
                row[f"{tcp}_{order}"] = mbit(measured, "switches_delay", case, at)
        rows.append(row)
        at = {SENDER: "reno", REORDER: False, SHARE: 0.1}
        commands.append(measured.command("switches_delay", case, at=at))
    return Table(
        "switches_delay",
        "10 % delayed by 2 s, one setting changed at a time",
        columns,
        rows,
        note="The commands run Reno, order kept.",
        commands=commands,
    )


def _mac(measured: Measured) -> Table:
    rows: list[dict[str, Cell]] = []
    points = []
    for length in ("0.1 s", "0.5 s", "1 s", "2 s"):
        for share in (0.1, 0.3, 0.5):
            at = {BURST: length, BAD: share}
            row = _row(measured, "mac", f"{length}, {100 * share:g} % of the time", at)
            row["vegas_ratio"] = measured.ratio("mac", "vegas", "reno", at=at)
            rows.append(row)
            points.append(at)
    return Table(
        "mac",
        "A reliable MAC",
        [
            Column("case", "bad periods: mean length"),
            *_columns(),
            Column("vegas_ratio", "Vegas over Reno, times"),
        ],
        rows,
        note="Only frames are lost, and the MAC retransmits them without a limit.",
        commands=_commands(measured, "mac", points),
    )


def _every(measured: Measured, experiment: str, at: dict[str, Any], what: str) -> Table:
    cases = measured.study.experiments[experiment].cases
    rows: list[dict[str, Cell]] = []
    for case in cases:
        rows.append(
            {
                "case": case,
                "goodput": mbit(measured, experiment, case, at),
                "ratio": measured.ratio(experiment, case, "reno", at=at),
                "needless": measured.estimate(
                    experiment, case, "flow.ftp.retransmissions_unnecessary", at=at
                ),
                "timeouts": measured.estimate(experiment, case, "flow.ftp.rto_count", at=at),
                "idle": measured.estimate(experiment, case, "flow.ftp.idle_total_s", at=at),
            }
        )
    rows.sort(key=lambda row: -measured.mean(experiment, str(row["case"]), GOODPUT, at=at))
    where = (
        f"{100 * at[P]:g} % loss, {100 * at[SHARE]:g} % delayed by 2 s"
        if SHARE in at
        else f"{100 * at[P]:g} % loss above the MAC, no frame for {100 * at[BAD]:g} % of the time"
    )
    return Table(
        experiment,
        f"Every algorithm: {what}",
        [
            Column("case", "algorithm"),
            Column("goodput", "goodput", "Mbit/s"),
            Column("ratio", "over Reno, times"),
            Column("needless", "needless retransmissions"),
            Column("timeouts", "timeouts"),
            Column("idle", "idle", "s"),
        ],
        rows,
        note=f"{where[0].upper()}{where[1:]}, 60 s; the best first.",
        commands=[measured.command(experiment, str(row["case"]), at=at) for row in rows],
    )
