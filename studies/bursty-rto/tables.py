"""Tables of the study."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from retx.study import Cell, Column, Estimate, Measured, Noted, Table, Verdict, plain
from retx.study.rules import judge

from . import switch_tables
from .exchange import EVENTS, FIGURES, situations
from .values import IDLE_MAX, IDLE_TOTAL, KINDS, POLICIES, SERVER, TESTS

KIND_LABELS = {
    "waiting": "bursts that wait",
    "fading": "fading",
    "outages": "single errors and short outages",
    "pauses": "fading, and bad periods of 0.3 s",
}
POLICY_LABELS = {
    "keep": "backoff kept",
    "reset": "reset on ACK",
    "linux": "Linux 6.18, CUBIC",
    "linux_reno": "Linux 6.18, Reno",
}


def tables(measured: Measured) -> Iterator[Table]:
    """Tables in the order of the report."""
    yield _exchange(measured)
    yield _channels(measured)
    for test in "12345":
        yield _test(measured, test)
    yield _busy(measured)
    yield switch_tables.channels(measured)
    yield switch_tables.good(measured)
    yield switch_tables.pays(measured)
    yield _effects(measured, "pauses")
    yield _policies(measured)
    yield _gains(measured)
    yield _acks(measured)
    yield _effects(measured, "switches")


def _exchange(measured: Measured) -> Table:
    """Table II."""
    found = situations(measured.run("table_2", "keep"))
    series = measured.study.published.series
    columns = [Column("situation", "", right=True), Column("event", "event")]
    columns += [
        Column(name, series[f"table_2_{name}"].title, series[f"table_2_{name}"].unit, right=True)
        for name in FIGURES
    ]
    rows: list[dict[str, Cell]] = []
    for situation, event in EVENTS.items():
        row: dict[str, Cell] = {"situation": situation, "event": event}
        wrong = False
        for name in FIGURES:
            published = series[f"table_2_{name}"].values.get(situation)
            ours = found[situation][name]
            wrong |= published is not None and published != ours
            said = "?" if published is None else f"{published:g}"
            row[name] = Noted(f"{ours:g}", f"paper {said}")
        rows.append(row | {"verdict": Verdict.DIFFERS if wrong else Verdict.AGREES})
    return Table(
        "exchange",
        "The exchange that leads to a silence of 57 s (table II)",
        [*columns, Column("verdict", "verdict")],
        rows,
        note="The measured number, with the paper's below it. The script of losses is in "
        "silence.toml.",
        commands=[measured.command("table_2", "keep")] * len(rows),
    )


def _channels(measured: Measured) -> Table:
    """Table of the fitted channels."""
    columns = [Column("case", "channel"), Column("channel", "parameters")]
    for name, label in (("fer", "FER"), ("efb_mean", "mean burst"), ("efb_max", "longest")):
        columns += [Column(f"{name}_published", label, right=True), Column(name, "measured")]
    table = Table(
        "channels",
        "Channels fitted to the frame errors",
        columns,
        note="fit.py fits three parameters to three numbers. K: power of the direct path, divided"
        " by that of the others. Bursts are counted in frames, without frames lost in a "
        "collision.",
    )
    kinds = (("table_1", "bursts that wait"), ("fading", "fading"), ("outages", "outages"))
    for experiment, label in kinds:
        for test in "12345":
            line: dict[str, Cell] = {"case": f"test {test}, {label}"}
            channel = measured.study.experiments[experiment].overrides(test)["wlan.office.channel"]
            line["channel"] = _in_words(channel)
            for name, quantity in _fitted(measured).items():
                published = measured.study.published.series[name].values[test]
                line[f"{name}_published"] = plain(published)
                line[name] = measured.estimate(experiment, test, quantity)
            table.add(line, measured.command(experiment, test))
    return table


def _fitted(measured: Measured) -> dict[str, str]:
    rows = {rows.published: rows.quantity for rows in measured.study.rows}
    return {name: rows[name] for name in ("fer", "efb_mean", "efb_max")}


def _in_words(channel: list[dict[str, Any]]) -> str:
    """Parameters of a channel."""
    if channel[0]["model"] == "fading":
        fading = channel[0]
        return (
            f"SNR {fading['mean_snr_db']:.2f} dB, Doppler {fading['doppler_hz']:.3g} Hz, "
            f"K {fading['rician_k']:.3g}"
        )
    single, outages = channel[:2]
    if outages["model"] == "gilbert_elliott":
        return (
            f"p {single['p']:.4f}; bursts {100 * outages['loss']:.2f} % of the frames, "
            f"mean {outages['mean_burst']:.3g} frames"
        )
    return (
        f"p {single['p']:.4f}; outages {100 * outages['loss']:.2f} % of the time, "
        f"mean {float(outages['mean_burst'].split()[0]):.3g} ms"
    )


def _test(measured: Measured, test: str) -> Table:
    """A row of table I, as a table."""
    rows: list[dict[str, Cell]] = []
    for claim in measured.study.rows:
        series = measured.study.published.series[claim.published]
        found = measured.estimate(claim.experiment, test, claim.quantity)
        target = series.target(test)
        assert target is not None
        rows.append(
            {
                "quantity": series.title + (f" ({series.unit})" if series.unit else ""),
                "published": plain(series.values[test]),
                "measured": found,
                "single": found and found.single,
                "verdict": judge(claim.criterion(target), found).verdict,
            }
            | {
                name: switch_tables.beside(measured, claim, name, test, test)
                for name in switch_tables.comparisons_of(measured, test)
            }
        )
    beside = switch_tables.comparisons_of(measured, test)
    columns = [
        Column("quantity", f"test {test}"),
        Column("published", "published", right=True),
        Column("measured", "measured"),
        Column("single", "95 % of runs"),
        Column("verdict", "verdict"),
        *(Column(name, label, right=True) for name, label in beside.items()),
    ]
    return Table(
        f"test_{test}",
        f"Test {test} (table I)",
        columns,
        rows,
        note="The channel is fitted to the three rows after the throughput. The columns on the "
        "right have other kinds of channel, with the range of 95 % of runs; ✓ if it contains"
        " the published number.",
        commands=["\n".join(measured.command(name, test) for name in ("table_1", *beside))]
        * len(rows),
    )


def _busy(measured: Measured) -> Table:
    """Table of the transfers' durations without idle times."""
    series = measured.study.published.series
    rows: list[dict[str, Cell]] = []
    for test in "12345":
        took = 8 * 10_485_760 / 1e6 / series["throughput"].values[test]
        long = 8 * 7500 * 1448 / 1e6 / series["throughput"].values[test]
        idle = series["idle_total"].values[test]
        rows.append(
            {
                "case": f"test {test}",
                "paper": took - idle,
                "paper_long": long - idle,
                "measured": measured.estimate("table_1", test, "busy_s"),
                "outages": measured.estimate("outages", test, "busy_s"),
            }
        )
    columns = [
        Column("case", ""),
        Column("paper", "paper, 10 MiB", "s", 1),
        Column("paper_long", "paper, 7500 segments", "s", 1),
        Column("measured", "measured", "s"),
        Column("outages", "with outages", "s"),
    ]
    return Table(
        "busy",
        "Transfer time without the idle time",
        columns,
        rows,
        note="Paper: size of the file divided by the throughput, minus the total idle time.",
        commands=[measured.command("table_1", test) for test in "12345"],
    )


