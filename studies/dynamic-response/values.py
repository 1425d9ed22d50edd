"""Named numbers that claims and texts refer to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from retx.study import Measured, Named, Points, estimate, exact, mean_quotient, quotients

from .paper import from_the_paper

COUNT, P, TCP, FLOWS = (
    "link.wireless.channel.count",
    "link.wireless.channel.p",
    "flow.ftp.tcp",
    "flow.ftp.count",
)
UDP, DELAY, TO, LIMIT = "flow.udp.count", "link.wired.delay", "flow.ftp.to", "tcp.reno.max_cwnd"
ONE, OTHER = "flow.one.count", "flow.other.count"
ALPHA, BETA, CWND_MAX = (
    f"tcp.dynamic.congestion_control.{key}" for key in ("alpha", "beta", "cwnd_max")
)
ALPHAS = (0.1, 0.5, 2, 10)
BETAS = (1024, 2500, 5000, 10_000, 15_000, 20_000, 32_767)
"""Grid of figure 6a."""
READINGS = ("dynamic", "dynamic_flat", "dynamic_free", "dynamic_path")
"""The proposal: equation 5 at any time; never above cwnd_max; equation 5 at losses only; with ABW ×
least RTT."""
LOST = {0: 0, 1: 28, 2: 55, 3: 83, 5: 138, 6: 166, 8: 221}
"""Number of faults in 200 s by the loss rate of the paper, in percent."""
PRINTED = (0, 1, 5, 6)
"""Loss rates, in percent, for which the paper prints a gain."""
MIXES = {
    "1": "1 0:1",
    "1_9": "5 1:9",
    "2_8": "5 2:8",
    "5_5": "5 5:5",
    "3": "3 7:3",
    "8_2": "5 8:2",
}
OF_MIXES = (
    "lost_percent", "lost_wireless", "rto_each", "frr_each", "resent", "unnecessary_share",
    "irrelevant", "rto_congestion", "frr_congestion", "frr_spurious", "rto_one", "frr_one",
    "rto_congestion_one", "frr_congestion_one", "frr_spurious_one",
)  # fmt: skip
MANY = 20
"""Minimum number of retransmissions of a run for a meaningful share of them."""
SHOWN = 10
"""Runs looked at ACK by ACK."""
RIVALS = ("reno", "dynamic", "frto")
"""The proposal, and the senders with which verdicts compare it."""


def values(measured: Measured) -> Named:
    """Everything that claims and texts name."""
    found: Named = {}
    for part in (
        _table_2, _gains, _behaviour, limits, _causes, mixes, backoff, parameters, dumbbell,
        chain, sharing, from_the_paper,
    ):  # fmt: skip
        found |= part(measured)
    return found


def _table_2(measured: Measured) -> Named:
    """Table 2 and figure 7, by the cause of the losses."""
    cases = ("reno", *READINGS)
    found: Named = {}
    for experiment, tag in (("table_2", ""), ("table_2_errors", "_errors"), ("cell", "_cell")):
        found |= recoveries(measured, experiment, tag, cases)
    return found | goodputs(measured, cases)


def recoveries(measured: Measured, experiment: str, tag: str, cases: Sequence[str]) -> Named:
    """Goodput, recoveries and what they cost, in themselves and relative to Reno."""
    found: Named = {}
    for case in cases:
        for quantity in (
            "goodput", "rto", "frr", "resent", "unnecessary_share", "cwnd_after_rto",
            "cwnd_kept_frr", "resent_of_an_rto", "resent_of_one_rto", "recovery", "first_rto",
        ):  # fmt: skip
            found[f"{case}_{quantity}{tag}"] = measured.estimate(experiment, case, quantity)
        for quantity in ("goodput", "resent", "rto", "recovery"):
            runs = [measured.values(experiment, name, quantity) for name in (case, "reno")]
            found[f"{case}_{quantity}_times{tag}"] = mean_quotient(*runs)
    return found


def goodputs(measured: Measured, cases: Sequence[str]) -> Named:
    """Goodput and lost packets of table 2."""
    found: Named = {}
    for case in cases:
        kbit = measured.estimate("table_2", case, "flow.ftp.goodput_bit_s")
        found[f"{case}_bit_s"] = kbit
        found[f"{case}_lost"] = measured.estimate("table_2", case, "lost_percent")
    return found


def gain(measured: Measured, experiment: str, case: str, percents: Iterable[int]) -> Points:
    """Figure 9a: goodput relative to Reno, by loss rate."""
    curve = {}
    for percent in percents:
        at = {COUNT: LOST[percent]}
        runs = [measured.values(experiment, name, "goodput", at=at) for name in (case, "reno")]
        curve[str(percent)] = quotients(*runs)
    return Points(curve, geometric=True)


def _gains(measured: Measured) -> Named:
    found: Named = {}
    for case in READINGS:
        curves = [gain(measured, "loss", case, LOST)]
        if case == "dynamic":
            curves.append(gain(measured, "gain", case, PRINTED))
        for curve in curves:
            found[f"{case}_gain"] = curve
            for point, runs in curve.runs.items():
                found[f"{case}_gain_{point}"] = estimate(list(runs))
        for percent in (1, 5, 6):
            found[f"{case}_gain_errors_{percent}"] = measured.ratio(
                "errors", case, "reno", at={P: percent / 100}
            )
    found["idle_1"] = measured.estimate("loss", "reno", "idle_max", at={COUNT: LOST[1]})
    found["idle_5"] = measured.estimate("loss", "reno", "idle_max", at={COUNT: LOST[5]})
    return found


def _behaviour(measured: Measured) -> Named:
    """Figures 1 and 7b."""
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


def limits(measured: Measured, cases: Sequence[str] = ()) -> Named:
    """Figure 3: goodput by the largest window; in all cases unless some are named."""
    found: Named = {}
    for case in cases or measured.study.experiments["window"].cases:
        runs = {
            str(size): measured.values("window", case, "goodput", at={LIMIT: f"{size} mss"})
            for size in (4, 6, 8, 10, 15, 20, 30, 40, 50)
        }
        found[f"window_{case}"] = Points(runs)
        found[f"window_{case}_8"] = mean_quotient(runs["50"], runs["8"])
    return found


def cause_points(measured: Measured) -> pl.DataFrame:
    """Means over the runs of each point of the experiment over load and faults."""
    table = measured.table("causes", "derived").fill_nan(None)
    names = [name for name in table.columns if name not in ("case", "replication", FLOWS, COUNT)]
    found = table.group_by(FLOWS, COUNT, maintain_order=True).agg(pl.col(*names).mean())
    # Without losses there are no causes.
    return found.with_columns(pl.col("lost_wireless", "irrelevant").fill_null(0.0))


def _causes(measured: Measured) -> Named:
    """Figure 5, over all loads and faults."""
    points = cause_points(measured)
    mixed = points.filter((pl.col("lost_wireless") >= 0.2) & (pl.col("lost_percent") >= 0.5))
    worst = points.filter(pl.col("resent") >= MANY).sort("unnecessary_share").row(-1, named=True)
    at = {FLOWS: worst[FLOWS], COUNT: worst[COUNT]}
    return {
        "irrelevant_least": exact(mixed.sort("irrelevant").row(0, named=True)["irrelevant"]),
        "unnecessary_worst": measured.estimate("causes", "reno", "unnecessary_share", at=at),
        "unnecessary_worst_flows": exact(at[FLOWS]),
        "unnecessary_worst_faults": exact(at[COUNT]),
        "go_back_n_unnecessary_share": measured.estimate("go_back_n", "tahoe", "unnecessary_share"),
    }


def mixes(
    measured: Measured, readings: Sequence[str] = READINGS[:3], gains: Iterable[str] = MIXES
) -> Named:
    """Figures 5b to 5d, and 9b."""
    found: Named = {}
    for tag, case in MIXES.items():
        for quantity in OF_MIXES:
            found[f"mix_{tag}_{quantity}"] = measured.estimate(
                "mixes", case, quantity, at={TCP: "reno"}
            )
        reno = measured.values("mixes", case, "goodput", at={TCP: "reno"})
        for tcp in readings if tag in gains else ():
            own = measured.values("mixes", case, "goodput", at={TCP: tcp})
            found[f"{tcp}_mix_gain_{tag}"] = mean_quotient(own, reno)
            found[f"{tcp}_mix_lost_{tag}"] = measured.estimate(
                "mixes", case, "lost_percent", at={TCP: tcp}
            )
    shares = {
        ratio: measured.values("mixes", MIXES[tag], "unnecessary_share", at={TCP: "reno"})
        for ratio, tag in (("0.2", "2_8"), ("0.5", "5_5"), ("0.8", "8_2"))
    }
    return found | {"unnecessary_by_mix": Points(shares)}


def backoff(measured: Measured, cases: Sequence[str] = ()) -> Named:
    """Figure 8; all cases unless some are named."""
    found: Named = {}
    for case in cases or measured.study.experiments["backoff"].cases:
        for quantity in ("backoff", "idle_max", "goodput", "lost_percent", "lost_wireless"):
            found[f"backoff_{case}_{quantity}"] = measured.estimate("backoff", case, quantity)
    return found


def parameters(measured: Measured, cases: Sequence[str] = ()) -> Named:
    """Figure 6: the paper's best values and the best of our grid, in all cases or some."""
    found: Named = {}
    for case in cases or measured.study.experiments["alpha_beta"].cases:
        grid = {
            (alpha, beta): measured.values(
                "alpha_beta", case, "goodput", at={ALPHA: alpha, BETA: beta}
            )
            for alpha in ALPHAS
            for beta in BETAS
        }
        best = max(grid, key=lambda point: sum(one or 0.0 for one in grid[point]))
        found |= {
            f"best_alpha_{case}": exact(best[0]),
            f"best_beta_{case}": exact(best[1]),
            f"best_times_{case}": mean_quotient(grid[best], grid[0.5, 10_000]),
        }
        sizes = {
            size: measured.values("cwnd_max", case, "goodput", at={CWND_MAX: size})
            for size in (10_000, 15_000, 25_000, 40_000, 65_535)
        }
        best_size = max(sizes, key=lambda size: sum(one or 0.0 for one in sizes[size]))
        found[f"best_cwnd_max_{case}"] = exact(best_size)
        found[f"best_cwnd_max_times_{case}"] = mean_quotient(sizes[best_size], sizes[25_000])
    return found


