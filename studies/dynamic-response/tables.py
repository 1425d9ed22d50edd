"""Tables of the study beside those that compare row by row."""

from __future__ import annotations

from retx.study import Cell, Column, Measured, Table, by_case

from .mixed import ALPHA, CWND_MAX
from .network import COUNT, TO
from .pairs import DURATION, FAULTS, TCP, At, P
from .switch_tables import switch_tables


def all_tables(measured: Measured) -> list[Table]:
    """Tables in the order of the report."""
    return [
        _mixes(measured),
        _cwnd_max(measured),
        _backoff(measured),
        _senders(measured),
        _friendliness(measured),
        _pairs(measured),
        *switch_tables(measured),
    ]


def _mixes(measured: Measured) -> Table:
    rows: list[dict[str, Cell]] = []
    cases = measured.study.experiments["mixes"].cases
    at = {TCP: "reno"}
    for name, case in cases.items():
        row: dict[str, Cell] = {
            "mix": case.label,
            "flows": case.set["flow.ftp.count"],
            "p": 100 * case.set[P] if P in case.set else None,
        }
        for quantity in (
            "lost_percent", "lost_wireless", "rto_each", "rto_congestion", "frr_each",
            "frr_congestion", "irrelevant", "unnecessary_share",
        ):  # fmt: skip
            row[quantity] = measured.estimate("mixes", name, quantity, at=at)
        rows.append(row)
    columns = [
        Column("mix", "mix"),
        Column("flows", "flows"),
        Column("p", "errors", "%", digits=1),
        Column("lost_percent", "lost", "%"),
        Column("lost_wireless", "of it by errors"),
        Column("rto_each", "RTOs of a flow"),
        Column("rto_congestion", "by congestion"),
        Column("frr_each", "FRRs of a flow"),
        Column("frr_congestion", "by congestion"),
        Column("irrelevant", "not by congestion"),
        Column("unnecessary_share", "unnecessary"),
    ]
    return Table(
        "mixes",
        "Mixes of causes, with Reno",
        columns,
        rows,
        note="Numbers of flows and error rates were chosen, by Reno's losses alone, so that the "
        "mixes of the text come out. Shares of recoveries, and of retransmissions.",
        commands=[measured.command("mixes", name, at=at) for name in cases],
    )


def _cwnd_max(measured: Measured) -> Table:
    columns = [
        Column("size", "cwnd_max", "bytes", digits=0),
        *(
            Column(f"{case} {alpha}", f"{case} lost, α = {alpha} %")
            for case in ("1 %", "5 %")
            for alpha in (0.5, 2, 10)
        ),
    ]
    table = Table(
        "cwnd_max",
        "Goodput (kbit/s) over cwnd_max, β = 10,000 bytes (figure 6b)",
        columns,
        note="The commands are for 1 % and α = 0.5 %.",
    )
    for size in (10_000, 15_000, 25_000, 40_000, 65_535):
        row: dict[str, Cell] = {"size": size}
        for case in ("1 %", "5 %"):
            for alpha in (0.5, 2, 10):
                at = {ALPHA: alpha, CWND_MAX: size}
                row[f"{case} {alpha}"] = measured.estimate("cwnd_max", case, "goodput", at=at)
        table.add(row, measured.command("cwnd_max", "1 %", at={ALPHA: 0.5, CWND_MAX: size}))
    return table


def _backoff(measured: Measured) -> Table:
    quantities = ("backoff", "idle_max", "idle", "lost_percent", "goodput")
    rows = by_case(measured, "backoff", {one: one for one in quantities})
    cases = measured.study.experiments["backoff"].cases
    for case, row in zip(cases, rows, strict=True):
        row["published"] = {"reno": 32, "dynamic": 8}.get(case)
    columns = [
        Column("case", "sender"),
        Column("published", "published", "times"),
        Column("backoff", "largest backoff", "times"),
        Column("idle_max", "longest silence", "s"),
        Column("idle", "waiting for timers", "s"),
        Column("lost_percent", "lost", "%"),
        Column("goodput", "all flows", "kbit/s"),
    ]
    return Table(
        "backoff",
        "Backoff of ten connections at 10 % lost, 3:7 (figure 8)",
        columns,
        rows,
        note="Largest of the ten connections; waiting is the mean of a connection, of 165 s.",
        commands=[measured.command("backoff", name) for name in cases],
    )