def _effects(measured: Measured, name: str) -> Table:
    """Cases of an experiment compared with its reference, by frames, packets and TCP."""
    experiment = measured.study.experiments[name]
    reference = experiment.reference
    assert reference is not None
    rows: list[dict[str, Cell]] = []
    for case, what in experiment.cases.items():
        row: dict[str, Cell] = {"case": what.label}
        for key, quantity in (
            ("throughput", "throughput"),
            ("fer", "fer"),
            ("efb", SERVER + "channel_burst_max"),
            ("ip_loss", "ip_loss"),
            ("idle_max", IDLE_MAX),
            ("idle", IDLE_TOTAL),
        ):
            row[key] = measured.estimate(name, case, quantity)
        if case != reference:
            row["ratio"] = measured.ratio(name, case, reference, "throughput")
        rows.append(row)
    columns = [
        Column("case", ""),
        Column("throughput", "throughput", "Mbit/s"),
        Column("ratio", "times"),
        Column("fer", "FER"),
        Column("efb", "longest burst"),
        Column("ip_loss", "IP loss", "%"),
        Column("idle_max", "longest idle", "s"),
        Column("idle", "total idle", "s"),
    ]
    return Table(
        name,
        experiment.title,
        columns,
        rows,
        note=f"Times: throughput over that of “{experiment.cases[reference].label}”, run by run.",
        commands=[measured.command(name, case) for case in experiment.cases],
    )


