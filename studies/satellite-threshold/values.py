"""Estimates numbers of the report."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import Protocol

import numpy as np
import polars as pl

import retx
from retx.study import Estimate, Estimates, Measured, Values, exact

from .runs import (
    COUNTS,
    RATES,
    SEGMENT_BYTES,
    Place,
    Runs,
    mean_of,
    of_means,
    power,
    ratio,
    ratio_of_sums,
)  # fmt: skip
from .switches import switch_values

READINGS = {
    "text": "every loss is judged",
    "fast": "timeouts are congestion",
    "window": "window of 64 segments",
}
TICKS = (51, 53, 55, 60)
TICK_S = 0.01
TCPS = {
    "sender": "Reno",
    "tahoe": "Tahoe",
    "newreno": "NewReno",
    "sack": "SACK",
    "rack": "RACK-TLP",
    "cubic": "CUBIC",
    "vegas": "Vegas",
    "westwood": "Westwood",
}
EARTH_KM, ORBIT_KM, LIGHT_KM_S = 6378.137, 35_786.0, 299_792.458


def values(measured: Measured) -> Estimates:
    """Everything that texts and claims name."""
    runs = {name: Runs(measured, name) for name in measured.study.experiments}
    return (
        _threshold(runs["threshold"], runs["judged"])
        | _plain(runs)
        | _alone(runs["alone"], runs["plain"])
        | _short(runs["short"], runs["short_judged"])
        | _wired(runs["wired"])
        | _tcps(runs["tcps"])
        | _remedies(runs)
        | switch_values(measured, runs)
        | _fairness(runs["fairness"])
        | _delays(runs["delays"])
        | _harm(runs["harm"])
        | _joint(runs["joint"])
        | _single(measured)
    )


def gain(runs: Runs, case: str, high: str, low: str, *at: float) -> Estimate | None:
    """Ratio of the throughput at a threshold to that at a lower one."""
    return ratio(
        runs.values(case, "throughput", *at, high), runs.values(case, "throughput", *at, low)
    )


class OfPoints(Protocol):
    """Values of each run at a point."""

    def values(self, case: str, column: str, *at: Place) -> Values:
        """A column at a point: its case, then the values of the grid's keys."""


def _threshold(all_readings: Runs, judged: Runs) -> Estimates:
    found: Estimates = {}
    for reading in READINGS:
        runs = judged if reading == "fast" else all_readings
        for count in COUNTS:
            found |= curve_values(runs, reading, count) | orders(runs, reading, count)
            for ber in RATES:
                end = f"{count}_{power(ber)}_{reading}"
                for ticks in TICKS:
                    at = (count, ber, f"{ticks}0 ms")
                    found[f"rate_{ticks}_{end}"] = runs.estimate(reading, "throughput", *at)
                cwnd = [
                    runs.values(reading, "cwnd", count, ber, f"{ticks}0 ms") for ticks in (55, 51)
                ]
                found[f"cwnd_{end}"] = ratio(*cwnd)
                found[f"right_{end}"] = runs.estimate(reading, "right", count, ber, "550 ms")
                found[f"taken_{end}"] = runs.estimate(reading, "taken", count, ber, "550 ms")
    return found | least(found, READINGS)


def curve_values(runs: OfPoints, reading: str, count: int) -> Estimates:
    """Gains over the throughput at 51 ticks, and the additional gain from 53 to 60 ticks."""
    found: Estimates = {}
    for ber in RATES:
        end = f"{count}_{power(ber)}_{reading}"
        series = {
            ticks: runs.values(reading, "throughput", count, ber, f"{ticks}0 ms") for ticks in TICKS
        }
        for ticks in TICKS:
            found[f"gain_{ticks}_{end}"] = ratio(series[ticks], series[51])
        found[f"level_{end}"] = of_means(
            lambda last, first, none: (last - first) / none, series[60], series[53], series[51]
        )
    return found


def _joint(runs: Runs) -> Estimates:
    """Gains at 53 ticks with several simultaneous changes."""
    return {
        f"joint_{case}_{count}_{power(ber)}": gain(runs, case, "530 ms", "510 ms", count, ber)
        for case in runs.measured.study.experiments["joint"].cases
        for count in COUNTS
        for ber in RATES
    }


