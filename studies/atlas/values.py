"""Named values of the atlas."""

from __future__ import annotations

from functools import lru_cache

import polars as pl

from retx.study import Estimate, Measured, Named, changed, estimate, scaled
from retx.sweeps.result import Sweep

from .ranking import LINUX, Leader, leader, logs_by_cell, ratio
from .switches import held_values

CHANNEL = "link.air.forward.channel"
LOSS, BURST, SPIKES = f"{CHANNEL}.0.loss", f"{CHANNEL}.0.mean_burst", f"{CHANNEL}.1.share"
BURSTS, DELAY, QUEUE = "flow.bursts.start", "link.air.delay", "link.air.queue.packets"
CELL = (DELAY, LOSS, BURST, BURSTS, SPIKES)
NEVER, AT_ONCE = "1000 s", "0 s"
LEAST = 1e-5
"""The smallest loss rate, nearly none."""
NAMED_MS = (10, 50, 200, 600)
"""Round trips of both forms that texts mention."""
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
    "rto_count",
)


def values(measured: Measured) -> Named:
    """Everything that claims and texts name."""
    parts = (_map, _papers, _fairness, _causes, held_values)
    return {name: value for part in parts for name, value in part(measured).items()}


def rtt_ms(delay: str) -> float:
    """The round trip of a link with this delay."""
    return 2 * float(delay.removesuffix(" ms"))


def delays(measured: Measured) -> dict[str, float]:
    """The delays of the grid with their round trips in ms, the shortest first."""
    found = {str(delay): rtt_ms(str(delay)) for delay in measured.sweep("atlas").grid[DELAY]}
    return dict(sorted(found.items(), key=lambda item: item[1]))


def losses(measured: Measured) -> list[float]:
    """The loss rates of the grid, the smallest first."""
    return sorted(set(measured.sweep("atlas").grid[LOSS].to_list()))


def queues(measured: Measured) -> dict[str, int]:
    """The queue for each delay."""
    return dict(measured.sweep("atlas").grid.select(pl.col(DELAY).cast(pl.String), QUEUE).rows())


def beside_losses(measured: Measured) -> str:
    """The loss rates of the runs beside Reno, in per cent, as a list in words."""
    grid = measured.sweep("beside").grid["link.air.forward.channel.p"]
    *some, last = (percent(p) for p in sorted(set(grid.to_list())))
    return f"{', '.join(some)} and {last}"


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


def _map(measured: Measured) -> Named:
    found = leaders(measured)
    gains = [worth(it) for it in found.values()]
    apart = [it for it in found.values() if it.apart and worth(it)]
    named: Named = {
        "cells": float(len(found)),
        "cells_default": float(sum(gain is False for gain in gains)),
        "cells_worth": float(sum(gain is True for gain in gains)),
        "cells_unclear": float(sum(gain is None for gain in gains)),
        "cells_apart": float(len(apart)),
        "cells_bbr": float(sum(it.family == "BBR" for it in apart)),
    }
    advised = [worth(it) for it in places(measured).values()]
    named["places"] = float(len(advised))
    for name, gain in (("keep", False), ("change", True), ("open", None)):
        named[f"places_{name}"] = float(sum(it is gain for it in advised))
    return named


def over(measured: Measured, a: str, b: str, where: pl.Expr) -> Estimate:
    """Geometric mean of a's goodput over b's in some cells, run by run."""
    flows = downloads(measured).filter(where & pl.col("case").is_in([a, b]))
    return ratio(logs_by_cell(flows, ())[()], a, b)


CALM = (pl.col(BURSTS) == NEVER) & (pl.col(SPIKES) == 0)
RANDOM = CALM & (pl.col(BURST) == 1)
SPIKED = (pl.col(BURSTS) == NEVER) & (pl.col(SPIKES) > 0) & (pl.col(LOSS) == LEAST)


