"""Named numbers of many flows in the simple topology: figures 5, 8 and 9b; of figure 6."""

from __future__ import annotations

import polars as pl

from retx.study import Measured, exact

from .pairs import FLOWS, READINGS, TCP, Named, P, by_tcp, less, over, quotients

MIXES = {
    "1": "1 0:1",
    "1_9": "5 1:9",
    "2_8": "5 2:8",
    "5_5": "5 5:5",
    "3": "3 7:3",
    "8_2": "5 8:2",
    "3f": "3 7:3 faults",
}
OF_MIXES = (
    "lost_percent",
    "lost_wireless",
    "rto",
    "frr",
    "rto_each",
    "frr_each",
    "resent",
    "unnecessary_share",
    "irrelevant",
    "rto_congestion",
    "rto_wireless",
    "rto_spurious",
    "frr_congestion",
    "frr_wireless",
    "frr_spurious",
)
ALPHA = "tcp.dynamic.congestion_control.alpha"
BETA = "tcp.dynamic.congestion_control.beta"
CWND_MAX = "tcp.dynamic.congestion_control.cwnd_max"
MANY = 20
"""Retransmissions of a run from which on a share of them says something."""


def mixed_values(measured: Measured) -> Named:
    """All of them."""
    parts = (_causes, _mixes, _backoff, _parameters)
    return {name: value for part in parts for name, value in part(measured).items()}


def cause_points(measured: Measured, experiment: str) -> pl.DataFrame:
    """Means over the runs of each point of an experiment over load and errors."""
    keys = [key for key in measured.sweep(experiment).keys if key != "case"]
    table = measured.table(experiment, "derived").fill_nan(None)
    names = [name for name in table.columns if name not in ("case", "replication", *keys)]
    found = table.group_by(*keys, maintain_order=True).agg(pl.col(*names).mean())
    # Where nothing is lost there are no causes.
    return found.with_columns(
        pl.col("lost_wireless", "irrelevant", "unnecessary_share", "frr_spurious").fill_null(0.0)
    )


def _causes(measured: Measured) -> Named:
    """Figure 5, over all loads and errors."""
    found: Named = {}
    for experiment in ("causes", "causes_faults"):
        points = cause_points(measured, experiment)
        mixed = points.filter((pl.col("lost_wireless") >= 0.2) & (pl.col("lost_percent") >= 0.5))
        least = mixed.sort("irrelevant").row(0, named=True)
        many = points.filter(pl.col("resent") >= MANY)
        worst = many.sort("unnecessary_share").row(-1, named=True)
        found |= {
            f"irrelevant_least_{experiment}": exact(least["irrelevant"]),
            f"irrelevant_least_wireless_{experiment}": exact(least["lost_wireless"]),
            f"irrelevant_least_flows_{experiment}": exact(least[FLOWS]),
            f"unnecessary_worst_{experiment}": exact(worst["unnecessary_share"]),
            f"spurious_frr_most_{experiment}": exact(
                float(points["frr_spurious"].to_numpy().max())
            ),
        }
    found["unnecessary_worst"] = measured.estimate(
        "causes", "reno", "unnecessary_share", at={FLOWS: 6, P: 0.15}
    )
    return found


def _mixes(measured: Measured) -> Named:
    """Figures 5b to 5d, and 9b."""
    found: Named = {}
    for tag, case in MIXES.items():
        for quantity in OF_MIXES:
            found[f"mix_{tag}_{quantity}"] = measured.estimate(
                "mixes", case, quantity, at={TCP: "reno"}
            )
        goodputs = by_tcp(measured, "mixes")
        for tcp in READINGS:
            found[f"{tcp}_mix_gain_{tag}"] = over(goodputs(case, tcp), goodputs(case, "reno"))
            found[f"{tcp}_mix_lost_{tag}"] = measured.estimate(
                "mixes", case, "lost_percent", at={TCP: tcp}
            )
    goodputs, shares = by_tcp(measured, "mixes"), by_tcp(measured, "mixes", "unnecessary_share")
    found["unnecessary_rises"] = less(shares("5 8:2", "reno"), shares("5 2:8", "reno"))
    for tcp in READINGS:
        gains = [quotients(goodputs(c, tcp), goodputs(c, "reno")) for c in ("5 8:2", "5 1:9")]
        found[f"{tcp}_mix_gain_rises"] = less(*gains)
    return found


def _backoff(measured: Measured) -> Named:
    """Figure 8."""
    found: Named = {}
    for case in measured.study.experiments["backoff"].cases:
        for quantity in ("backoff", "idle_max", "idle", "goodput", "lost_percent", "lost_wireless"):
            found[f"backoff_{case}_{quantity}"] = measured.estimate("backoff", case, quantity)
    found["backoff_times"] = over(
        measured.values("backoff", "dynamic", "backoff"),
        measured.values("backoff", "reno", "backoff"),
    )
    found["backoff_path_times"] = over(
        measured.values("backoff", "dynamic_path", "backoff"),
        measured.values("backoff", "reno", "backoff"),
    )
    return found


def _parameters(measured: Measured) -> Named:
    """Figure 6: the paper's best values beside the best of our grid."""
    found: Named = {}
    for case, tag in (("1 %", "1"), ("5 %", "5")):
        table = _goodputs(measured, "alpha_beta", case)
        best = table.sort("value").row(-1, named=True)
        own = measured.values("alpha_beta", case, "goodput", at={ALPHA: 0.5, BETA: 10_000})
        top = measured.values(
            "alpha_beta", case, "goodput", at={ALPHA: best[ALPHA], BETA: best[BETA]}
        )
        found |= {
            f"best_alpha_{tag}": exact(best[ALPHA]),
            f"best_beta_{tag}": exact(best[BETA]),
            f"best_times_{tag}": over(top, own),
        }
        of_alpha = [
            measured.values("alpha_beta", case, "goodput", at={ALPHA: alpha, BETA: 10_000})
            for alpha in (2, 0.1)
        ]
        found[f"alpha_matters_{tag}"] = over(*of_alpha)
        of_cwnd_max = [
            measured.values("cwnd_max", case, "goodput", at={ALPHA: 0.5, CWND_MAX: size})
            for size in (65535, 25000)
        ]
        found[f"cwnd_max_matters_{tag}"] = over(*of_cwnd_max)
    return found


def _goodputs(measured: Measured, experiment: str, case: str) -> pl.DataFrame:
    """Mean goodput at each point of the grid of a case."""
    table = measured.table(experiment, "derived", case)
    keys = [key for key in measured.sweep(experiment).keys if key != "case"]
    return table.group_by(*keys, maintain_order=True).agg(value=pl.col("goodput").mean())
