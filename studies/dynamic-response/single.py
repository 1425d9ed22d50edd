"""Named numbers of one flow in the simple topology: figures 1 to 3, 7 and 9a, table 2."""

from __future__ import annotations

import polars as pl

from retx.study import Measured, estimate

from .pairs import DURATION, FAULTS, READINGS, Named, P, over

SMSS = 1024
SETTLED_S = 5.0
SHOWN = 10
"""Runs looked at ACK by ACK."""
OF_TABLE_2 = ("goodput", "resent", "rto", "frr")
BESIDE_TABLE_2 = (
    "unnecessary_share",
    "lost_percent",
    "cwnd_after_rto",
    "cwnd_kept_frr",
    "resent_of_an_rto",
    "recovery",
    "first_rto",
)


def single_values(measured: Measured) -> Named:
    """All of them."""
    return _gains(measured) | _table_2(measured) | _behaviour(measured) | _limits(measured)


def _gains(measured: Measured) -> Named:
    """Figure 9a: goodput over Reno's."""
    found: Named = {}
    for case in READINGS:
        for name, p in (("0", 0), ("1", 0.01), ("2", 0.02), ("5", 0.05), ("6", 0.06), ("10", 0.1)):
            found[f"{case}_gain_{name}"] = measured.ratio("loss", case, "reno", at={P: p})
        for name, duration in FAULTS.items():
            found[f"{case}_gain_faults_{name}"] = measured.ratio(
                "faults", case, "reno", at={DURATION: duration}
            )
    found["idle_1"] = measured.estimate("loss", "reno", "idle_max", at={P: 0.01})
    for name in ("1", "3", "5"):
        found[f"idle_faults_{name}"] = measured.estimate(
            "faults", "reno", "idle_max", at={DURATION: FAULTS[name]}
        )
    for case in ("prairie_like", "westwood_plus", "veno_n", "zbs", "spike"):
        found[f"{case}_gain_5"] = measured.ratio("loss", case, "reno", at={P: 0.05})
    return found


def _table_2(measured: Measured) -> Named:
    found: Named = {}
    for experiment, tag in (("table_2", ""), ("table_2_faults", "_faults")):
        for case in ("reno", *READINGS):
            for quantity in (*OF_TABLE_2, *BESIDE_TABLE_2):
                found[f"{case}_{quantity}{tag}"] = measured.estimate(experiment, case, quantity)
        for case in READINGS:
            for quantity in ("goodput", "resent", "rto"):
                found[f"{case}_{quantity}_times{tag}"] = measured.ratio(
                    experiment, case, "reno", quantity
                )
        found[f"recovery_times{tag}"] = over(
            measured.values(experiment, "dynamic", "recovery"),
            measured.values(experiment, "reno", "recovery"),
        )
    return found


def _behaviour(measured: Measured) -> Named:
    """Figures 1 and 7."""
    clean = measured.run("behaviour", "clean")
    limit = int(clean.samples["cwnd_bytes"].to_numpy().max())
    reached = clean.samples.filter(pl.col("cwnd_bytes") == limit)["time_s"][0]
    return {
        "to_the_limit": float(reached) - 1.0,
        "limit_segments": limit / SMSS,
        "episodes_clean": float(clean.episodes.height),
        "window_after_loss": estimate(
            [_largest_after_loss(measured, number) for number in range(SHOWN)]
        ),
        "ssthresh_dynamic": estimate([_threshold(measured, number) for number in range(SHOWN)]),
    }


def _largest_after_loss(measured: Measured, replication: int) -> float:
    """Figure 1a: the largest window from a second after the first loss on, in segments."""
    result = measured.run("behaviour", "one_percent", replication)
    first = float(result.episodes["start_s"].to_numpy().min())
    own = pl.col("state").cast(pl.String) != "fast_recovery"  # where segments that left inflate it
    later = result.samples.filter((pl.col("time_s") > first + 1.0) & own)
    return float(later["cwnd_bytes"].to_numpy().max()) / SMSS


def _threshold(measured: Measured, replication: int) -> float:
    """Figure 7b: mean of the thresholds that losses set, in bytes."""
    samples = measured.run("behaviour", "dynamic", replication).samples
    new = pl.col("ssthresh_bytes") != pl.col("ssthresh_bytes").shift(1)
    set_by_losses = samples.filter(new & (pl.col("time_s") > SETTLED_S))["ssthresh_bytes"]
    return float(set_by_losses.to_numpy().mean())


def _limits(measured: Measured) -> Named:
    """Figure 3: goodput at one largest window over that at another."""
    key = "tcp.reno.max_cwnd"
    found: Named = {}
    for case in measured.study.experiments["window"].cases:
        runs = {
            size: measured.values("window", case, "goodput", at={key: f"{size} mss"})
            for size in (8, 10, 15, 50)
        }
        for size in (8, 10, 15):
            found[f"window_{case}_{size}"] = over(runs[50], runs[size])
        for size in (10, 50):
            found[f"window_lost_{case}_{size}"] = measured.estimate(
                "window", case, "lost_percent", at={key: f"{size} mss"}
            )
    return found
