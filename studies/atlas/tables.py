"""Tables of the atlas."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from math import exp
from typing import Any

import polars as pl

from retx.study import Cell, Column, Estimate, Measured, Noted, Table, changed, scaled

from .ranking import DEFAULT, FAMILY, LINUX, Leader, logs_by_cell, ratio
from .values import (
    AT_ONCE,
    BURST,
    BURSTS,
    DELAY,
    LEAST,
    LOSS,
    NEVER,
    QUEUE,
    SPIKES,
    WORTH,
    delays,
    downloads,
    idle,
    leaders,
    losses,
    needless,
    percent,
    places,
    queues,
    reno_keeps,
    rtt_ms,
    worth,
)

SETTINGS = {
    "linux": "cubic",
    "linux_reno": "reno",
    "linux_bbr": "bbr",
    "vegas_linux": "vegas",
    "veno_linux": "veno",
}
"""Value of `net.ipv4.tcp_congestion_control` for each preset."""


def tables(measured: Measured) -> Iterator[Table]:
    """Tables in the order of the report; `cells` contains all conditions."""
    yield _decisions(measured)
    yield _places(measured)
    yield _algorithms(measured)
    yield _cells(measured)


def advice(found: Leader) -> str:
    """Recommended setting of a Linux host; both settings if the runs leave it open."""
    gain = worth(found)
    default = SETTINGS[DEFAULT]
    if found.best == DEFAULT or gain is False:
        return default
    best = SETTINGS[found.best]
    if gain is None:
        return f"{default}; {best} perhaps"
    rivals = [SETTINGS[name] for name in LINUX if FAMILY[name] in found.rivals]
    return " or ".join([best, *rivals])


def _decisions(measured: Measured) -> Table:
    """One row per round trip: loss rates at which to keep the default, to change, or undecided."""
    found = places(measured)
    rates = losses(measured)
    rows: list[dict[str, Cell]] = []
    for delay, rtt in delays(measured).items():
        row = {loss: found[delay, loss] for loss in rates}
        gains = sorted(it.gain.mean for it in row.values() if worth(it))
        ends = [f"{gain:.2f}" for gain in (gains[:1] + gains[-1:])[: len(gains)]]
        rows.append(
            {
                "rtt": f"{rtt:g}\u00a0ms",
                "keep": _ranges(row, {loss for loss in row if worth(row[loss]) is False}),
                "open": _ranges(row, {loss for loss in row if worth(row[loss]) is None}),
                "change": _changes(row),
                "gain": "\u00a0…\u00a0".join(ends),
                "keeps": changed(reno_keeps(measured, "linux_bbr", delay), lambda kept: 100 * kept),
            }
        )
    return Table(
        "decisions",
        "Which of Linux's algorithms to use, by the loss rate in per cent",
        [
            Column("rtt", "round trip", right=True),
            Column("keep", "stay with CUBIC"),
            Column("open", "not settled"),
            Column("change", "change to"),
            Column("gain", "and gain, times", right=True),
            Column("keeps", "a Reno flow next to BBR keeps", "%"),
        ],
        rows,
        note="Means over eight conditions: losses single or in bursts, with and without cross "
        "traffic, with and without delay spikes. Stay: nothing gains significantly more "
        f"than {100 * (WORTH - 1):.0f} % over CUBIC, the default. Change: the best gains "
        "significantly more; “or”: the difference between them is not significant. Not settled: "
        "the runs do not show whether a change is worth it. The commands run a row again.",
        commands=[_row_command(measured, delay) for delay in delays(measured)],
    )


def _ranges(rates: Iterable[float], wanted: Set[float]) -> str:
    """Text of the wanted loss rates, in per cent; neighbours are joined to a range."""
    parts: list[list[float]] = []
    joined = False
    for loss in rates:
        if loss in wanted:
            if not joined:
                parts.append([])
            parts[-1].append(loss)
        joined = loss in wanted
    ends = [[percent(part[0]), percent(part[-1])][: len(part)] for part in parts]
    return ", ".join("\u00a0…\u00a0".join(pair) for pair in ends)


def _changes(row: Mapping[float, Leader]) -> str:
    """Recommended changes of the setting, and their loss rates."""
    wanted = {loss: advice(found) for loss, found in row.items() if worth(found)}
    return "; ".join(
        f"{name} at {_ranges(row, {loss for loss in wanted if wanted[loss] == name})}"
        for name in dict.fromkeys(wanted.values())
    )


def _row_command(measured: Measured, delay: str) -> str:
    """Command of a sweep over all conditions of a row."""
    at = {DELAY: delay, QUEUE: queues(measured)[delay]}
    varied: dict[str, Sequence[object]] = {
        "tcp.sender.like": LINUX,
        LOSS: losses(measured),
        BURST: (1, 4),
        SPIKES: (0, 0.001),
        BURSTS: (NEVER, AT_ONCE),
    }
    words = ["retx", "sweep", "scenarios/path.toml", "--seed", str(measured.plan.seed)]
    experiment = measured.study.experiments["atlas"]
    words += ["--replications", str(measured.plan.replications_of(experiment, DEFAULT))]
    for key, value in at.items():
        words += ["--set", f"{key}={json.dumps(value)}"]
    for key, values in varied.items():
        words += ["--vary", f"{key}={json.dumps(values)}"]
    return shlex.join([*words, "--out", f"../rows/rtt-{rtt_ms(delay):g}"])


def _places(measured: Measured) -> Table:
    """Table by round-trip time and loss rate, over the other conditions."""
    single = leaders(measured, linux=True)
    rows: list[dict[str, Cell]] = []
    commands = []
    for (delay, loss), found in places(measured).items():
        cells = [it for cell, it in single.items() if cell[:2] == (delay, loss)]
        agreeing = [it for it in cells if worth(it) is worth(found) and _same(it, found)]
        gains = [it.gain.mean for it in cells]
        at = _at(measured, delay, loss)
        rows.append(
            {
                "case": f"{rtt_ms(delay):g}\u00a0ms, {percent(loss)}\u00a0%",
                "advice": advice(found),
                "gain": found.gain,
                "range": f"{min(gains):.2f} … {max(gains):.2f}",
                "agree": f"{len(agreeing)} of {len(cells)}",
                "keeps": changed(reno_keeps(measured, found.best, delay), lambda x: 100 * x),
                "goodput": _mbit(measured, found.best, at),
            }
        )
        commands.append(measured.command("atlas", found.best, at=at))
    return Table(
        "places",
        "Every pair of round trip and loss rate, with Linux's algorithms",
        [
            Column("case", "round trip, loss"),
            Column("advice", "use"),
            Column("gain", "best over CUBIC", "times"),
            Column("range", "single conditions", "times", right=True),
            Column("agree", "that agree", right=True),
            Column("keeps", "a Reno flow next to it keeps", "%"),
            Column("goodput", "best, single losses only", "Mbit/s"),
        ],
        rows,
        note="Geometric mean over the eight conditions. Where the best surely gains at most "
        f"{100 * (WORTH - 1):.0f} % over CUBIC it stays; “perhaps”: not settled. The commands run "
        "the best with single losses and nothing else: the last column.",
        commands=commands,
    )


def _same(one: Leader, other: Leader) -> bool:
    return worth(one) is False or one.family == other.family


def _at(measured: Measured, delay: str, loss: float) -> dict[str, Any]:
    """Single losses and nothing else."""
    queue = queues(measured)[delay]
    return {LOSS: loss, BURST: 1, SPIKES: 0, BURSTS: NEVER, DELAY: delay, QUEUE: queue}


def _mbit(measured: Measured, case: str, at: Mapping[str, Any]) -> Estimate | None:
    return scaled(measured.estimate("atlas", case, at=at), 1e-6)


def _algorithms(measured: Measured) -> Table:
    logs = logs_by_cell(downloads(measured), ())[()]
    calm = logs_by_cell(downloads(measured).filter(pl.col(LOSS) == LEAST), ())[()]
    rough = logs_by_cell(downloads(measured).filter(pl.col(LOSS) >= 1e-2), ())[()]
    cells = logs_by_cell(downloads(measured), [DELAY, LOSS])
    found = leaders(measured)
    rows: list[dict[str, Cell]] = []
    names = sorted(logs, key=lambda name: -float(logs[name].mean()))
    at = _at(measured, "25 ms", 0.01)
    for name in names:
        worst = min(float((one[name] - one[DEFAULT]).mean()) for one in cells.values())
        front = [it for it in found.values() if FAMILY[name] in (it.family, *it.rivals)]
        rows.append(
            {
                "case": Noted(name, FAMILY[name]),
                "calm": ratio(calm, name, DEFAULT),
                "rough": ratio(rough, name, DEFAULT),
                "worst": exp(worst),
                "front": len(front),
                "needless": needless(measured, name),
                "idle": idle(measured, name),
                "keeps": changed(reno_keeps(measured, name), lambda x: 100 * x),
                "goodput": _mbit(measured, name, at),
            }
        )
    return Table(
        "algorithms",
        "Every algorithm over the whole map",
        [
            Column("case", "algorithm, family"),
            Column("calm", "over CUBIC's, loss 0.001 %", "times"),
            Column("rough", "loss ≥ 1 %", "times"),
            Column("worst", "worst place", "times", 2),
            Column("front", f"family in front, of {len(found)} cells"),
            Column("needless", "needless retransmissions", "%"),
            Column("idle", "idle", "%"),
            Column("keeps", "a Reno flow next to it keeps", "%"),
            Column("goodput", "1 % single losses, 50 ms", "Mbit/s"),
        ],
        rows,
        note="Goodput divided by that of Linux's default, as geometric means. Worst place: the "
        "least mean over the eight conditions of a round trip and a loss rate. In front: "
        "best, or not significantly worse than the best. Needless: share of the segments "
        "sent. The commands run the last column.",
        commands=[measured.command("atlas", name, at=at) for name in names],
    )


def _cells(measured: Measured) -> Table:
    """All cells, for programs."""
    rows: list[dict[str, Cell]] = []
    commands = []
    linux = leaders(measured, linux=True)
    for cell, found in leaders(measured).items():
        delay, loss, burst, start, spikes = cell
        assert isinstance(delay, str)
        assert isinstance(loss, float)
        at = _at(measured, delay, loss) | {BURST: burst, SPIKES: spikes, BURSTS: start}
        rows.append(
            {
                "rtt": rtt_ms(delay),
                "loss": loss,
                "burst": str(burst),
                "cross": "no" if start == NEVER else "yes",
                "spikes": "yes" if spikes else "no",
                "best": found.best,
                "gain": found.gain,
                "rivals": ", ".join(found.rivals),
                "goodput": _mbit(measured, found.best, at),
                "linux": linux[cell].best,
                "linux_gain": linux[cell].gain,
                "linux_rivals": ", ".join(linux[cell].rivals),
            }
        )
        commands.append(measured.command("atlas", found.best, at=at))
    names = ("rtt", "loss", "burst", "cross", "spikes", "best", "gain", "rivals", "goodput")
    columns = [Column(name, name) for name in (*names, "linux", "linux_gain", "linux_rivals")]
    return Table("cells", "All cells", columns, rows, commands=commands)