def orders(runs: OfPoints, reading: str, count: int) -> Estimates:
    """Ratios of the gain at one error rate to that at the next lower one."""
    found: Estimates = {}
    for high, low in ((1e-5, 1e-6), (1e-6, 1e-7)):
        series = [
            runs.values(reading, "throughput", count, ber, threshold)
            for ber in (high, low)
            for threshold in ("550 ms", "510 ms")
        ]
        name = f"order_{power(high)}{power(low)}_{count}_{reading}"
        found[name] = of_means(lambda a, b, c, d: (a / b) / (c / d), *series)
    return found


def least(found: Estimates, readings: Iterable[str]) -> Estimates:
    """Value at that of three error rates which supports a claim least."""
    weakest: Estimates = {}
    for reading in readings:
        for count in COUNTS:
            for name in ("gain_53", "gain_60", "level"):
                three = [found[f"{name}_{count}_{power(ber)}_{reading}"] for ber in RATES]
                worst = max(three, key=_size) if name == "level" else min(three, key=mean_of)
                weakest[f"{name}_{count}_least_{reading}"] = worst
    return weakest


def _size(value: Estimate | float | None) -> float:
    return abs(mean_of(value))


def _plain(runs: dict[str, Runs]) -> Estimates:
    """Values relative to runs without the rule, and without errors."""
    plain, rule = runs["plain"], runs["threshold"]
    found: Estimates = {}
    apart, unlike = 0.0, 0.0
    for count in COUNTS:
        clean = plain.values("none", "throughput", count, 0.0)
        found[f"clean_{count}"] = plain.estimate("none", "throughput", count, 0.0)
        for ber in RATES:
            none = plain.values("none", "throughput", count, ber)
            end = f"{count}_{power(ber)}"
            found[f"none_{end}"] = plain.estimate("none", "throughput", count, ber)
            found[f"none_share_{end}"] = ratio(none, clean)
            for reading in READINGS:
                with_rule = rule.values(reading, "throughput", count, ber, "550 ms")
                found[f"share_{end}_{reading}"] = ratio(with_rule, clean)
                found[f"regained_{end}_{reading}"] = of_means(
                    lambda a, b, c: (a - b) / (c - b), with_rule, none, clean
                )
            below = rule.values("text", "throughput", count, ber, "510 ms")
            apart = max(apart, _furthest(below, none))
            if count == 1:
                kept = plain.values("base_rtt", "throughput", count, ber)
                above = rule.values("text", "throughput", count, ber, "550 ms")
                unlike = max(unlike, _furthest(kept, above))
    return found | {
        "at_base": apart,
        "two_variables": unlike,
    }


def _alone(runs: Runs, plain: Runs) -> Estimates:
    """Shares at 1e-7 with one connection; runs without errors are deterministic."""
    none, rule = (runs.values(case, "throughput") for case in ("none", "fast"))
    clean = [plain.values("none", "throughput", 1, 0.0)[0]] * len(none)
    return {
        "share_1_7_fast": ratio(rule, clean),
        "regained_1_7_fast": of_means(lambda a, b, c: (a - b) / (c - b), rule, none, clean),
    }


def _furthest(one: list[float | None], other: list[float | None]) -> float:
    return max(abs((a or 0.0) - (b or 0.0)) for a, b in zip(one, other, strict=True))


def _short(all_readings: Runs, judged: Runs) -> Estimates:
    found: Estimates = {}
    for reading in READINGS:
        runs = judged if reading == "fast" else all_readings
        for ber in RATES:
            end = f"{power(ber)}_{reading}"
            found[f"short_none_{end}"] = runs.estimate(reading, "throughput", ber, "60 ms")
            for ticks in (8, 10, 15):
                found[f"short_gain_{ticks}_{end}"] = gain(
                    runs, reading, f"{ticks}0 ms", "60 ms", ber
                )
    return found


def _wired(runs: Runs) -> Estimates:
    changes = [
        abs(
            runs.mean("text", "throughput", count, f"{ticks}0 ms")
            / runs.mean("text", "throughput", count, "510 ms")
            - 1
        )
        for count in COUNTS
        for ticks in range(51, 61)
    ]
    return {"wired_change": max(changes)}


def _tcps(runs: Runs) -> Estimates:
    found: Estimates = {}
    for tcp in TCPS:
        for case in ("text", "fast"):
            pairs = [
                (
                    runs.values(case, "throughput", tcp, ber),
                    runs.values("none", "throughput", tcp, ber),
                )
                for ber in RATES
            ]
            for ber, pair in zip(RATES, pairs, strict=True):
                found[f"{tcp}_{power(ber)}_{case}"] = ratio(*pair)
            found[f"{tcp}_all_{case}"] = ratio_of_sums(pairs)
        for case in ("none", "text", "fast"):
            for ber in RATES:
                name = f"{tcp}_rate_{power(ber)}_{case}"
                found[name] = runs.estimate(case, "throughput", tcp, ber)
    return found


