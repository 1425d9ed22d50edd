"""Named numbers of the dumbbell, the chain and of shared bottlenecks: figures 11, 12 and 14."""

from __future__ import annotations

from typing import Any

from retx.study import Estimate, Measured

from .pairs import READINGS, RIVALS, At, Named, less, over, quotients

COUNT, UDP, DELAY, TO = (
    "link.wireless.channel.count",
    "flow.udp.count",
    "link.wired.delay",
    "flow.ftp.to",
)


def network_values(measured: Measured) -> Named:
    """All of them."""
    return _dumbbell(measured) | _chain(measured) | _sharing(measured)


def beside_rivals(
    measured: Measured, experiment: str, case: str, at: At, quantity: str = "goodput"
) -> tuple[str, Estimate | None]:
    """The best of what the paper compares with, by its mean, and a case's quantity over its."""
    means = {name: measured.mean(experiment, name, quantity, at=at) for name in RIVALS}
    choose: Any = max if quantity == "goodput" else min
    best = choose(means, key=lambda name: means[name])
    runs = [measured.values(experiment, name, quantity, at=at) for name in (case, best)]
    return best, over(*runs)


def _dumbbell(measured: Measured) -> Named:
    """Figure 11."""
    places: list[tuple[str, str, At]] = [
        ("faults_0", "dumbbell_faults", {COUNT: 0}),
        ("faults_75", "dumbbell_faults", {COUNT: 75}),
        ("udp_10", "dumbbell_reverse", {UDP: 10}),
        ("delay_90", "dumbbell_delay", {DELAY: "90 ms"}),
        ("delay_5", "dumbbell_delay", {DELAY: "5 ms"}),
    ]
    found: Named = {}
    for tag, experiment, at in places:
        for case in READINGS:
            _, found[f"dumbbell_{case}_{tag}"] = beside_rivals(measured, experiment, case, at)
        for case in ("reno", *READINGS):
            found[f"dumbbell_{case}_{tag}_lost"] = measured.estimate(
                experiment, case, "lost_percent", at=at
            )
            found[f"dumbbell_{case}_{tag}_goodput"] = measured.estimate(
                experiment, case, "goodput", at=at
            )
    at = {COUNT: 75}
    for case in READINGS:
        _, found[f"dumbbell_{case}_unnecessary"] = beside_rivals(
            measured, "dumbbell_faults", case, at, "unnecessary"
        )
    found["dumbbell_unnecessary_rises"] = less(
        *(
            measured.values("dumbbell_faults", "reno", "unnecessary", at={COUNT: count})
            for count in (75, 0)
        )
    )
    return found | _degradation(measured)


def _degradation(measured: Measured) -> Named:
    """Goodput with 75 faults relative to none, for each variant in the paper."""
    kept = {
        case: quotients(
            measured.values("dumbbell_faults", case, "goodput", at={COUNT: 75}),
            measured.values("dumbbell_faults", case, "goodput", at={COUNT: 0}),
        )
        for case in (*RIVALS, *READINGS)
    }
    ones: list[float | None] = [1.0] * len(kept["reno"])
    found: Named = {f"kept_{case}": over(runs, ones) for case, runs in kept.items()}
    others = [case for case in kept if case not in ("prairie_like", "dynamic_path")]
    means = {case: sum(value or 0.0 for value in kept[case]) for case in others}
    least = min(means, key=lambda case: means[case])
    found["prairie_degrades_most"] = less(kept["prairie_like"], kept[least])
    return found


def _chain(measured: Measured) -> Named:
    """Figure 12."""
    found: Named = {}
    gains = {}
    for case in READINGS:
        for hops in (1, 2, 3, 4):
            at = {TO: f"n{hops}"}
            runs = [measured.values("chain", name, "goodput", at=at) for name in (case, "reno")]
            gains[case, hops] = quotients(*runs)
            found[f"chain_{case}_{hops}"] = over(*runs)
            _, found[f"chain_{case}_best_{hops}"] = beside_rivals(measured, "chain", case, at)
        found[f"chain_{case}_rises"] = less(gains[case, 4], gains[case, 1])
    for hops in (1, 4):
        for case in ("reno", "dynamic"):
            for quantity in ("irrelevant", "rto", "frr", "resent", "unnecessary_share"):
                found[f"chain_{case}_{quantity}_{hops}"] = measured.estimate(
                    "chain", case, quantity, at={TO: f"n{hops}"}
                )
    found["chain_irrelevant_rises"] = less(
        *(measured.values("chain", "reno", "irrelevant", at={TO: f"n{hops}"}) for hops in (4, 1))
    )
    return found


def _sharing(measured: Measured) -> Named:
    """Figure 14 and table 3."""
    found: Named = {}
    for case in ("reno", *READINGS):
        for half in range(1, 7):
            at = {"flow.one.count": half, "flow.other.count": half}
            found[f"jain_{case}_{2 * half}"] = measured.estimate("fairness", case, "jain", at=at)
        means = [found[f"jain_{case}_{2 * half}"] for half in range(1, 7)]
        known = [one for one in means if isinstance(one, Estimate)]
        found[f"jain_{case}_least"] = min(known, key=lambda one: one.mean)
    for case in ("dynamic", "dynamic_path"):
        found[f"pair_harm_{case}"] = measured.ratio("pair", case, "reno", "goodput_one")
    for case in measured.study.experiments["pair"].cases:
        found[f"pair_{case}_one"] = measured.estimate("pair", case, "goodput_one")
        found[f"pair_{case}_other"] = measured.estimate("pair", case, "goodput_other")
        found[f"pair_{case}_all"] = measured.estimate("pair", case, "goodput")
    for tag in ("", "_path", "_queue"):
        for case in ("1", "5", "9"):
            name = f"friendliness{tag}"
            found[f"advantage{tag}_{case}"] = measured.estimate(name, case, "advantage")
            found[f"all{tag}_{case}"] = measured.estimate(name, case, "goodput")
        found[f"harm{tag}"] = (
            over(
                measured.values(f"friendliness{tag}", "5", "goodput_one"),
                measured.values("friendliness_reno", "5", "goodput_one"),
            )
            if tag != "_queue"
            else None
        )
    found["all_reno"] = measured.estimate("friendliness_reno", "5", "goodput")
    return found
