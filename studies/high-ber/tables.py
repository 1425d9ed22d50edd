"""Tables of the study, except those that compare row by row."""

from __future__ import annotations

from retx.study import Cell, Column, Measured, Noted, Table, Verdict, effects, plain

from . import closed_forms as closed
from . import switch_tables as shown
from .recovery import steady_round_s, windows
from .switches import RESENT
from .values import BER, BERS


def tables(measured: Measured) -> list[Table]:
    """Tables in the order of the report."""
    return [
        _retransmissions(measured),
        _testbed(measured),
        effects(measured, "testbed_open"),
        _recommend(measured),
        _terms(measured),
        effects(measured, "switches_at_0"),
        shown.loss_costs(measured),
        _table_9(measured),
        shown.late_reader(measured),
        effects(measured, "switches_at_1"),
        shown.dropping(measured),
        effects(measured, "switches"),
        shown.fewer_drops(measured),
        effects(measured, "steps"),
        shown.open_parameters(measured),
        _closed_forms(measured),
        shown.bit_errors(measured),
        effects(measured, "ber_parts"),
        _table_1(measured),
    ]


def _retransmissions(measured: Measured) -> Table:
    series = measured.study.published.series
    cases = measured.study.experiments["drop"].cases
    rows: list[dict[str, Cell]] = [
        {
            "case": case.label,
            "published": series["table_7"].values[name],
            "until": closed.retransmissions_until_delivered(float(name)),
            "simulated": series["table_5"].values[name],
            "measured": measured.estimate("drop", name, RESENT),
            "unnecessary": measured.estimate(
                "drop", name, "flow.download.retransmissions_unnecessary"
            ),
        }
        for name, case in cases.items()
    ]
    columns = [
        Column("case", "case"),
        Column("published", "n·p, printed", digits=2),
        Column("until", "n·p/(1−p)", digits=2),
        Column("simulated", "simulator"),
        Column("measured", "measured"),
        Column("unnecessary", "unnecessary"),
    ]
    return Table(
        "T7",
        "Calculated retransmissions (table 7)",
        columns,
        rows,
        note="n·p counts lost first copies; n·p/(1−p) also the copies that are lost in turn. "
        "Unnecessary: an earlier copy arrived, or was still to arrive.",
        commands=[measured.command("drop", name) for name in cases],
    )


def _testbed(measured: Measured) -> Table:
    series = measured.study.published.series
    values = series["table_8"].values
    kernel = measured.study.experiments["kernel"].cases
    cases = measured.study.experiments["testbed"].cases.items()
    rows: list[dict[str, Cell]] = [
        {
            "case": case.label,
            "published": plain(values[name]),
            "printed": series["table_8_percent"].values[name],
            "again": 100 * (values[name] / values["0"] - 1),
            "simulator": series["table_4"].comparable(name),
            "closed": closed.testbed_s(float(name), closed.FILE_BYTES),
            "simulated": measured.estimate("testbed", name),
            "linux": measured.estimate("kernel", name) if name in kernel else None,
            "emulated": measured.emulated("kernel", name) if name in kernel else None,
        }
        for name, case in cases
    ]
    columns = [
        Column("case", "case"),
        Column("published", "testbed", "s", right=True),
        Column("printed", "more, printed", "%", digits=2),
        Column("again", "more, again", "%", digits=2),
        Column("simulator", "simulator less 10", "s", digits=2),
        Column("closed", "closed form", "s", digits=2),
        Column("simulated", "simulated", "s"),
        Column("linux", "Linux 6.18 simulated", "s"),
        Column("emulated", "and emulated", "s"),
    ]
    return Table(
        "testbed",
        "The virtualised testbed (table 8)",
        columns,
        rows,
        note="The first four columns are the paper's, or computed from its numbers. Simulated: "
        "Reno as chosen for this table. Linux 6.18: Reno without options, with the testbed's "
        "window and loss; emulated with a real kernel. Closed form: Padhye et al., full "
        "model, with that window, an ACK for every segment and a first timeout of 240 ms. "
        f"{measured.emulations('kernel')}",
        commands=[measured.command("testbed", name) for name, _ in cases],
    )


def _recommend(measured: Measured) -> Table:
    """Response times of several senders against the bit error rate."""
    cases = measured.study.experiments["recommend"].cases
    columns = [Column("case", "sender")]
    columns += [Column(f"at_{number}", f"{ber:g}", "s") for number, ber in enumerate(BERS)]
    rows: list[dict[str, Cell]] = []
    for case, what in cases.items():
        row: dict[str, Cell] = {"case": what.label}
        for number, ber in enumerate(BERS):
            row[f"at_{number}"] = measured.estimate("recommend", case, at={BER: ber})
        rows.append(row)
    return Table(
        "recommend",
        "Download times at several bit error rates",
        columns,
        rows,
        note="Bit errors both ways, a window of six segments for all. The commands run 1e-5.",
        commands=[measured.command("recommend", case, at={BER: 1e-5}) for case in cases],
    )


