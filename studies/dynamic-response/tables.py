"""Tables of the study: readings as columns."""

from __future__ import annotations

from typing import Any

from retx.study import Column, Measured, Table

from .values import COUNT, MIXES, ONE, OTHER, READINGS, TCP, values

SENDERS = ("reno", *READINGS)
Row = dict[str, Any]


def tables(measured: Measured) -> list[Table]:
    """Tables in the order of the report."""
    return [
        _readings(measured), _excluding(measured), _mixes(measured), _backoff(measured),
        _sharing(measured), _senders(measured),
    ]  # fmt: skip


def _columns(measured: Measured, *more: Column) -> list[Column]:
    cases = measured.study.experiments["loss"].cases
    return [*more, *(Column(case, cases[case].label) for case in SENDERS)]


def _readings(measured: Measured) -> Table:
    columns = _columns(measured, Column("what", "one flow"), Column("published", "published"))
    note = "Published: Reno / the proposal. The commands run the last column."
    table = Table("readings", "Table 2 and figure 7, reading by reading", columns, note=note)
    for what, experiment, quantity, series in (
        ("goodput (kbit/s)", "table_2", "goodput", "607 / 899"),
        ("timeouts", "table_2", "rto", "56 / 32"),
        ("fast retransmits", "table_2", "frr", "82 / 82"),
        ("retransmissions", "table_2", "resent", "711 / 419"),
        ("window kept by a fast retransmit", "table_2", "cwnd_kept_frr", "0.5 / about 1"),
        ("retransmitted after a timeout", "table_2", "resent_of_an_rto", "13 / 13"),
        ("goodput, 5 % independent errors", "table_2_errors", "goodput", ""),
        ("retransmissions there", "table_2_errors", "resent", ""),
        ("goodput over 802.11b (kbit/s)", "cell", "goodput", ""),
        ("retransmissions there", "cell", "resent", ""),
    ):
        row: Row = {"what": what, "published": series}
        for case in SENDERS:
            row[case] = measured.estimate(experiment, case, quantity)
        table.add(row, measured.command(experiment, SENDERS[-1]))
    return table


def _excluding(measured: Measured) -> Table:
    """Claims that each reading of equation 5 satisfies, side by side."""
    named = values(measured)
    cases = measured.study.experiments["loss"].cases
    columns = [
        Column("what", "the proposal divided by Reno, unless stated otherwise"),
        Column("published", "published"),
        *(Column(case, cases[case].label) for case in READINGS[:3]),
    ]
    title = "Claims that exclude each other, by the reading of equation 5"
    table = Table("excluding", title, columns)
    for what, published, name in (
        ("window kept by a fast retransmit", "about 1", "{}_cwnd_kept_frr"),
        ("time of a recovery", "0.72", "{}_recovery_times"),
        ("retransmissions", "0.59", "{}_resent_times"),
        ("goodput, one flow, table 2", "1.48", "{}_goodput_times"),
        ("best of α and β over the paper's", "1", "best_times_{}"),
        ("goodput of 20 flows, 1:9", "1.06", "{}_mix_gain_1_9"),
        ("goodput of 12 flows, 8:2", "1.32", "{}_mix_gain_8_2"),
        ("dumbbell, 75 faults", "above 1", "dumbbell_faults_{}"),
        ("dumbbell, ten UDP flows", "above 1", "dumbbell_reverse_{}"),
        ("dumbbell, 90 ms", "above 1", "dumbbell_delay_{}"),
        ("chain, four hops", "above 1", "chain_{}_4"),
        ("one of the proposal over nine Reno flows", "1.31", "advantage_{}_9"),
        ("nine of the proposal over one Reno", "1.04", "advantage_{}_1"),
        ("a Reno beside one, over beside a Reno", "1", "pair_{}"),
        ("largest backoff, ten connections", "8", "backoff_{}_backoff"),
    ):
        row: Row = {"what": what, "published": published}
        for case in READINGS[:3]:
            row[case] = named[name.format(case)]
        table.add(row, "")
    return table


