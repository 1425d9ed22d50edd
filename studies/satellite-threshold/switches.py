"""Estimates numbers of runs with one change each, which support the reasons of claims."""

from __future__ import annotations

import polars as pl

from retx.study import Estimate, Estimates, Measured, Values

from .runs import BER, RATES, SEGMENT_BYTES, Runs, of_means, power, ratio

NONE, NEAR, FIGURE_2, FAR = "0 ms", "20 ms", "40 ms", "90 ms"
"""Thresholds above the base RTT: no rule, and the paper's 53, 55 and 60 ticks."""
SWITCHED = (
    "open",
    "open_clean",
    "open_bursts",
    "open_several",
    "open_short",
    "open_westwood",
    "remedies",
    "last_hop",
)
"""The experiments from which these values are computed, in addition to `shrink`."""
SEVERAL = (2, 3)
SEVERAL_RATES = (1e-5, 1e-7)
"""Connections and error rates of the experiment `open_several`."""


def switch_values(measured: Measured, runs: dict[str, Runs]) -> Estimates:
    """All values, from the runs by experiment; names end in case and power of the error rate."""
    return (
        _one(runs["open"])
        | _recovered(runs["open"], runs["open_clean"])
        | _bursts(runs["open_bursts"], runs["open_clean"])
        | _beside(runs)
        | _several(runs["open_several"])
        | _short(runs["open_short"])
        | _westwood(runs["open_westwood"])
        | _shrunk(measured)
    )


def level(far: Values, near: Values, none: Values) -> Estimate | None:
    """Gain of the higher threshold over the lower, relative to the throughput without the rule."""
    return of_means(lambda last, first, base: (last - first) / base, far, near, none)


def _regained(rule: Values, none: Values, whole: Values) -> Estimate | None:
    """Share of the throughput lost by errors that the rule regains."""

    def share(with_rule: float, without: float, clean: float) -> float:
        return (with_rule - without) / (clean - without) if with_rule != without else 0.0

    return of_means(share, rule, none, whole)


def _cases(runs: Runs) -> list[str]:
    return list(runs.measured.study.experiments[runs.name].cases)


def _one(runs: Runs) -> Estimates:
    """Values of one connection: gains, and their change at high thresholds."""
    found: Estimates = {}
    for case in _cases(runs):
        for ber in RATES:
            none, near, far = (runs.values(case, "throughput", ber, t) for t in (NONE, NEAR, FAR))
            end = f"{case}_{power(ber)}"
            found[f"open_{end}"] = ratio(near, none)
            found[f"open_high_{end}"] = ratio(far, none)
            found[f"level_open_{end}"] = level(far, near, none)
            found[f"right_open_{end}"] = runs.estimate(case, "right", ber, FIGURE_2)
        found[f"order_open_{case}"] = of_means(
            lambda a, b, c, d: (a / b) / (c / d),
            *(
                runs.values(case, "throughput", ber, threshold)
                for ber in RATES[:2]
                for threshold in (FIGURE_2, NONE)
            ),
        )
    return found


def _recovered(runs: Runs, clean: Runs) -> Estimates:
    """Values of one connection, relative to the same without errors."""
    found: Estimates = {}
    for case in _cases(runs):
        whole = clean.values(case, "throughput")
        found[f"clean_open_{case}"] = clean.estimate(case, "throughput")
        for ber in RATES:
            end = f"{case}_{power(ber)}"
            none, rule = (runs.values(case, "throughput", ber, t) for t in (NONE, FIGURE_2))
            found[f"share_open_{end}"] = ratio(rule, whole)
            found[f"bare_open_{end}"] = ratio(none, whole)
            found[f"regained_open_{end}"] = _regained(rule, none, whole)
            found[f"kbit_open_{end}"] = runs.estimate(case, "throughput", ber, FIGURE_2)
    return found