def _terms(measured: Measured) -> Table:
    formula = closed.terms_s()
    texts = {
        "window": "10,000,000 / 8760 rounds of 40 ms; handshake, slow start, last round",
        "first_hop": "each round: one frame of 1538 bytes, 1.2304 ms, on the first link",
        "second_hop": "each round: the same on the second link",
        "delayed_ack": "each round: the ACK waits for a second frame",
        "all": "each round: an ACK of 78 bytes, 62.4 µs, on both links",
    }
    rows: list[dict[str, Cell]] = []
    sum_formula = before = 0.0
    for name, case in measured.study.experiments["terms"].cases.items():
        time = measured.mean("terms", name)
        sum_formula += formula[name]
        rows.append(
            {
                "term": Noted(case.label, texts[name]),
                "computed": formula[name],
                "switched": time - before,
                "together": time,
            }
        )
        before = time
    rows.append(
        {
            "term": "sum",
            "computed": sum_formula,
            "switched": before,
            "together": before,
        }
    )
    columns = [
        Column("term", "switched on, and its closed form"),
        Column("computed", "computed", "s", digits=3),
        Column("switched", "by switching", "s", digits=3),
        Column("together", "download then", "s", digits=3),
    ]
    cases = measured.study.experiments["terms"].cases
    return Table(
        "terms",
        "The download without loss, effect by effect",
        columns,
        rows,
        commands=[*(measured.command("terms", name) for name in cases), ""],
    )


def _table_9(measured: Measured) -> Table:
    printed = list(measured.study.published.series["table_9"].values.values())
    again = closed.grown(3 * closed.MSS_BYTES, len(printed) - 1)
    ours = windows(measured.run("one_loss", "221"))
    start = ours["time_s"][0]
    rows: list[dict[str, Cell]] = [
        {
            "step": step,
            "published": value,
            "formula": again[step],
            "measured": ours["cwnd_bytes"][step],
            "rounds": (ours["time_s"][step] - start) / steady_round_s(),
            "verdict": Verdict.AGREES if abs(value - again[step]) <= 0.5 else Verdict.CONTRADICTS,
        }
        for step, value in enumerate(printed)
    ]
    columns = [
        Column("step", "step"),
        Column("published", "published", "bytes", digits=0),
        Column("formula", "equation 17", "bytes", digits=1),
        Column("measured", "our window", "bytes", digits=0),
        Column("rounds", "after rounds", digits=1),
        Column("verdict", "print"),
    ]
    return Table(
        "T9",
        "Window after the recovery (table 9)",
        columns,
        rows,
        note="One step per ACK in our run, in whole bytes, after the loss of segment 221. The "
        "paper takes each step for a round trip; with an ACK for every second segment that holds "
        "for the first four.",
        commands=[measured.command("one_loss", "221")] * len(printed),
    )


def _closed_forms(measured: Measured) -> Table:
    number = measured.study.published.numbers
    last = closed.grown(3 * closed.MSS_BYTES, 14)[-1]
    frames = closed.round_up(closed.segments()) + 4
    short, long = "1e-6 and 1250 bytes", "1e-4 and 1250 bytes"
    forms: list[tuple[str, float, float, float]] = [
        # Formula, published, computed, tolerance: half of the last digit printed.
        (f"1: BER × L, {short}", 0.01, closed.per_linear(1e-6, 1250), 0),
        (f"1: 1 − (1 − BER)^L, {short}", 0.01, closed.per_exact(1e-6, 1250), 0.005),
        (f"1: 1 − (1 − BER)^L, {long}", 1, closed.per_exact(1e-4, 1250), 0.05),
        ("2: n = s / MSS", number["segments"].value, closed.segments(), 0.005),
        ("3: ⌈n⌉ + SYN/ACK + FIN + ACK + ARP", number["frames"].value, frames, 0),
        ("4: retransmissions ≥ n × p, 1 %", 68.49, closed.retransmissions(0.01), 0.005),
        (
            "5: MSS / (MSS + 78) × rate (bytes/s)",
            number["ethernet_limit"].value,
            closed.ethernet_limit(),
            0.005,
        ),
        ("6: rwnd / RTT (bytes/s)", number["window_limit"].value, closed.window_limit(), 0.5),
        ("6: t = s / T (s)", number["window_limit_time"].value, closed.window_time_s(), 0.005),
        ("7: cwnd += MSS² / cwnd, 14 steps from 3 MSS (bytes)", 8969, last, 0.5),
    ]
    rows: list[dict[str, Cell]] = [
        {
            "formula": formula,
            "published": plain(published),
            "again": plain(round(again, 4)),
            "verdict": Verdict.AGREES
            if abs(published - again) <= tolerance + 1e-12
            else Verdict.DIFFERS,
        }
        for formula, published, again, tolerance in forms
    ]
    columns = [
        Column("formula", "form"),
        Column("published", "published", right=True),
        Column("again", "computed", right=True),
        Column("verdict", "verdict"),
    ]
    return Table("closed_forms", "The paper's closed forms, computed again", columns, rows)


def _table_1(measured: Measured) -> Table:
    series = measured.study.published.series
    rows: list[dict[str, Cell]] = []
    for ber in series["table_1_1250"].values:
        row: dict[str, Cell] = {"ber": ber}
        for length in (1250, 1500):
            row[f"published_{length}"] = plain(series[f"table_1_{length}"].values[ber])
            row[f"linear_{length}"] = plain(closed.per_linear(float(ber), length))
            row[f"exact_{length}"] = closed.per_exact(float(ber), length)
        rows.append(row)
    columns = [Column("ber", "BER")]
    for length in (1250, 1500):
        columns += [
            Column(f"published_{length}", f"{length} bytes, published", right=True),
            Column(f"linear_{length}", "BER × L", right=True),
            Column(f"exact_{length}", "1 − (1 − BER)^L"),
        ]
    return Table("T1", "Packet error rate from bit error rate (table 1)", columns, rows)