def _papers(measured: Measured) -> Named:
    """The papers' advice, on this map."""
    lossy = RANDOM & (pl.col(LOSS) >= 0.01)
    worst = CALM & (pl.col(BURST) > 1) & (pl.col(LOSS) == 0.1)
    long = RANDOM & (pl.col(DELAY) == "300 ms")
    short = RANDOM & (pl.col(DELAY) == "5 ms")
    wired = short & (pl.col(LOSS) == LEAST)
    found: Named = {
        "veno_loss": over(measured, "veno", "reno", lossy),
        "veno_linux_loss": over(measured, "veno_linux", "linux_reno", lossy),
        "bbr_loss": over(measured, "linux_bbr", "linux", lossy),
        "rack_loss": over(measured, "rack", "reno", lossy),
        "reno_spikes": over(measured, "reno", "veno", SPIKED),
        "vegas_spikes": over(measured, "vegas", "reno", SPIKED),
        "vegas_linux_spikes": over(measured, "vegas_linux", "linux_reno", SPIKED),
        "threshold_long": over(measured, "threshold_reno", "reno", long & (pl.col(LOSS) >= 1e-3)),
        "threshold_wired": over(measured, "threshold_reno", "reno", wired),
        "optimised": over(measured, "linux_bbr", "reno", RANDOM & (pl.col(LOSS) == 0.01)),
        "optimised_cubic": over(measured, "linux", "reno", RANDOM & (pl.col(LOSS) == 0.01)),
        "reset_bursts": over(measured, "linux24_reset", "linux24", worst),
        "today_bursts": over(measured, "linux_reno", "linux24", worst),
        "dynamic_loss": over(
            measured,
            "dynamic",
            "reno",
            RANDOM & (pl.col(LOSS) == 0.01) & (pl.col(DELAY) != "300 ms"),
        ),
        "dynamic_long": over(measured, "dynamic", "reno", long & (pl.col(LOSS) >= 0.01)),
    }
    for packets in (10, 50):
        at = {QUEUE: packets}
        found[f"park_{packets}"] = measured.ratio("park", "dynamic", "reno", at=at)
        for case in ("reno", "dynamic"):
            found[f"park_{packets}_{case}_needless"] = scaled(
                measured.quotient(
                    "park",
                    case,
                    "flow.download.retransmissions_unnecessary",
                    "flow.download.segments_sent",
                    at=at,
                ),
                100,
            )
    for rtt in NAMED_MS:
        found[f"vegas_spikes_{rtt}"] = over(
            measured, "vegas", "reno", SPIKED & (pl.col(DELAY) == f"{rtt // 2} ms")
        )
    unspiked = CALM & (pl.col(LOSS) == LEAST) & (pl.col(DELAY) == "300 ms")
    found["vegas_unspiked_600"] = over(measured, "vegas", "reno", unspiked)
    for case in ("reno", "veno"):
        flows = downloads(measured).filter(SPIKED & (pl.col("case") == case))
        found[f"spikes_{case}_rto"] = _per_run(flows, pl.col("rto_count").mean())
    for case in ("ms_40", "ms_5", "timeouts"):
        found[f"threshold_{case}"] = measured.ratio("threshold", case, "reno")
    for case in ("reno", "dynamic", "jtcp_like", "prairie_like", "linux"):
        found[f"needless_{case}"] = needless(measured, case, lossy)
    return found


def needless(measured: Measured, case: str, where: pl.Expr | None = None) -> Estimate | None:
    """Needless retransmissions in per cent of all transmissions, over all or some cells."""
    flows = downloads(measured).filter(pl.col("case") == case)
    if where is not None:
        flows = flows.filter(where)
    return _per_run(
        flows, 100 * pl.col("retransmissions_unnecessary").sum() / pl.col("segments_sent").sum()
    )


def idle(measured: Measured, case: str) -> Estimate | None:
    """Share of the time, in per cent, in which the sender had data but was silent."""
    flows = downloads(measured).filter(pl.col("case") == case)
    return _per_run(flows, 100 * pl.col("idle_total_s").mean() / 60)


def _per_run(flows: pl.DataFrame, what: pl.Expr) -> Estimate | None:
    each = flows.group_by("replication", maintain_order=True).agg(what.alias("value"))
    return estimate(each["value"].to_list(), least=0.0)


def reno_keeps(measured: Measured, case: str, delay: str | None = None) -> Estimate:
    """Goodput of NewReno competing with a preset, over that competing with another NewReno."""
    flows = _own(measured.sweep("beside"), "reno")
    if delay is not None:
        flows = flows.filter(pl.col(DELAY) == delay)
    return ratio(logs_by_cell(flows, ())[()], case, "newreno")


def _fairness(measured: Measured) -> Named:
    found: Named = {}
    for case in LINUX:
        found[f"keeps_{case}"] = changed(reno_keeps(measured, case), lambda it: 100 * it)
        for rtt in NAMED_MS:
            kept = reno_keeps(measured, case, f"{rtt // 2} ms")
            found[f"keeps_{case}_{rtt}"] = changed(kept, lambda it: 100 * it)
    return found


def _causes(measured: Measured) -> Named:
    """Shares of losses in the queue, for Linux's default at 0.1 %."""
    links = measured.table("atlas", "links", "linux")
    links = links.filter(
        (pl.col("direction") == "forward")
        & (pl.col(LOSS) == 1e-3)
        & (pl.col(BURST) == 1)
        & (pl.col(SPIKES) == 0)
    )
    share = (
        100 * pl.col("drops_queue").sum() / (pl.col("drops_queue") + pl.col("drops_channel")).sum()
    )
    return {
        f"queue_share_{name}": _per_run(
            links.filter(pl.col(BURSTS).cast(pl.String) == start), share
        )
        for name, start in (("calm", NEVER), ("bursts", AT_ONCE))
    }