def dumbbell(measured: Measured, others: bool = True) -> Named:
    """Figure 11: the senders at the ends of the axes, and the proposal over the best rival."""
    found: Named = {}
    for tag, experiment, at, quantity in (
        ("faults", "dumbbell_faults", {COUNT: 75}, "goodput"),
        ("reverse", "dumbbell_reverse", {UDP: 10}, "goodput"),
        ("delay", "dumbbell_delay", {DELAY: "90 ms"}, "goodput"),
        ("unnecessary", "dumbbell_faults", {COUNT: 75}, "unnecessary"),
    ):
        judged = f"judged_{experiment}"
        runs = {case: measured.values(judged, case, quantity) for case in RIVALS}
        found[f"dumbbell_{tag}"] = Points(runs)
        for case in RIVALS:
            found[f"dumbbell_{tag}_{case}"] = mean_quotient(runs[case], runs["reno"])
        for case in measured.study.experiments[experiment].cases if others else ():
            if case not in RIVALS:
                pair = [measured.values(experiment, it, quantity, at=at) for it in (case, "reno")]
                found[f"dumbbell_{tag}_{case}"] = mean_quotient(*pair)
    faults = (0, 15, 30, 45, 60, 75)
    found["others_unnecessary"] = Points(
        {
            str(n): measured.values("dumbbell_faults", "reno", "unnecessary", at={COUNT: n})
            for n in faults
        }
    )
    return found


