"""Named values that values.toml cannot say: of single runs, and the best of many points."""

from __future__ import annotations

import polars as pl

from retx.study import Estimate, Measured, Values, estimate, mean_quotient

COUNT, FLOWS = "link.wireless.channel.count", "flow.ftp.count"
ALPHA, BETA = (f"tcp.dynamic.congestion_control.{key}" for key in ("alpha", "beta"))
MANY = 20
"""Minimum number of retransmissions of a run for a meaningful share of them."""
SHOWN = 10
"""Runs looked at ACK by ACK."""


def _by_parameters(measured: Measured, case: str) -> dict[tuple[float, float], Values]:
    """Figure 6a: goodputs by α and β of our grid."""
    axes = measured.axes("alpha_beta")
    place = f"alpha_beta/{case} @ alpha={{}}, beta={{}}"
    return {
        (alpha, beta): measured.at(place.format(alpha, beta)).values("goodput")
        for alpha in axes[ALPHA]
        for beta in axes[BETA]
    }


def _best(goodputs: dict[tuple[float, float], Values]) -> tuple[float, float]:
    return max(goodputs, key=lambda point: sum(one or 0.0 for one in goodputs[point]))


def best_beta(measured: Measured, case: str) -> float:
    """Figure 6a: the β of the highest goodput."""
    return _best(_by_parameters(measured, case))[1]


def best_times(measured: Measured, case: str) -> Estimate | None:
    """Figure 6a: goodput at the best α and β, relative to that at the paper's."""
    goodputs = _by_parameters(measured, case)
    return mean_quotient(goodputs[_best(goodputs)], goodputs[0.5, 10_000])


def cause_points(measured: Measured) -> list[dict[str, float]]:
    """Means over the runs at each load and number of faults (figure 5)."""
    axes = measured.axes("causes")
    quantities = ("lost_percent", "lost_wireless", "irrelevant", "resent", "unnecessary_share")
    return [
        {FLOWS: flows, COUNT: count} | {name: place.mean(name) for name in quantities}
        for flows in axes[FLOWS]
        for count in axes[COUNT]
        for place in [measured.at(f"causes/reno @ {FLOWS}={flows}, {COUNT}={count}")]
    ]


def irrelevant_least(measured: Measured) -> float:
    """Figure 5: the smallest share at a point with enough losses."""
    return min(
        it["irrelevant"]
        for it in cause_points(measured)
        if it["lost_wireless"] >= 0.2 and it["lost_percent"] >= 0.5
    )


def unnecessary_worst(measured: Measured) -> Estimate | None:
    """Figure 5: the largest share at a point with enough retransmissions."""
    often = (it for it in cause_points(measured) if it["resent"] >= MANY)
    worst = max(often, key=lambda it: it["unnecessary_share"])
    place = measured.at(f"causes/reno @ {FLOWS}={worst[FLOWS]}, {COUNT}={worst[COUNT]}")
    return place.estimate("unnecessary_share")


def to_the_limit(measured: Measured) -> float:
    """Figure 1: time until the window of a run without errors is largest, s."""
    samples = measured.at("behaviour/clean").run().samples
    limit = int(samples["cwnd_bytes"].to_numpy().max())
    return float(samples.filter(pl.col("cwnd_bytes") == limit)["time_s"][0]) - 1.0


def window_after_loss(measured: Measured) -> Estimate | None:
    """Figure 1a: the largest windows after the first second of losses."""
    return estimate([_largest_after_loss(measured, one) for one in range(SHOWN)])


def ssthresh_dynamic(measured: Measured) -> Estimate | None:
    """Figure 7b: the thresholds set after losses, in bytes."""
    return estimate([_threshold(measured, one) for one in range(SHOWN)])


def _largest_after_loss(measured: Measured, replication: int) -> float:
    """Figure 1a: the largest window, in segments, later than a second after the first loss."""
    result = measured.at("behaviour/one_percent").run(replication)
    first = float(result.episodes["start_s"].to_numpy().min())
    own = pl.col("state").cast(pl.String) != "fast_recovery"  # where segments that left inflate it
    later = result.samples.filter((pl.col("time_s") > first + 1.0) & own)
    return float(later["cwnd_bytes"].to_numpy().max()) / 1024


def _threshold(measured: Measured, replication: int) -> float:
    """Figure 7b: mean of the thresholds set after losses, in bytes."""
    samples = measured.at("behaviour/dynamic").run(replication).samples
    new = pl.col("ssthresh_bytes") != pl.col("ssthresh_bytes").shift(1)
    set_by_losses = samples.filter(new & (pl.col("time_s") > 5))["ssthresh_bytes"]
    return float(set_by_losses.to_numpy().mean())
