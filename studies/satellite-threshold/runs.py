"""Values of each run of an experiment, and estimates from several runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log10
from statistics import fmean, stdev

import polars as pl

from retx.analysis.intervals import half_width
from retx.study import Estimate, Interval, Measured, Points, Values, estimate

BER = "link.space.channel.0.ber"
THRESHOLD = "tcp.sender.loss_cause.threshold"
COUNT = "flow.ftp.count"
QUEUE = "link.space.queue.packets"
TCP = "flow.ftp.tcp"

RATES = (1e-5, 1e-6, 1e-7)
"""Bit error rates of the paper."""
COUNTS = (1, 2, 3)
SEGMENT_BYTES = 960
CONFIDENCE = 0.95

SHARES = ("right", "taken", "jain")
"""Columns with values up to 1, which are missing in runs without such losses."""

Place = str | float | int


def power(ber: float) -> int:
    """7 of 1e-7."""
    return round(-log10(ber))


def rate(ber: float) -> str:
    """Text of an error rate."""
    return f"1e-{power(ber)}" if ber else "none"


def ticks_of(measured: Measured, experiment: str) -> list[int]:
    """Thresholds of an experiment, in ticks of 10 ms."""
    thresholds = measured.study.experiments[experiment].grid[THRESHOLD]
    return [int(threshold.removesuffix("0 ms")) for threshold in thresholds]


class Runs:
    """One row per run of an experiment, with the sums over its flows.

    Columns: `throughput` (kbit/s), `cwnd` (segments), `timeouts`, `needless` (share of the segments
    sent that had arrived already), `taken` (share of the recoveries from congestion that the sender
    attributed to the channel), `right` (share of the recoveries attributed to the channel that were
    due to it), `dropped` (share of the packets that the queue dropped), `jain`.
    """

    def __init__(self, measured: Measured, name: str) -> None:
        self.measured, self.name = measured, name
        self.keys = list(measured.sweep(name).keys)
        by = [*self.keys, "replication"]
        flows = measured.table(name).filter(~pl.col("name").cast(pl.String).str.contains("@"))
        links = measured.table(name, "links").filter(
            pl.col("name").cast(pl.String).is_in(["space", "radio"]),
            pl.col("direction").cast(pl.String) == "forward",
        )
        dropped = links.select(*by, dropped=pl.col("drops_queue") / pl.col("packets_in"))
        own = flows.group_by(by, maintain_order=True).agg(*_sums(), *_alone(flows))
        self.table = own.join(dropped, on=by, how="left", maintain_order="left").sort(by)
        self._parts = {
            tuple(map(_plain, key)): part.sort("replication")
            for key, part in self.table.partition_by(self.keys, as_dict=True).items()
        }

    def values(self, case: str, column: str, *at: Place) -> Values:
        """A column of each run at a point: its case, then the values of the grid's keys."""
        part = self._parts[tuple(map(_plain, (case, *at)))]
        found: Values = part[column].to_list()
        return found

    def estimate(self, case: str, column: str, *at: Place) -> Estimate | None:
        """Mean and intervals of a column at a point; for shares, over the runs with a value."""
        found = estimate(self.values(case, column, *at), least=0.0)
        if found is None or column not in SHARES:
            return found
        bounds = found.interval and Interval(
            max(0.0, found.interval.low), min(1.0, found.interval.high)
        )
        return replace(found, interval=bounds, missing=0)

    def mean(self, case: str, column: str, *at: Place) -> float:
        """The mean of a column at a point."""
        found = self.estimate(case, column, *at)
        return float("nan") if found is None else found.mean

    def command(self, case: str, *at: Place) -> str:
        """Command that runs a point again."""
        return self.measured.command(self.name, case, at=dict(zip(self.keys[1:], at, strict=True)))


def _sums() -> list[pl.Expr]:
    def total(kind: str, said: str, true: str) -> pl.Expr:
        return pl.col(f"inferred_{kind}_{said}_{true}").sum()

    def both(said: str, true: str) -> pl.Expr:
        return total("fast_retransmit", said, true) + total("rto", said, true)

    rate = pl.col("goodput_bit_s")
    taken, known = both("corruption", "congestion"), both("congestion", "congestion")
    right = both("corruption", "wireless")
    return [
        (rate.sum() / 1e3).alias("throughput"),
        (pl.col("cwnd_mean_bytes").mean() / SEGMENT_BYTES).alias("cwnd"),
        pl.col("rto_count").sum().cast(pl.Float64).alias("timeouts"),
        pl.col("fast_retransmit_count").sum().cast(pl.Float64).alias("recoveries"),
        (pl.col("retransmissions_unnecessary").sum() / pl.col("segments_sent").sum()).alias(
            "needless"
        ),
        _share(taken, taken + known).alias("taken"),
        _share(right, right + taken).alias("right"),
        (rate.sum() ** 2 / (pl.len() * (rate**2).sum())).alias("jain"),
    ]


def _share(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    return pl.when(whole > 0).then(part / whole)


def _alone(flows: pl.DataFrame) -> list[pl.Expr]:
    """Throughput of each flow with a separate name."""
    names = [name for name in flows["name"].unique().to_list() if "." not in str(name)]
    rate, name = pl.col("goodput_bit_s"), pl.col("name").cast(pl.String)
    return [(rate.filter(name == one).sum() / 1e3).alias(str(one)) for one in sorted(names)]


def _plain(value: object) -> object:
    return float(value) if isinstance(value, int) else value


def of_means(function: Callable[..., float], *series: Sequence[float | None]) -> Estimate | None:
    """A function of the means of several series, paired run by run, with a jackknife interval.

    Args:
        function: Function of one number for each series.
        series: Each of one value for each run; a run that lacks one is left out of all.
    """
    longest = max(map(len, series))
    full = [list(one) * longest if len(one) == 1 else list(one) for one in series]
    rows = [row for row in zip(*full, strict=True) if None not in row]
    if not rows:
        return None
    columns = [
        [float(value) for value in column if value is not None]
        for column in zip(*rows, strict=True)
    ]
    whole = function(*map(fmean, columns))
    count = len(rows)
    if count < 3 or all(len(set(column)) == 1 for column in columns):
        return Estimate(whole, count)
    sums = [sum(column) for column in columns]
    pseudo = []
    for index in range(count):
        left = [
            (total - column[index]) / (count - 1)
            for total, column in zip(sums, columns, strict=True)
        ]
        pseudo.append(count * whole - (count - 1) * function(*left))
    half = half_width(stdev(pseudo), count, CONFIDENCE)
    return Estimate(whole, count, Interval(whole - half, whole + half))


def mean_of(value: Estimate | Points | float | None) -> float:
    """Mean of an estimate; NaN for anything else."""
    return value.mean if isinstance(value, Estimate) else float("nan")


def ratio(above: Sequence[float | None], below: Sequence[float | None]) -> Estimate | None:
    """Ratio of two means, as shown by curves of means."""
    return of_means(lambda one, other: one / other if other else float("inf"), above, below)


def ratio_of_sums(pairs: Sequence[tuple[Values, Values]]) -> Estimate | None:
    """Ratio of two sums of means, such as the throughputs at all error rates."""
    count = len(pairs)
    return of_means(
        lambda *means: sum(means[:count]) / sum(means[count:]),
        *(above for above, _ in pairs),
        *(below for _, below in pairs),
    )
