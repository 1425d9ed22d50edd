"""Rows of the atlas's tables that need the ranking of algorithms."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import groupby
from math import exp

import polars as pl

from retx.study import Cell, Estimate, Measured, Noted, changed, scaled
from retx.study.places import Place

from . import values
from .ranking import DEFAULT, FAMILY, LINUX, LISTS, Leader, logs_by_cell, ratio
from .values import percent, rtt_ms, worth

Row = tuple[dict[str, Cell], str]
"""Cells by the keys of the columns, and the command that repeats the runs."""

NEEDLESS_PERCENT = 100 * pl.col("retransmissions_unnecessary").sum() / pl.col("segments_sent").sum()
"""Needless retransmissions, of all transmissions."""
IDLE_PERCENT = 100 * pl.col("idle_total_s").mean() / 60
"""Share of the time in which the sender had data but was silent."""
SETTINGS: dict[str, str] = {preset: it["setting"] for preset, it in LISTS["linux"].items()}
"""Value of `net.ipv4.tcp_congestion_control` for each preset."""


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


def decisions(measured: Measured) -> Iterator[Row]:
    """One row per round trip: loss rates at which to keep the default, to change, or undecided."""
    found = values.places(measured)
    rates = values.losses(measured)
    for delay, rtt in values.delays(measured).items():
        row = {loss: found[delay, loss] for loss in rates}
        gains = sorted(it.gain.mean for it in row.values() if worth(it))
        ends = [f"{gain:.2f}" for gain in (gains[:1] + gains[-1:])[: len(gains)]]
        cells: dict[str, Cell] = {
            "rtt": f"{rtt:g}\u00a0ms",
            "keep": _ranges(row, {loss for loss in row if worth(row[loss]) is False}),
            "open": _ranges(row, {loss for loss in row if worth(row[loss]) is None}),
            "change": _changes(row),
            "gain": "\u00a0…\u00a0".join(ends),
            "keeps": _keeps(measured, "linux_bbr", delay),
        }
        yield cells, _row_command(measured, delay)


def _keeps(measured: Measured, case: str, delay: str | None = None) -> Estimate:
    return changed(values.reno_keeps(measured, case, delay), lambda kept: 100 * kept)


def _ranges(rates: Iterable[float], wanted: Set[float]) -> str:
    """Text of the wanted loss rates, in per cent; neighbours are joined to a range."""
    parts = [list(part) for is_wanted, part in groupby(rates, wanted.__contains__) if is_wanted]
    ends = [dict.fromkeys([percent(part[0]), percent(part[-1])]) for part in parts]
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
    at = {values.DELAY: delay, values.QUEUE: values.queues(measured)[delay]}
    varied: dict[str, Sequence[object]] = {
        "tcp.sender.like": LINUX,
        values.LOSS: values.losses(measured),
        values.BURST: (1, 4),
        values.SPIKES: (0, 0.001),
        values.BURSTS: (values.NEVER, values.AT_ONCE),
    }
    words = ["retx", "sweep", "scenarios/path.toml", "--seed", str(measured.plan.seed)]
    experiment = measured.study.experiments["atlas"]
    words += ["--replications", str(measured.plan.replications_of(experiment, DEFAULT))]
    for key, value in at.items():
        words += ["--set", f"{key}={json.dumps(value)}"]
    for key, several in varied.items():
        words += ["--vary", f"{key}={json.dumps(several)}"]
    return shlex.join([*words, "--out", f"../rows/rtt-{rtt_ms(delay):g}"])


def pairs(measured: Measured) -> Iterator[Row]:
    """Every pair of round trip and loss rate, over the other conditions."""
    single = values.leaders(measured, linux=True)
    for (delay, loss), found in values.places(measured).items():
        cells = [it for cell, it in single.items() if cell[:2] == (delay, loss)]
        agreeing = [it for it in cells if worth(it) is worth(found) and _same(it, found)]
        gains = [it.gain.mean for it in cells]
        best = _place(measured, found.best, delay, loss)
        row: dict[str, Cell] = {
            "case": f"{rtt_ms(delay):g}\u00a0ms, {percent(loss)}\u00a0%",
            "advice": advice(found),
            "gain": found.gain,
            "range": f"{min(gains):.2f} … {max(gains):.2f}",
            "agree": f"{len(agreeing)} of {len(cells)}",
            "keeps": _keeps(measured, found.best, delay),
            "goodput": _mbit(best),
        }
        yield row, best.command()


def _same(one: Leader, other: Leader) -> bool:
    return worth(one) is False or one.family == other.family


def _place(
    measured: Measured,
    case: str,
    delay: str,
    loss: float,
    more: str = f"mean_burst=1, share=0, start={values.NEVER}",
) -> Place:
    """A case at a delay and a loss rate, by default with single losses and nothing else."""
    queue = values.queues(measured)[delay]
    return measured.at(f"atlas/{case} @ 0.loss={loss}, {more}, delay={delay}, packets={queue}")


def _mbit(place: Place) -> Estimate | None:
    return scaled(place.estimate(), 1e-6)


def algorithms(measured: Measured) -> Iterator[Row]:
    """Every algorithm over the whole map, the best first."""
    downloads, loss = values.downloads(measured), pl.col(values.LOSS)
    logs = logs_by_cell(downloads, ())[()]
    calm = logs_by_cell(downloads.filter(loss == values.LEAST), ())[()]
    rough = logs_by_cell(downloads.filter(loss >= 1e-2), ())[()]
    cells = logs_by_cell(downloads, [values.DELAY, values.LOSS])
    found = values.leaders(measured)
    for name in sorted(logs, key=lambda name: -float(logs[name].mean())):
        worst = min(float((one[name] - one[DEFAULT]).mean()) for one in cells.values())
        front = [it for it in found.values() if FAMILY[name] in (it.family, *it.rivals)]
        place = _place(measured, name, "25 ms", 0.01)
        row: dict[str, Cell] = {
            "case": Noted(name, FAMILY[name]),
            "calm": ratio(calm, name, DEFAULT),
            "rough": ratio(rough, name, DEFAULT),
            "worst": exp(worst),
            "front": f"{len(front)} of {len(found)}",
            "needless": values.per_run(measured, name, NEEDLESS_PERCENT),
            "idle": values.per_run(measured, name, IDLE_PERCENT),
            "keeps": _keeps(measured, name),
            "goodput": _mbit(place),
        }
        yield row, place.command()


def cells(measured: Measured) -> Iterator[Row]:
    """All cells, for programs."""
    linux = values.leaders(measured, linux=True)
    for cell, found in values.leaders(measured).items():
        delay, loss, burst, start, spikes = cell
        assert isinstance(delay, str)
        assert isinstance(loss, float)
        more = f"mean_burst={burst}, share={spikes}, start={start}"
        best = _place(measured, found.best, delay, loss, more)
        row: dict[str, Cell] = {
            "rtt": rtt_ms(delay),
            "loss": loss,
            "burst": str(burst),
            "cross": "no" if start == values.NEVER else "yes",
            "spikes": "yes" if spikes else "no",
            "best": found.best,
            "gain": found.gain,
            "rivals": ", ".join(found.rivals),
            "goodput": _mbit(best),
            "linux": linux[cell].best,
            "linux_gain": linux[cell].gain,
            "linux_rivals": ", ".join(linux[cell].rivals),
        }
        yield row, best.command()