def chain(
    measured: Measured, senders: Sequence[str] = (), without_faults: Sequence[str] = READINGS
) -> Named:
    """Figure 12: all senders unless some are named."""
    found: Named = {}
    cases = senders or list(measured.study.experiments["chain"].cases)
    runs = {
        (case, hops): measured.values("chain", case, "goodput", at={TO: f"n{hops}"})
        for case in cases
        for hops in (1, 2, 3, 4)
    }
    found["chain"] = Points({case: runs[case, 4] for case in cases})
    for case in cases:
        each = {str(hops): quotients(runs[case, hops], runs["reno", hops]) for hops in (1, 2, 3, 4)}
        found[f"chain_{case}"] = Points(each, geometric=True)
        for ends in ("1", "4"):
            found[f"chain_{case}_{ends}"] = estimate(each[ends])
    for case in without_faults:
        for hops in (1, 4):
            found[f"chain_clean_{case}_{hops}"] = measured.ratio(
                "chain_clean", case, "reno", at={TO: f"n{hops}"}
            )
    shares = {
        str(hops): measured.values("chain", "reno", "irrelevant", at={TO: f"n{hops}"})
        for hops in (1, 2, 3, 4)
    }
    return found | {"chain_irrelevant": Points(shares)}


def sharing(measured: Measured, cases: Sequence[str] = ("reno", *READINGS)) -> Named:
    """Figure 14 and table 3."""
    found: Named = {}
    for case in cases:
        index = [
            measured.estimate("fairness", case, "jain", at={ONE: half, OTHER: half})
            for half in range(1, 7)
        ]
        found[f"jain_{case}_2"] = index[0]
        found[f"jain_{case}_least"] = min((it for it in index if it), key=lambda it: it.mean)
        ratios, renos = {}, {}
        for count in (1, 3, 5, 7, 9):
            at = {ONE: count, OTHER: 10 - count}
            ratios[str(count)] = measured.values("friendliness", case, "advantage", at=at)
            renos[str(count)] = measured.values("friendliness", case, "goodput_one", at=at)
            found[f"advantage_{case}_{count}"] = estimate(ratios[str(count)])
            found[f"all_{case}_{count}"] = measured.estimate("friendliness", case, "goodput", at=at)
        found[f"advantage_{case}"] = Points(ratios, geometric=True)
        found[f"harm_{case}"] = mean_quotient(renos["1"], renos["9"])
        found[f"pair_{case}"] = measured.ratio("pair", case, "reno", "goodput_one")
        found[f"pair_{case}_all"] = measured.estimate("pair", case, "goodput")
    return found
