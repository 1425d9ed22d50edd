"""Tables of runs that change one thing at a time, and of what the paper leaves open."""

from __future__ import annotations

from collections.abc import Iterator

from retx.study import Cell, Column, Measured, Table, by_case

from .network import COUNT, beside_rivals
from .pairs import FLOWS, READINGS, TCP, Named, P, by_tcp, over
from .switches import (
    GAINS,
    MIXED,
    SENDERS,
    SHARING,
    UDP_COUNT,
    UDP_RATE,
    UDP_RATES,
    shared,
    switch_values,
    tag,
)

PUBLISHED: dict[str, Cell] = {"case": "published"}
SHORT = {"reno": "Reno", "dynamic": "proposal", "dynamic_path": "ABW × least RTT"}


def switch_tables(measured: Measured) -> Iterator[Table]:
    """Tables in the order of the report."""
    values = switch_values(measured)
    yield _faults(measured)
    yield _errors(measured, values)
    yield _gains(measured, values)
    yield _recoveries(measured, values)
    yield _windows(measured)
    yield _prairie(measured, values)
    yield _udp(measured)
    yield _open(measured, "open", "5 % lost independently")
    yield _open(measured, "open_faults", "5 % of the time lost in 75 faults")
    yield _open(measured, "open_dumbbell", "dumbbell with 30 faults")
    yield _open(measured, "open_cell", "one hop of 802.11b at 2 Mbit/s, 75 faults")
    yield _open(measured, "open_chain", "four hops of 802.11b")
    yield _shared(measured, values)


def _commands(measured: Measured, experiment: str) -> list[str]:
    cases = measured.study.experiments[experiment].cases
    return [measured.command(experiment, name) for name in cases]


def _faults(measured: Measured) -> Table:
    quantities = ("rto_each", "rto_congestion", "frr_each", "frr_congestion", "lost_percent")
    numbers = ("44", "0.11", "28", "0.61", "3")
    published: dict[str, Cell] = dict(zip(quantities, numbers, strict=True))
    columns = [
        Column("case", "changed"),
        Column("rto_each", "RTOs of a flow", right=True),
        Column("rto_congestion", "by congestion", right=True),
        Column("frr_each", "FRRs of a flow", right=True),
        Column("frr_congestion", "by congestion", right=True),
        Column("lost_percent", "lost", "%", right=True),
    ]
    return Table(
        "mix_switches",
        "At 3 %, 7:3, with eight flows and faults: one change at a time",
        columns,
        [
            PUBLISHED | published,
            *by_case(measured, "mix_switches", {one: one for one in quantities}),
        ],
        commands=["", *_commands(measured, "mix_switches")],
    )


def _errors(measured: Measured, values: Named) -> Table:
    shown = {
        "3": ("rto_each", "rto_congestion", "frr_each", "frr_congestion", "frr_spurious"),
        "2_8": ("irrelevant",),
        "1": ("unnecessary_share",),
        "worst": ("unnecessary_share",),
    }
    keys = [f"{mix}_{quantity}" for mix, quantities in shown.items() for quantity in quantities]
    numbers = ("44", "0.11", "28", "0.61", "0.21", "over 0.3", "0.3", "almost 0.9")
    rows: list[dict[str, Cell]] = [PUBLISHED | dict(zip(keys, numbers, strict=True))]
    commands = [""]
    for name, case in measured.study.experiments["switches"].cases.items():
        row: dict[str, Cell] = {"case": case.label}
        for mix, quantities in shown.items():
            for quantity in quantities:
                row[f"{mix}_{quantity}"] = values[f"with_{mix}_{tag(name)}_{quantity}"]
        rows.append(row)
        commands.append(measured.command("switches", name, at=MIXED["3"]))
    columns = [Column("case", "changed")]
    labels = (
        "3 %, 7:3: RTOs of a flow", "by congestion", "FRRs of a flow", "by congestion", "spurious",
        "5 %, 2:8: not by congestion", "1 %, 0:1: unnecessary", "15 %, 6 flows: unnecessary",
    )  # fmt: skip
    columns += [Column(key, label, right=True) for key, label in zip(keys, labels, strict=True)]
    others = list(MIXED.values())[1:]
    points = ", ".join(f"{at[FLOWS]} and {at[P]:g}" for at in others)
    return Table(
        "switches",
        "Mixes with independent errors: one change at a time",
        columns,
        rows,
        note="Shares of recoveries, and of retransmissions. The commands are for 3 % at 7:3; with "
        f"flow.ftp.count and {P} they give the others: {points}.",
        commands=commands,
    )


