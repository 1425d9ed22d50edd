"""Tables that tables.toml does not describe: table I with its verdicts, and channels in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from retx.study import Cell, Column, Measured, Noted, Table, plain
from retx.study.claims import Rows
from retx.study.rules import judge

from . import exchange
from .values import agrees, within

TESTS = "12345"
CHANNELS = {
    "table_1": "bursts that wait",
    "fading": "fading",
    "outages": "short outages",
    "rare": "bad periods of 10 s",
}
"""Experiments with all columns of table I, and the kind of channel of each."""
SHOWN = ("throughput", "rtt_mean", "rtt_sd", "idle_max", "idle_total")
"""Rows of table I in which tests 3 and 5 differ."""


def tables(measured: Measured) -> Iterator[Table]:
    """Tables in no order: the text places them."""
    yield exchange.table(measured)
    yield _channels(measured)
    for test in TESTS:
        yield _test(measured, test)
    yield _kinds(measured)
    yield _good(measured)


def _channels(measured: Measured) -> Table:
    """Table of the fitted channels."""
    fitted = [rows for rows in measured.study.rows if rows.counts == "fitted"]
    columns = [Column("case", "channel"), Column("channel", "parameters")]
    for rows, label in zip(fitted, ("FER", "mean burst", "longest"), strict=True):
        columns += [Column(f"{rows.id}_published", label, right=True), Column(rows.id, "measured")]
    table = Table(
        "channels",
        "Channels fitted to the frame errors",
        columns,
        note="fit.py fits three parameters to three numbers. K: power of the direct path, divided"
        " by that of the others. Bursts are counted in frames, without frames lost in a "
        "collision.",
    )
    kinds = {"table_1": "bursts that wait", "fading": "fading", "outages": "outages"}
    for experiment, label in kinds.items():
        for test in TESTS:
            channel = measured.study.experiments[experiment].overrides(test)["wlan.office.channel"]
            row: dict[str, Cell] = {"case": f"test {test}, {label}", "channel": _in_words(channel)}
            for rows in fitted:
                published = measured.study.published.series[rows.published].values[test]
                row[f"{rows.id}_published"] = plain(published)
                row[rows.id] = measured.estimate(experiment, test, rows.quantity)
            table.add(row, measured.command(experiment, test))
    return table


def _in_words(channel: list[dict[str, Any]]) -> str:
    """Parameters of a channel."""
    first, *others = channel
    if first["model"] == "fading":
        return (
            f"SNR {first['mean_snr_db']:.2f} dB, Doppler {first['doppler_hz']:.3g} Hz, "
            f"K {first['rician_k']:.3g}"
        )
    share, burst = 100 * others[0]["loss"], others[0]["mean_burst"]
    if others[0]["model"] == "gilbert_elliott":
        words = f"bursts {share:.2f} % of the frames, mean {burst:.3g} frames"
    else:
        words = f"outages {share:.2f} % of the time, mean {float(burst.split()[0]):.3g} ms"
    return f"p {first['p']:.4f}; {words}"


def _test(measured: Measured, test: str) -> Table:
    """A row of table I, as a table."""
    beside = {
        name: label
        for name, label in CHANNELS.items()
        if name != "table_1" and test in measured.study.experiments[name].cases
    }
    columns = [
        Column("quantity", f"test {test}"),
        Column("published", "published", right=True),
        Column("measured", "measured"),
        Column("single", "95 % of runs"),
        Column("verdict", "verdict"),
        *(Column(name, label, right=True) for name, label in beside.items()),
    ]
    table = Table(
        f"test_{test}",
        f"Test {test} (table I)",
        columns,
        note="The channel is fitted to the three rows after the throughput. The columns on the "
        "right have other kinds of channel, with the range of 95 % of runs; ✓ if it contains"
        " the published number.",
    )
    command = "\n".join(measured.command(name, test) for name in ("table_1", *beside))
    for rows in measured.study.rows:
        series = measured.study.published.series[rows.published]
        found, target = measured.estimate(rows.experiment, test, rows.quantity), series.target(test)
        assert target is not None
        row: dict[str, Cell] = {
            "quantity": series.title + (f" ({series.unit})" if series.unit else ""),
            "published": plain(series.values[test]),
            "measured": found,
            "single": found and found.single,
            "verdict": judge(rows.criterion(target), found).verdict,
        }
        others = {name: _marked(measured, rows, name, test, test) for name in beside}
        table.add(row | others, command)
    return table


def _marked(measured: Measured, rows: Rows, experiment: str, case: str, test: str) -> Cell:
    """The mean with the range of single runs, marked if the range contains the published number."""
    found = measured.estimate(experiment, case, rows.quantity)
    if found is None:
        return None
    mark = "✓ " if agrees(measured, rows, experiment, case, test) else ""
    low_high = found.single and f"{_short(found.single.low)}\u00a0… {_short(found.single.high)}"
    return Noted(mark + _short(found.mean), low_high or "")


def _short(value: float) -> str:
    """Three significant digits."""
    return plain(float(f"{value:.3g}"))


def _kinds(measured: Measured) -> Table:
    """Number of table I's rows that agree on each kind of channel."""
    columns = [Column("case", "channel")]
    columns += [Column(f"test_{test}", f"test {test}", right=True) for test in TESTS]
    rows: list[dict[str, Cell]] = []
    for experiment, label in CHANNELS.items():
        tests = [test for test in TESTS if test in measured.study.experiments[experiment].cases]
        counts = {f"test_{it}": f"{within(measured, experiment, it):g}" for it in tests}
        rows.append({"case": label, **counts})
    return Table(
        "kinds",
        "Rows of table I in the range of single runs, of 13, by the kind of channel",
        columns,
        rows,
        note="The channels are fitted to three of the 13 rows. Bad periods of 10 s during 30 % of"
        " the time are added to the fitted fading without further fitting. All runs but "
        "these have stalls of the hosts. The runs are those of the tables above.",
    )


def _good(measured: Measured) -> Table:
    """Tests 3 and 5 with one change, compared with the published values."""
    shown = {rows.id: rows for rows in measured.study.rows if rows.id in SHOWN}
    series = {key: measured.study.published.series[shown[key].published] for key in SHOWN}
    columns = [Column("case", "")]
    columns += [Column(key, it.title.lower(), it.unit, right=True) for key, it in series.items()]
    table = Table(
        "good",
        "Tests 3 and 5: explanations of the rows that differ, one setting changed at a time",
        columns,
        note="Means, and the range of 95 % of single runs; ✓ if this range contains the published"
        " number.",
    )
    published: dict[str, dict[str, Cell]] = {
        test: {key: plain(it.values[test]) for key, it in series.items()} for test in "35"
    }
    for case, what in measured.study.experiments["good"].cases.items():
        test = case[0]
        if test in published:
            head: dict[str, Cell] = {"case": f"test {test}: published"}
            table.add(head | published.pop(test), "")
        row: dict[str, Cell] = {"case": what.label}
        row |= {key: _marked(measured, shown[key], "good", case, test) for key in SHOWN}
        table.add(row, measured.command("good", case))
    return table