def _mixes(measured: Measured) -> Table:
    columns = [
        Column("mix", "mix"),
        Column("flows", "flows"),
        Column("faults", "faults"),
        Column("lost_percent", "lost", "%"),
        Column("lost_wireless", "share of it by faults"),
        Column("rto_each", "RTOs of a flow"),
        Column("rto_congestion", "by congestion"),
        Column("frr_each", "fast retransmits of a flow"),
        Column("frr_congestion", "by congestion"),
        Column("irrelevant", "not by congestion"),
        Column("unnecessary_share", "unnecessary"),
    ]
    note = (
        "The numbers of flows and faults were chosen so that Reno's losses have the mixes of the "
        "text."
    )
    table = Table("mixes", "Mixes of causes, with Reno (figure 5)", columns, note=note)
    cases = measured.study.experiments["mixes"].cases
    for name in MIXES.values():
        case, at = cases[name], {TCP: "reno"}
        row: Row = {
            "mix": case.label,
            "flows": case.set["flow.ftp.count"],
            "faults": case.set[COUNT],
        }
        for column in columns[3:]:
            row[column.key] = measured.estimate("mixes", name, column.key, at=at)
        table.add(row, measured.command("mixes", name, at=at))
    return table


def _backoff(measured: Measured) -> Table:
    columns = [
        Column("case", "sender"),
        Column("published", "published", "times"),
        Column("backoff", "largest backoff", "times"),
        Column("idle_max", "longest silence", "s"),
        Column("lost_percent", "lost", "%"),
        Column("lost_wireless", "share of it by faults"),
        Column("goodput", "all flows", "kbit/s"),
    ]
    table = Table("backoff", "Backoff of ten connections (figure 8)", columns)
    for name, case in measured.study.experiments["backoff"].cases.items():
        row: Row = {"case": case.label, "published": {"reno": 32, "dynamic": 8}.get(name)}
        for column in columns[2:]:
            row[column.key] = measured.estimate("backoff", name, column.key)
        table.add(row, measured.command("backoff", name))
    return table


def _sharing(measured: Measured) -> Table:
    columns = _columns(
        measured, Column("mix", "Reno flows of ten"), Column("published", "published")
    )
    title = "Goodput of a flow relative to a Reno flow beside it (table 3)"
    table = Table("sharing", title, columns, note="Reno: beside as many Reno flows.")
    for count, published in measured.study.published.series["table_3_ratio"].values.items():
        at = {ONE: int(count), OTHER: 10 - int(count)}
        row: Row = {"mix": int(count), "published": float(published)}
        for case in SENDERS:
            row[case] = measured.estimate("friendliness", case, "advantage", at=at)
        table.add(row, measured.command("friendliness", "dynamic", at=at))
    return table


def _senders(measured: Measured) -> Table:
    columns = [
        Column("case", "sender"),
        Column("faults", "138 faults", "kbit/s"),
        Column("unnecessary", "unnecessary there"),
        Column("errors", "5 % independent", "kbit/s"),
        Column("dumbbell", "dumbbell, 75 faults", "kbit/s"),
        Column("chain", "four hops, 138 faults", "kbit/s"),
    ]
    note = (
        "“-like”: reconstructed. The last six replace RELDS, of which no text was "
        "found. Unnecessary: share of retransmissions."
    )
    table = Table("senders", "All senders", columns, note=note)
    for name, case in measured.study.experiments["all_faults"].cases.items():
        row: Row = {"case": case.label}
        lines = []
        for tag in ("faults", "errors", "dumbbell", "chain"):
            row[tag] = measured.estimate(f"all_{tag}", name, "goodput")
            lines.append(measured.command(f"all_{tag}", name))
        row["unnecessary"] = measured.estimate("all_faults", name, "unnecessary_share")
        table.add(row, "\n".join(lines))
    return table