def _gains(measured: Measured, values: Named) -> Table:
    cases = measured.study.experiments["gains"].cases
    rows = [PUBLISHED | {"gain_1_9": "1.06", "gain_8_2": "1.32"}]
    for name, case in cases.items():
        row: dict[str, Cell] = {"case": case.label}
        for mix in GAINS:
            row[f"gain_{mix}"] = values[f"gain_{mix}_{tag(name)}"]
        rows.append(row)
    at = GAINS["1_9"] | {TCP: "dynamic"}
    return Table(
        "gain_switches",
        "The proposal over Reno at 5 % lost: one change at a time (figure 9b)",
        [
            Column("case", "changed"),
            Column("gain_1_9", "1:9", "times Reno", right=True),
            Column("gain_8_2", "8:2", "times Reno", right=True),
        ],
        rows,
        note="Reno has the same change. The commands run the proposal at 1:9; 8:2 is "
        f"flow.ftp.count={GAINS['8_2'][FLOWS]} and {P}={GAINS['8_2'][P]}.",
        commands=["", *(measured.command("gains", name, at=at) for name in cases)],
    )


def _recoveries(measured: Measured, values: Named) -> Table:
    columns = [Column("case", "changed")]
    for tcp in SENDERS:
        columns += [Column(tcp, SHORT[tcp], "s"), Column(f"{tcp}_cut", "cut short")]
    columns.append(Column("dynamic_times", "proposal, times Reno"))
    table = Table(
        "recoveries",
        "Recoveries after timeouts that send 8 to 18 segments again, 75 faults (figure 7)",
        columns,
        note="Cut short: share of them that the next timeout ends. The commands run the proposal; "
        "flow.ftp.tcp names the others: reno, dynamic_path.",
    )
    for name, case in measured.study.experiments["recoveries"].cases.items():
        row: dict[str, Cell] = {"case": case.label}
        for tcp in SENDERS:
            for key in ("", "_cut", "_times"):
                row[f"{tcp}{key}"] = values[f"recovery_{tag(name)}_{tcp}{key}"]
        table.add(row, measured.command("recoveries", name, at={TCP: "dynamic"}))
    return table


def _windows(measured: Measured) -> Table:
    columns = [
        Column("case", "changed"),
        Column("kept", "window after over before"),
        Column("after", "window after", "bytes", digits=0),
        Column("goodput", "goodput", "kbit/s"),
    ]
    quantities = {"kept": "cwnd_kept_frr", "after": "cwnd_after_frr", "goodput": "goodput"}
    return Table(
        "kept",
        "The proposal's window after a fast retransmit, 5 % lost independently (figure 7d)",
        columns,
        by_case(measured, "kept", quantities),
        commands=_commands(measured, "kept"),
    )


def _prairie(measured: Measured, values: Named) -> Table:
    without, most = (
        by_case(measured, "prairie", {f"faults_{count}": "goodput"}, at={COUNT: count})
        for count in (0, 75)
    )
    cases = measured.study.experiments["prairie"].cases
    keeps: list[dict[str, Cell]] = [{"keeps": values[f"prairie_{case}_keeps"]} for case in cases]
    columns = [
        Column("case", "sender"),
        Column("faults_0", "no faults", "kbit/s"),
        Column("faults_75", "75 faults", "kbit/s"),
        Column("keeps", "left of it"),
    ]
    return Table(
        "prairie",
        "Prairie's bandwidth as a window, in the dumbbell (figure 11a)",
        columns,
        [first | second | third for first, second, third in zip(without, most, keeps, strict=True)],
        commands=[
            "\n".join(measured.command("prairie", case, at={COUNT: count}) for count in (0, 75))
            for case in cases
        ],
    )


