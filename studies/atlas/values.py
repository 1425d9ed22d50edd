"""Named values of the atlas that need its ranking."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import polars as pl

from retx.study import Estimate, Measured, estimate
from retx.sweeps.result import Sweep

from .ranking import LINUX, Leader, leader, logs_by_cell, ratio

CHANNEL = "link.air.forward.channel"
LOSS, BURST, SPIKES = f"{CHANNEL}.0.loss", f"{CHANNEL}.0.mean_burst", f"{CHANNEL}.1.share"
BURSTS, DELAY, QUEUE = "flow.bursts.start", "link.air.delay", "link.air.queue.packets"
CELL = (DELAY, LOSS, BURST, BURSTS, SPIKES)
NEVER, AT_ONCE = "1000 s", "0 s"
LEAST = 1e-5
"""The smallest loss rate, nearly none."""
WORTH = 1.05
"""Gains over the default up to this are not considered worth a change."""
TEXTS = ("case", DELAY, BURSTS)
"""Keys whose values are texts."""
LOOKED_AT = (
    "replication",
    "goodput_bit_s",
    "segments_sent",
    "retransmissions_unnecessary",
    "idle_total_s",
)


def cells(measured: Measured, gain: str) -> float:
    """Number of cells whose leader gains enough: `yes`, `no`, `unclear`, or `all` of them."""
    return _count(leaders(measured).values(), gain)


def pairs(measured: Measured, gain: str) -> float:
    """Number of pairs of round trip and loss rate, of Linux's algorithms, likewise."""
    return _count(places(measured).values(), gain)


def _count(found: Iterable[Leader], gain: str) -> float:
    answers = {"yes": (True,), "no": (False,), "unclear": (None,), "all": (True, False, None)}
    return sum(worth(it) in answers[gain] for it in found)


def apart(measured: Measured, family: str = "") -> float:
    """Number of cells whose leader, or one of a family, is apart from all others and gains."""
    ahead = [it for it in leaders(measured).values() if it.apart and worth(it)]
    return sum(it.family == family or not family for it in ahead)


def rtt_ms(delay: str) -> float:
    """The round trip of a link with this delay."""
    return 2 * float(delay.removesuffix(" ms"))


def delays(measured: Measured) -> dict[str, float]:
    """The delays of the grid with their round trips in ms, the shortest first."""
    return {delay: rtt_ms(delay) for delay in sorted(measured.axes("atlas")[DELAY], key=rtt_ms)}


def losses(measured: Measured) -> list[float]:
    """The loss rates of the grid, the smallest first."""
    return sorted(measured.axes("atlas")[LOSS])


def queues(measured: Measured) -> dict[str, int]:
    """The queue for each delay."""
    return dict(measured.sweep("atlas").grid.select(pl.col(DELAY).cast(pl.String), QUEUE).rows())


def percent(p: float) -> str:
    """A loss rate."""
    return f"{100 * p:g}"


def downloads(measured: Measured) -> pl.DataFrame:
    """The measured flow of each run."""
    return _own(measured.sweep("atlas"), "download")


@lru_cache(maxsize=4)
def _own(sweep: Sweep, name: str) -> pl.DataFrame:
    """The used columns of that flow; the full form has a million rows."""
    keys = [pl.col(key).cast(pl.String) if key in TEXTS else pl.col(key) for key in sweep.keys]
    return sweep.flows.filter(pl.col("name") == name).select(*keys, *LOOKED_AT)


def leaders(measured: Measured, *, linux: bool = False) -> dict[tuple[object, ...], Leader]:
    """Leader of each cell; with `linux`, of the presets that a Linux host offers."""
    return _leaders(measured.sweep("atlas"), linux)


@lru_cache(maxsize=4)
def _leaders(sweep: Sweep, linux: bool) -> dict[tuple[object, ...], Leader]:
    cells = logs_by_cell(_own(sweep, "download"), CELL)
    return {cell: leader(logs, LINUX if linux else None) for cell, logs in cells.items()}


def places(measured: Measured) -> dict[tuple[str, float], Leader]:
    """Leader of Linux's presets by round-trip time and loss rate, over all other conditions."""
    logs = logs_by_cell(downloads(measured), [DELAY, LOSS])
    return {
        (delay, loss): leader(logs[delay, loss], LINUX)
        for delay in delays(measured)
        for loss in losses(measured)
    }


def worth(found: Leader) -> bool | None:
    """True if the leader gains enough over the default; None if the runs do not decide."""
    bounds = found.gain.bounds
    if bounds.low > WORTH:
        return True
    return False if bounds.high <= WORTH else None


def per_run(measured: Measured, case: str, what: pl.Expr) -> Estimate | None:
    """A number of an algorithm over all cells."""
    flows = downloads(measured).filter(pl.col("case") == case)
    each = flows.group_by("replication", maintain_order=True).agg(what.alias("value"))
    return estimate(each["value"].to_list(), least=0.0)


def reno_keeps(measured: Measured, case: str, delay: str | None = None) -> Estimate:
    """Goodput of NewReno competing with a preset, over that competing with another NewReno."""
    flows = _own(measured.sweep("beside"), "reno")
    if delay is not None:
        flows = flows.filter(pl.col(DELAY) == delay)
    return ratio(logs_by_cell(flows, ())[()], case, "newreno")
