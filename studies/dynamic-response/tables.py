"""Tables of the study that tables.toml does not describe."""

from __future__ import annotations

from collections.abc import Iterator

from retx.study import Cell, Column, Measured, Table

from . import front, searched
from .values import BOUNDS, COUNT, FLOWS, best_parameters


def tables(measured: Measured) -> Iterator[Table]:
    """Tables in no order: the text places them."""
    yield _readings(measured)
    yield _excluding(measured)
    yield _mixes(measured)
    yield searched.table(measured)
    yield front.table(measured)


def _readings(measured: Measured) -> Table:
    """Table 2 with one column for each sender."""
    cases = measured.study.experiments["errors"].cases
    columns = [
        Column("what", "one flow"),
        Column("published", "published"),
        *(Column(name, case.label) for name, case in cases.items()),
    ]
    note = "Published: Reno / the proposal. The commands run the last column."
    table = Table("readings", "Table 2 and figure 7, reading by reading", columns, note=note)
    for what, experiment, quantity, published in (
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
        row: dict[str, Cell] = {"what": what, "published": published}
        row |= {case: measured.estimate(experiment, case, quantity) for case in cases}
        table.add(row, measured.command(experiment, list(cases)[-1]))
    return table


def _excluding(measured: Measured) -> Table:
    """Claims that each bound of the window satisfies, side by side."""
    declared = measured.study.declared
    named = declared.computed(measured) | best_parameters(measured)
    cases = measured.study.experiments["errors"].cases
    columns = [
        Column("what", "the proposal divided by Reno, unless stated otherwise"),
        Column("published", "published"),
        *(Column(case, cases[case].label) for case in BOUNDS),
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
        row: dict[str, Cell] = {"what": what, "published": published}
        row |= {case: named[name.format(case)] for case in BOUNDS}
        table.add(row, "")
    return table


def _mixes(measured: Measured) -> Table:
    """Causes of Reno's recoveries, with the flows and faults of each mix."""
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
    at = {"flow.ftp.tcp": "reno"}
    for name, case in measured.study.experiments["mixes"].cases.items():
        row: dict[str, Cell] = {
            "mix": case.label, "flows": case.set[FLOWS], "faults": case.set[COUNT],
        }  # fmt: skip
        for column in columns[3:]:
            row[column.key] = measured.estimate("mixes", name, column.key, at=at)
        table.add(row, measured.command("mixes", name, at=at))
    return table