def _bursts(runs: Runs, clean: Runs) -> Estimates:
    """Values with bursts of errors, by the error rate that loses the same number of packets."""
    found: Estimates = {}
    whole = clean.values("assumed", "throughput")
    for case in _cases(runs):
        none, near, rule, far = (
            runs.values(case, "throughput", t) for t in (NONE, NEAR, FIGURE_2, FAR)
        )
        found[f"open_bursts_{case}"] = ratio(near, none)
        found[f"level_bursts_{case}"] = level(far, near, none)
        found[f"share_bursts_{case}"] = ratio(rule, whole)
        found[f"regained_bursts_{case}"] = _regained(rule, none, whole)
    return found


def _beside(runs: dict[str, Runs]) -> Estimates:
    """Shares of the error-free throughput: with known causes, and with errors on the last hop."""
    whole = runs["open_clean"].values("assumed", "throughput")
    asked = {
        "eln_share": ("remedies", "eln"),
        "last_hop_none_share": ("last_hop", "none"),
        "last_hop_arq_share": ("last_hop", "arq"),
    }
    return {
        f"{name}_{power(ber)}": ratio(runs[experiment].values(case, "throughput", ber), whole)
        for name, (experiment, case) in asked.items()
        for ber in RATES
    }


def _several(runs: Runs) -> Estimates:
    """Values of two and three connections: gains, the largest gain at the same rate, and levels."""
    found: Estimates = {}
    for case in _cases(runs):
        for count in SEVERAL:
            for ber in SEVERAL_RATES:
                none, near, far = (
                    runs.values(case, "throughput", count, ber, t) for t in (NONE, NEAR, FAR)
                )
                end = f"{count}_{case}_{power(ber)}"
                found[f"several_{end}"] = ratio(near, none)
                found[f"several_high_{end}"] = ratio(far, none)
                found[f"several_level_{end}"] = level(far, near, none)
                found[f"several_kbit_{end}"] = runs.estimate(case, "throughput", count, ber, FAR)
    for count in SEVERAL:
        gains = [found[f"several_{count}_{case}_7"] for case in _cases(runs) if "rate" not in case]
        known = [one for one in gains if isinstance(one, Estimate)]
        found[f"several_{count}_most_7"] = max(known, key=lambda one: one.mean)
    return found


def _short(runs: Runs) -> Estimates:
    """Gains with a round trip of 50 ms."""
    return {
        f"open_short_{case}_{power(ber)}": ratio(
            runs.values(case, "throughput", ber, FIGURE_2),
            runs.values(case, "throughput", ber, NONE),
        )
        for case in _cases(runs)
        for ber in RATES
    }


def _westwood(runs: Runs) -> Estimates:
    """Gains of Westwood, and the smallest of the three error rates."""
    found: Estimates = {}
    for case in _cases(runs):
        gains = {
            ber: ratio(
                runs.values(case, "throughput", ber, FIGURE_2),
                runs.values(case, "throughput", ber, NONE),
            )
            for ber in RATES
        }
        found |= {f"westwood_{case}_{power(ber)}": gain for ber, gain in gains.items()}
        known = [gain for gain in gains.values() if gain is not None]
        found[f"westwood_{case}_least"] = min(known, key=lambda one: one.mean)
    return found


def _shrunk(measured: Measured) -> Estimates:
    """Shares of the recoveries after which the window is one segment."""
    found: Estimates = {}
    count = measured.plan.replications_of(measured.study.experiments["shrink"], "reno")
    runs = pl.DataFrame({"replication": range(count)})
    for case in measured.study.experiments["shrink"].cases:
        for ber in RATES:
            episodes = measured.table("shrink", "episodes", case, at={BER: ber})
            each = episodes.group_by(pl.col("replication").cast(pl.Int64)).agg(
                all=pl.len(), one=(pl.col("cwnd_after_bytes") <= SEGMENT_BYTES).sum()
            )
            counts = runs.join(each, on="replication", how="left").fill_null(0)
            found[f"to_one_{case}_{power(ber)}"] = ratio(
                counts["one"].to_list(), counts["all"].to_list()
            )
    return found