def _policies(measured: Measured) -> Table:
    columns = [
        Column("case", "channel"),
        Column("policy", "policy"),
        Column("throughput", "throughput", "Mbit/s"),
        Column("idle_max", "longest idle", "s"),
        Column("idle", "total idle", "s"),
        Column("share", "of the transfer", "%"),
    ]
    table = Table("policies", "Policies", columns)
    for kind, experiment in KINDS.items():
        for test in TESTS:
            for policy in POLICIES:
                case = f"{test} {policy}"
                table.add(
                    {
                        "case": f"test {test}, {KIND_LABELS[kind]}",
                        "policy": POLICY_LABELS[policy],
                        "throughput": measured.estimate(experiment, case, "throughput"),
                        "idle_max": measured.estimate(experiment, case, IDLE_MAX),
                        "idle": measured.estimate(experiment, case, IDLE_TOTAL),
                        "share": measured.estimate(experiment, case, "idle_percent"),
                    },
                    measured.command(experiment, case),
                )
    return table


def _gains(measured: Measured) -> Table:
    """Each policy compared with the kept backoff on the same channel, paired."""
    columns = [
        Column("case", "channel"),
        Column("policy", "policy"),
        Column("ratio", "throughput, times"),
        Column("idle_max", "increase of the longest idle time", "s"),
        Column("idle", "increase of the total idle time", "s"),
    ]
    table = Table(
        "gains",
        "What a policy gains over the backoff kept",
        columns,
        note="Run by run, with the same draws; geometric mean of the ratios, mean of the "
        "differences.",
    )
    for kind, experiment in KINDS.items():
        for test in TESTS:
            for policy in POLICIES[1:]:
                case, keep = f"{test} {policy}", f"{test} keep"
                table.add(
                    {
                        "case": f"test {test}, {KIND_LABELS[kind]}",
                        "policy": POLICY_LABELS[policy],
                        "ratio": measured.ratio(experiment, case, keep, "throughput"),
                        "idle_max": measured.difference(experiment, case, keep, IDLE_MAX),
                        "idle": measured.difference(experiment, case, keep, IDLE_TOTAL),
                    },
                    measured.command(experiment, case),
                )
    return table


def _acks(measured: Measured) -> Table:
    """Errors in both directions, and only on the frames of the server."""
    columns = [
        Column("case", "channel"),
        Column("ack_loss", "ACKs lost", "%"),
        Column("idle", "idle, errors both ways", "s"),
        Column("idle_data", "errors on data only", "s"),
        Column("less", "difference", "s"),
        Column("gain", "gain of the reset, both ways", "times"),
        Column("gain_data", "data only", "times"),
    ]
    table = Table(
        "acks",
        "Effect of errors in the direction of the ACKs",
        columns,
        note="Total idle time with the backoff kept. The frames of the client are its TCP ACKs "
        "and its MAC acknowledgments.",
    )
    for kind, experiment in KINDS.items():
        for test in TESTS:
            both, data = f"{test} keep", f"{test} keep data"
            table.add(
                {
                    "case": f"test {test}, {KIND_LABELS[kind]}",
                    "ack_loss": measured.estimate(experiment, both, "ack_loss"),
                    "idle": measured.estimate(experiment, both, IDLE_TOTAL),
                    "idle_data": measured.estimate(experiment, data, IDLE_TOTAL),
                    "less": _less(measured.difference(experiment, data, both, IDLE_TOTAL)),
                    "gain": measured.ratio(experiment, f"{test} reset", both, "throughput"),
                    "gain_data": measured.ratio(
                        experiment, f"{test} reset data", data, "throughput"
                    ),
                },
                measured.command(experiment, data),
            )
    return table


def _less(found: Estimate | None) -> Estimate | None:
    return found and replace(found, single=None)
