"""Tables of the atlas."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp

import polars as pl

from retx.study import Cell, Column, Measured, Table

from .ranking import DEFAULT, FAMILIES, FAMILY, LINUX, Leader, leader, logs_by_cell, ratio
from .values import (
    BURST,
    BURSTS,
    DELAY,
    LOSS,
    LOSSES,
    NEVER,
    QUEUE,
    RTT_MS,
    SPIKES,
    WORTH,
    downloads,
    estimate_of,
    idle,
    leaders,
    needless,
    reno_keeps,
    worth,
)

QUEUES = {"5 ms": 10, "25 ms": 20, "100 ms": 81, "300 ms": 244}
SETTINGS = {
    "linux": "cubic",
    "linux_reno": "reno",
    "linux_bbr": "bbr",
    "vegas_linux": "vegas",
    "veno_linux": "veno",
}
"""What `net.ipv4.tcp_congestion_control` is set to."""


def tables(measured: Measured) -> Iterator[Table]:
    """In the order of the report; `cells` is for those who want all of it."""
    yield _decisions(measured)
    yield _algorithms(measured)
    yield _fairness(measured)
    yield _cells(measured)


def percent(p: float) -> str:
    """A loss rate."""
    return f"{100 * p:g}\u00a0%"


def _advice(found: Leader) -> str:
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
    """By round trip and loss rate, over the other conditions."""
    mean = logs_by_cell(downloads(measured), [DELAY, LOSS])
    single = leaders(measured, linux=True)
    rows: list[dict[str, Cell]] = []
    commands = []
    for delay, rtt in RTT_MS.items():
        for loss in LOSSES:
            found = leader(mean[delay, loss], LINUX)
            cells = [it for cell, it in single.items() if cell[:2] == (delay, loss)]
            agreeing = [it for it in cells if worth(it) is worth(found) and _same(it, found)]
            gains = [it.gain.mean for it in cells]
            rows.append(
                {
                    "case": f"{rtt}\u00a0ms, {percent(loss)}",
                    "advice": _advice(found),
                    "gain": found.gain,
                    "range": f"{min(gains):.2f} … {max(gains):.2f}",
                    "agree": f"{len(agreeing)} of {len(cells)}",
                    "keeps": estimate_of(
                        reno_keeps(measured, found.best, delay), lambda x: 100 * x
                    ),
                }
            )
            commands.append(_command(measured, found.best, delay, loss))
    return Table(
        "decisions",
        "Which to use where, of what Linux offers",
        [
            Column("case", "round trip, loss"),
            Column("advice", "use"),
            Column("gain", "best over CUBIC", "times"),
            Column("keeps", "a Reno beside it keeps", "%"),
            Column("range", "single conditions", "times", right=True),
            Column("agree", "that agree", right=True),
        ],
        rows,
        note="Geometric mean over eight conditions: losses single or in bursts, with and without "
        "cross traffic, with and without delay spikes. Where the best surely gains at most "
        f"{100 * (WORTH - 1):.0f} % over CUBIC, the default, it stays; “perhaps”: runs leave that "
        "open. The commands run the best with single losses and nothing else.",
        commands=commands,
    )


def _same(one: Leader, other: Leader) -> bool:
    return worth(one) is False or one.family == other.family


def _command(measured: Measured, case: str, delay: str, loss: float) -> str:
    at = {LOSS: loss, BURST: 1, SPIKES: 0, BURSTS: NEVER, DELAY: delay, QUEUE: QUEUES[delay]}
    return measured.command("atlas", case, at=at)


def _algorithms(measured: Measured) -> Table:
    logs = logs_by_cell(downloads(measured), ())[()]
    calm = logs_by_cell(downloads(measured).filter(pl.col(LOSS) < 1e-4), ())[()]
    rough = logs_by_cell(downloads(measured).filter(pl.col(LOSS) >= 1e-2), ())[()]
    cells = logs_by_cell(downloads(measured), [DELAY, LOSS])
    found = leaders(measured)
    rows: list[dict[str, Cell]] = []
    names = sorted(logs, key=lambda name: -float(logs[name].mean()))
    for name in names:
        worst = min(float((one[name] - one[DEFAULT]).mean()) for one in cells.values())
        front = [it for it in found.values() if FAMILY[name] in (it.family, *it.rivals)]
        rows.append(
            {
                "case": name,
                "family": FAMILY[name],
                "calm": ratio(calm, name, DEFAULT),
                "rough": ratio(rough, name, DEFAULT),
                "worst": exp(worst),
                "front": len(front),
                "needless": needless(measured, name),
                "idle": idle(measured, name),
                "keeps": estimate_of(reno_keeps(measured, name), lambda x: 100 * x),
            }
        )
    return Table(
        "algorithms",
        "Every algorithm over the whole map",
        [
            Column("case", "algorithm"),
            Column("family", "family"),
            Column("calm", "over CUBIC's, loss 0.001 %", "times"),
            Column("rough", "loss ≥ 1 %", "times"),
            Column("worst", "worst place", "times", 2),
            Column("front", f"family in front, of {len(found)} cells"),
            Column("needless", "needless retransmissions", "%"),
            Column("idle", "idle", "%"),
            Column("keeps", "a Reno beside it keeps", "%"),
        ],
        rows,
        note="Goodput over that of Linux's default, geometric means; worst place: the least mean "
        "over the eight conditions of a round trip and a loss rate. In front: best, or not told "
        "apart from the best. Needless: of segments sent. The commands run 1 % single losses at "
        "50 ms.",
        commands=[_command(measured, name, "25 ms", 0.01) for name in names],
    )


def _fairness(measured: Measured) -> Table:
    rows: list[dict[str, Cell]] = []
    commands = []
    for name in measured.study.experiments["beside"].cases:
        row: dict[str, Cell] = {"case": name}
        for delay, rtt in RTT_MS.items():
            row[f"rtt_{rtt}"] = estimate_of(reno_keeps(measured, name, delay), lambda x: 100 * x)
        rows.append(row)
        at = {"link.air.forward.channel.p": 0.001, DELAY: "25 ms", QUEUE: 20}
        commands.append(measured.command("beside", name, at=at))
    return Table(
        "fairness",
        "What a Reno keeps beside each",
        [
            Column("case", "beside"),
            *(Column(f"rtt_{rtt}", f"{rtt} ms", "%") for rtt in RTT_MS.values()),
        ],
        rows,
        note="Of the goodput that NewReno has beside another NewReno on the same path; geometric "
        "mean over losses of 0.001, 0.1 and 1 %. Above 100: it gets more than its share. The "
        "commands run 0.1 % at 50 ms.",
        commands=commands,
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
        rows.append(
            {
                "rtt": RTT_MS[delay],
                "loss": loss,
                "burst": str(burst),
                "cross": "no" if start == NEVER else "yes",
                "spikes": "yes" if spikes else "no",
                "best": found.best,
                "gain": found.gain,
                "rivals": ", ".join(found.rivals),
                "linux": linux[cell].best,
                "linux_gain": linux[cell].gain,
                "linux_rivals": ", ".join(linux[cell].rivals),
            }
        )
        at = {
            LOSS: loss,
            BURST: burst,
            SPIKES: spikes,
            BURSTS: start,
            DELAY: delay,
            QUEUE: QUEUES[delay],
        }
        commands.append(measured.command("atlas", found.best, at=at))
    names = ("rtt", "loss", "burst", "cross", "spikes", "best", "gain", "rivals")
    columns = [Column(name, name) for name in (*names, "linux", "linux_gain", "linux_rivals")]
    return Table("cells", "All cells", columns, rows, commands=commands)


def legend() -> str:
    """Which presets make a family."""
    return "; ".join(f"{family}: {', '.join(presets)}" for family, presets in FAMILIES.items())