def _udp(measured: Measured) -> Table:
    labels = {
        name: case.label for name, case in measured.study.experiments["udp_rate"].cases.items()
    }
    columns = [
        Column("count", "UDP flows"),
        Column("rate", "rate of each", "kbit/s"),
        Column("reno", "Reno", "kbit/s"),
        Column("best", "best of the others"),
        Column("dynamic", "proposal, times the best"),
        Column("dynamic_path", "ABW × least RTT"),
    ]
    table = Table(
        "udp_rate",
        "Rate of the UDP flows in the dumbbell, 30 faults (figure 11c)",
        columns,
        note="Others: Reno, F-RTO, JTCP-like, Prairie-like. Ten flows of 200 kbit/s are more than "
        "the link carries. The commands run the proposal.",
    )
    for count in (4, 10):
        for rate in UDP_RATES:
            at = {UDP_COUNT: count, UDP_RATE: f"{rate} kbit/s"}
            best, times = beside_rivals(measured, "udp_rate", "dynamic", at)
            _, path = beside_rivals(measured, "udp_rate", "dynamic_path", at)
            table.add(
                {
                    "count": count,
                    "rate": int(rate),
                    "reno": measured.estimate("udp_rate", "reno", at=at),
                    "best": labels[best],
                    "dynamic": times,
                    "dynamic_path": path,
                },
                measured.command("udp_rate", "dynamic", at=at),
            )
    return table


def _open(measured: Measured, experiment: str, where: str) -> Table:
    cases = measured.study.experiments[experiment].cases
    goodputs = by_tcp(measured, experiment)
    reno = by_case(
        measured, experiment, {"reno": "goodput", "reno_unnecessary": "unnecessary_share"},
        at={TCP: "reno"},
    )  # fmt: skip
    unnecessary = {"dynamic_unnecessary": "unnecessary_share"}
    dynamic = by_case(measured, experiment, unnecessary, at={TCP: "dynamic"})
    rows = [first | second for first, second in zip(reno, dynamic, strict=True)]
    for name, row in zip(cases, rows, strict=True):
        for tcp in READINGS:
            row[tcp] = over(goodputs(name, tcp), goodputs(name, "reno"))
    columns = [
        Column("case", "changed"),
        Column("reno", "Reno", "kbit/s"),
        Column("dynamic", "proposal, times Reno"),
        Column("dynamic_path", "ABW × least RTT"),
        Column("reno_unnecessary", "unnecessary, Reno"),
        Column("dynamic_unnecessary", "proposal"),
    ]
    return Table(
        experiment,
        f"One change at a time: {where}",
        columns,
        rows,
        note="Goodput over Reno's under the same change, run by run; unnecessary: share of "
        "retransmissions. The commands run the proposal; flow.ftp.tcp names the others: reno, "
        "dynamic_path.",
        commands=[measured.command(experiment, name, at={TCP: "dynamic"}) for name in cases],
    )


def _shared(measured: Measured, values: Named) -> Table:
    cases = measured.study.experiments["open_shared"].cases
    rows: list[dict[str, Cell]] = [
        {"case": case.label, **{key: values[f"shared_{tag(name)}_{key}"] for key in SHARING}}
        for name, case in cases.items()
    ]
    at = shared("reno", "dynamic", 5, 5)
    columns = [
        Column("case", "changed"),
        Column("pair", "a Reno beside one", digits=2),
        Column("ten", "five beside five", digits=2),
        Column("ten_path", "ABW × least RTT", digits=2),
        Column("advantage_1", "9 and 1: over Reno", digits=2),
        Column("advantage_5", "5 and 5", digits=2),
        Column("advantage_9", "1 and 9", digits=2),
        Column("jain_2", "index of two", digits=3),
        Column("jain_12", "of twelve", digits=3),
    ]
    return Table(
        "open_shared",
        "One change at a time: connections that share (figure 14, table 3)",
        columns,
        rows,
        note="The first three: a Reno's goodput beside the proposal over that among as many "
        "Renos. Then the proposal's over Reno's, of ten connections; Jain's index of those of the "
        "proposal alone. The commands are for five and five.",
        commands=[measured.command("open_shared", name, at=at) for name in cases],
    )