def _remedies(runs: dict[str, Runs]) -> Estimates:
    return {
        f"{experiment}_{case}_{power(ber)}": runs[experiment].estimate(case, "throughput", ber)
        for experiment in ("remedies", "last_hop")
        for case in runs[experiment].measured.study.experiments[experiment].cases
        for ber in RATES
    }


def _fairness(runs: Runs) -> Estimates:
    found: Estimates = {}
    for case in runs.measured.study.experiments["fairness"].cases:
        for ber in (0.0, *RATES):
            end = f"{case.replace(' ', '_')}_{power(ber) if ber else 0}"
            for column in ("long", "short", "jain", "throughput"):
                found[f"fair_{column}_{end}"] = runs.estimate(case, column, ber)
    return found


def _delays(runs: Runs) -> Estimates:
    found: Estimates = {}
    for delay, rtt in ((3.5, 10), (8.5, 20), (23.5, 50), (48.5, 100), (98.5, 200), (248.5, 500)):
        for ber in RATES:
            none = runs.values("none", "throughput", f"{delay} ms", ber)
            for case in ("text", "fast", "fast 1"):
                rule = runs.values(case, "throughput", f"{delay} ms", ber)
                name = f"delay_{rtt}_{power(ber)}_{case.replace(' ', '_')}"
                found[name] = ratio(rule, none)
    return found


def _harm(runs: Runs) -> Estimates:
    """Effect of a threshold one tick above the base RTT on one connection without errors."""
    found: Estimates = {}
    for case in runs.measured.study.experiments["harm"].cases:
        for queue in (5, 10, 20, 50, 100):
            for ticks in (52, 55, 67):
                found[f"harm_{case}_{queue}_{ticks}"] = ratio(
                    runs.values(case, "throughput", 0.0, 1, queue, f"{ticks}0 ms"),
                    runs.values(case, "throughput", 0.0, 1, queue, "510 ms"),
                )
                found[f"harm_taken_{case}_{queue}_{ticks}"] = runs.estimate(
                    case, "taken", 0.0, 1, queue, f"{ticks}0 ms"
                )
    return found


def round_trips(result: retx.Result) -> pl.DataFrame:
    """Round trips of segments that were acknowledged separately, with the window.

    Retransmitted segments are left out, as are those that were acknowledged together with others:
    they had waited at the receiver for a missing segment.

    Columns: `acked_s`, `rtt_s`, `cwnd` (segments).
    """
    known = result.segments.filter(pl.col("length_bytes") > 0).drop_nulls("acked_s")
    again = known.filter(pl.col("retransmission")).select("seq")
    alone = known.group_by("acked_s").len().filter(pl.col("len") == 1).select("acked_s")
    sent = known.join(again, on="seq", how="anti").join(alone, on="acked_s", how="semi")
    rtts = sent.select("acked_s", rtt_s=pl.col("acked_s") - pl.col("sent_s")).sort("acked_s")
    windows = result.samples.select("time_s", cwnd=pl.col("cwnd_bytes") / SEGMENT_BYTES)
    return rtts.join_asof(windows.sort("time_s"), left_on="acked_s", right_on="time_s")


def _single(measured: Measured) -> Estimates:
    """Values from single deterministic runs, and from geometry."""
    trips = round_trips(measured.run("traces", "clean")).drop_nulls()
    base = min(trips["rtt_s"].to_list())
    at = {"link.space.channel.0.ber": 1e-7, "tcp.sender.loss_cause.threshold": "60 ms"}
    short = measured.run("short", "text", at=at).segments.drop_nulls("acked_s")
    short = short.filter(pl.col("length_bytes") > 0)
    least = min((short["acked_s"] - short["sent_s"]).to_list())
    slant_km = sqrt((EARTH_KM + ORBIT_KM) ** 2 - EARTH_KM**2)
    return {
        "correlation": float(np.corrcoef(trips["rtt_s"], trips["cwnd"])[0, 1]),
        "base_rtt_ms": 1e3 * base,
        "base_ticks": exact(round(base / TICK_S)),
        "short_base_ms": 1e3 * least,
        "short_base_ticks": exact(round(least / TICK_S)),
        "geostationary_ms": 4e3 * slant_km / LIGHT_KM_S,
    }
