"""Tables of runs with one change, compared with the original runs."""

from __future__ import annotations

from retx.study import Cell, Column, Estimate, Measured, Noted, Table, Verdict, plain
from retx.study.claims import Rows

from .switches import CHANNELS, cases_of, rows_of, verdict
from .values import IDLE_MAX, IDLE_TOTAL, TESTS

SHOWN = ("throughput", "rtt_mean", "rtt_sd", "idle_max", "idle_total")
"""Rows of table I in the tables of switches: those in which tests 3 and 5 differ."""


def beside(measured: Measured, rows: Rows, experiment: str, case: str, test: str) -> Cell:
    """The mean with the range of single runs, marked if the range contains the published number."""
    found: Estimate | None = measured.estimate(experiment, case, rows.quantity)
    if found is None:
        return None
    held = verdict(measured, rows, experiment, case, test) is not Verdict.DIFFERS
    where = found.single
    text = f"{'✓ ' if held else ''}{_short(found.mean)}"
    return Noted(text, f"{_short(where.low)}\u00a0… {_short(where.high)}" if where else "")


def _short(value: float) -> str:
    """Three significant digits."""
    return plain(float(f"{value:.3g}"))


def comparisons_of(measured: Measured, test: str) -> dict[str, str]:
    """Experiments with other kinds of channel for a test, and their labels."""
    return {
        name: label
        for name, label in CHANNELS.items()
        if name != "table_1" and test in measured.study.experiments[name].cases
    }


def channels(measured: Measured) -> Table:
    """Number of table I's rows that agree on each kind of channel."""
    columns = [Column("case", "channel")]
    columns += [Column(f"test_{test}", f"test {test}", right=True) for test in "12345"]
    table = Table(
        "kinds",
        "Rows of table I in the range of single runs, of 13, by the kind of channel",
        columns,
        note="The channels are fitted to three of the 13 rows. Bad periods of 10 s during 30 % of"
        " the time are added to the fitted fading without further fitting. All runs but "
        "these have stalls of the hosts. The runs are those of the tables above.",
    )
    for experiment, label in CHANNELS.items():
        row: dict[str, Cell] = {"case": label}
        for test in cases_of(measured, experiment):
            verdicts = [
                verdict(measured, rows, experiment, test, test) for rows in rows_of(measured)
            ]
            row[f"test_{test}"] = str(len(verdicts) - verdicts.count(Verdict.DIFFERS))
        table.rows.append(row)
    return table


def good(measured: Measured) -> Table:
    """Tests 3 and 5 with one change."""
    title = "Tests 3 and 5: explanations of the rows that differ, one setting changed at a time"
    return _marked(measured, "good", title)


def _marked(measured: Measured, name: str, title: str) -> Table:
    """Cases of an experiment (names begin with the test), compared with the published values."""
    by_id = {rows.id: rows for rows in rows_of(measured)}
    series = measured.study.published.series
    columns = [Column("case", "")]
    for key in SHOWN:
        numbers = series[by_id[key].published]
        columns.append(Column(key, numbers.title.lower(), numbers.unit, right=True))
    table = Table(
        name,
        title,
        columns,
        note="Means, and the range of 95 % of single runs; ✓ if this range contains the published"
        " number.",
    )
    current = ""
    for case, what in measured.study.experiments[name].cases.items():
        test = case[0]
        if test != current:
            current = test
            line: dict[str, Cell] = {"case": f"test {test}: published"}
            table.add(
                line | {key: plain(series[by_id[key].published].values[test]) for key in SHOWN}, ""
            )
        row: dict[str, Cell] = {"case": what.label}
        row |= {key: beside(measured, by_id[key], name, case, test) for key in SHOWN}
        table.add(row, measured.command(name, case))
    return table


def pays(measured: Measured) -> Table:
    """Backoff kept and reset on channels with one change."""
    columns = [
        Column("case", "channel"),
        Column("throughput", "backoff kept", "Mbit/s"),
        Column("idle", "total idle", "s"),
        Column("ratio", "reset over kept, times"),
        Column("less", "reduction of the longest idle time", "s"),
    ]
    table = Table(
        "pays",
        "Channels on which the proposal gains more, one setting changed at a time",
        columns,
        note="With bad periods in addition to the fading of tests 2 and 4, or with other outages."
        " The factor compares throughputs run by run.",
    )
    for test in TESTS:
        for name in ("bad", "share", "long"):
            keep, reset = f"{test} {name} keep", f"{test} {name} reset"
            label = (
                measured.study.experiments["pays"].cases[keep].label.removesuffix(", backoff kept")
            )
            table.add(
                {
                    "case": label,
                    "throughput": measured.estimate("pays", keep, "throughput"),
                    "idle": measured.estimate("pays", keep, IDLE_TOTAL),
                    "ratio": measured.ratio("pays", reset, keep, "throughput"),
                    "less": measured.difference("pays", keep, reset, IDLE_MAX),
                },
                measured.command("pays", reset),
            )
    return table