def _senders(measured: Measured) -> Table:
    cases = measured.study.experiments["loss"].cases
    columns = [
        Column("case", "sender"),
        Column("errors", "5 % independent", "kbit/s"),
        Column("unnecessary", "unnecessary there"),
        Column("faults", "75 faults, 5 %", "kbit/s"),
        Column("dumbbell", "dumbbell, 30 faults", "kbit/s"),
        Column("chain", "four hops", "kbit/s"),
    ]
    table = Table(
        "senders",
        "All senders",
        columns,
        note="“-like”: reconstructed, as the original text was not at hand. The last six stand "
        "in the place of RELDS. Unnecessary: share of retransmissions.",
    )
    for name, case in cases.items():
        places: dict[str, tuple[str, At]] = {
            "errors": ("loss", {P: 0.05}),
            "faults": ("faults", {DURATION: FAULTS["5"]}),
            "dumbbell": ("dumbbell_faults", {COUNT: 30}),
            "chain": ("chain", {TO: "n4"}),
        }
        row: dict[str, Cell] = {"case": case.label}
        lines = []
        for tag, (experiment, at) in places.items():
            row[tag] = measured.estimate(experiment, name, "goodput", at=at)
            lines.append(measured.command(experiment, name, at=at))
        row["unnecessary"] = measured.estimate("loss", name, "unnecessary_share", at={P: 0.05})
        table.add(row, "\n".join(lines))
    return table


def _friendliness(measured: Measured) -> Table:
    names = {
        "": "ABW in a second",
        "_path": "ABW × least RTT",
        "_queue": "ABW in a second, queue 150,000 bytes",
    }
    published = measured.study.published.series["table_3_ratio"].values
    columns = [
        Column("mix", "of ten"),
        Column("published", "published", digits=3),
        *(Column(f"advantage{tag}", label) for tag, label in names.items()),
        Column("reno_alone", "Reno among Renos", "kbit/s"),
        Column("reno", "Reno beside it", "kbit/s"),
        Column("reno_path", "beside ABW × least RTT", "kbit/s"),
    ]
    table = Table(
        "friendliness",
        "The proposal's goodput over Reno's, and Reno's (table 3)",
        columns,
        note="A connection's mean goodput in each group.",
    )
    for case, what in measured.study.experiments["friendliness"].cases.items():
        row: dict[str, Cell] = {"mix": what.label, "published": published[case]}
        for tag in names:
            row[f"advantage{tag}"] = measured.estimate(f"friendliness{tag}", case, "advantage")
        for tag in ("", "_path"):
            row[f"reno{tag}"] = measured.estimate(f"friendliness{tag}", case, "goodput_one")
        row["reno_alone"] = measured.estimate("friendliness_reno", case, "goodput_one")
        table.add(row, measured.command("friendliness", case))
    return table


def _pairs(measured: Measured) -> Table:
    cases = measured.study.experiments["pair"].cases
    quantities = {"one": "goodput_one", "other": "goodput_other", "all": "goodput"}
    rows = by_case(measured, "pair", quantities)
    columns = [
        Column("case", "pair"),
        Column("one", "the first", "kbit/s"),
        Column("other", "the second", "kbit/s"),
        Column("all", "both", "kbit/s"),
    ]
    return Table(
        "pairs",
        "Two connections (figure 14b)",
        columns,
        rows,
        commands=[measured.command("pair", name) for name in cases],
    )
