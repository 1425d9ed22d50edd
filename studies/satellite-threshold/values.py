"""Named values that need single packets, or the largest difference between many runs."""

from __future__ import annotations

from math import sqrt

import numpy as np
import polars as pl

import retx
from retx.study import Measured, Named, Values, exact

from .runs import COUNTS, RATES, SEGMENT_BYTES, Runs

TICK_S = 0.01
EARTH_KM, ORBIT_KM, LIGHT_KM_S = 6378.137, 35_786.0, 299_792.458


def values(measured: Measured) -> Named:
    """Values that values.toml does not compute."""
    return _alike(measured) | _single(measured)


def _alike(measured: Measured) -> Named:
    """Largest differences between runs that should be the same, in kbit/s."""
    plain, rule = Runs(measured, "plain"), Runs(measured, "threshold")
    at_base = [
        _furthest(
            rule.throughput("text", count, ber, "510 ms"),
            plain.throughput("none", count, ber),
        )
        for count in COUNTS
        for ber in RATES
    ]
    two_variables = [
        _furthest(
            plain.throughput("base_rtt", 1, ber),
            rule.throughput("text", 1, ber, "550 ms"),
        )
        for ber in RATES
    ]
    return {"at_base": max(at_base), "two_variables": max(two_variables)}


def _furthest(one: Values, other: Values) -> float:
    return max(abs((a or 0.0) - (b or 0.0)) for a, b in zip(one, other, strict=True))


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


def _single(measured: Measured) -> Named:
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
