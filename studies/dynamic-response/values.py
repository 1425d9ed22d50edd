"""Named values that values.toml does not compute: of the paper, of single runs, best points."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from retx.study import Measured, Named, estimate, mean_quotient

COUNT, FLOWS = "link.wireless.channel.count", "flow.ftp.count"
ALPHA, BETA = (f"tcp.dynamic.congestion_control.{key}" for key in ("alpha", "beta"))
BOUNDS = ("dynamic", "dynamic_flat", "dynamic_free")
"""The proposal with equation 5 at any time, with cwnd_max, and with equation 5 at losses only."""
MANY = 20
"""Minimum number of retransmissions of a run for a meaningful share of them."""
SHOWN = 10
"""Runs looked at ACK by ACK."""


def values(measured: Measured) -> Named:
    """Values that values.toml does not compute."""
    return best_parameters(measured) | _causes(measured) | _behaviour(measured) | PAPER


def held_out(measured: Measured) -> Named:
    """The value of the claim on figure 6a."""
    return best_parameters(measured, BOUNDS[:1])


def best_parameters(measured: Measured, bounds: Sequence[str] = BOUNDS) -> Named:
    """Figure 6a: goodput at the best α and β of our grid, relative to that at the paper's."""
    found: Named = {}
    axes = measured.axes("alpha_beta")
    for case in bounds:
        goodputs = {
            (alpha, beta): measured.values(
                "alpha_beta", case, "goodput", at={ALPHA: alpha, BETA: beta}
            )
            for alpha in axes[ALPHA]
            for beta in axes[BETA]
        }
        best = max(goodputs, key=lambda point: sum(one or 0.0 for one in goodputs[point]))
        found[f"best_beta_{case}"] = float(best[1])
        found[f"best_times_{case}"] = mean_quotient(goodputs[best], goodputs[0.5, 10_000])
    return found


def cause_points(measured: Measured) -> list[dict[str, float]]:
    """Means over the runs at each load and number of faults (figure 5)."""
    axes = measured.axes("causes")
    quantities = ("lost_percent", "lost_wireless", "irrelevant", "resent", "unnecessary_share")
    return [
        {FLOWS: flows, COUNT: count}
        | {
            name: measured.mean("causes", "reno", name, at={FLOWS: flows, COUNT: count})
            for name in quantities
        }
        for flows in axes[FLOWS]
        for count in axes[COUNT]
    ]


def _causes(measured: Measured) -> Named:
    """Figure 5: the extreme points of those with enough losses, or enough retransmissions."""
    points = cause_points(measured)
    mixed = [it for it in points if it["lost_wireless"] >= 0.2 and it["lost_percent"] >= 0.5]
    often = (it for it in points if it["resent"] >= MANY)
    worst = max(often, key=lambda it: it["unnecessary_share"])
    at = {FLOWS: worst[FLOWS], COUNT: worst[COUNT]}
    return {
        "irrelevant_least": min(it["irrelevant"] for it in mixed),
        "unnecessary_worst": measured.estimate("causes", "reno", "unnecessary_share", at=at),
    }


def _behaviour(measured: Measured) -> Named:
    """Figures 1 and 7b, ACK by ACK."""
    clean = measured.run("behaviour", "clean")
    limit = int(clean.samples["cwnd_bytes"].to_numpy().max())
    reached = clean.samples.filter(pl.col("cwnd_bytes") == limit)["time_s"][0]
    each = range(SHOWN)
    return {
        "to_the_limit": float(reached) - 1.0,
        "episodes_clean": float(clean.episodes.height),
        "window_after_loss": estimate([_largest_after_loss(measured, one) for one in each]),
        "ssthresh_dynamic": estimate([_threshold(measured, one) for one in each]),
    }


def _largest_after_loss(measured: Measured, replication: int) -> float:
    """Figure 1a: the largest window, in segments, later than a second after the first loss."""
    result = measured.run("behaviour", "one_percent", replication)
    first = float(result.episodes["start_s"].to_numpy().min())
    own = pl.col("state").cast(pl.String) != "fast_recovery"  # where segments that left inflate it
    later = result.samples.filter((pl.col("time_s") > first + 1.0) & own)
    return float(later["cwnd_bytes"].to_numpy().max()) / 1024


def _threshold(measured: Measured, replication: int) -> float:
    """Figure 7b: mean of the thresholds set after losses, in bytes."""
    samples = measured.run("behaviour", "dynamic", replication).samples
    new = pl.col("ssthresh_bytes") != pl.col("ssthresh_bytes").shift(1)
    set_by_losses = samples.filter(new & (pl.col("time_s") > 5))["ssthresh_bytes"]
    return float(set_by_losses.to_numpy().mean())


PAPER: Named = {
    "paper_recovery_11": 11e6 * 0.1**2 / (2 * 8 * 1000),
    "paper_recovery_54": 54e6 * 0.1**2 / (2 * 8 * 1000),
    "paper_waits": 2.0 + 3 + 6 + 12 + 24,
    "paper_first_wait": 1.2,
    "paper_loss_rate_20": 100 / 20,
    "paper_resent_needed": (1 - 0.30) * 727,
}
"""Numbers computed from those in the paper's text."""
