"""Named numbers of runs that change one thing at a time: what the claims' reasons rest on."""

from __future__ import annotations

import polars as pl

from retx.study import Estimate, Measured, estimate

from .network import COUNT, beside_rivals
from .pairs import FLOWS, READINGS, TCP, At, Named, P, Runs, by_tcp, over
from .quantities import SAMPLE

MIXED: dict[str, At] = {
    "3": {FLOWS: 14, P: 0.021},
    "2_8": {FLOWS: 20, P: 0.01},
    "1": {FLOWS: 6, P: 0},
    "worst": {FLOWS: 6, P: 0.15},
}
"""Points of the experiment `switches`, by what claims call them."""
OF_MIXED = (
    "lost_wireless",
    "rto_each",
    "rto_congestion",
    "rto_spurious",
    "frr_each",
    "frr_congestion",
    "frr_spurious",
    "irrelevant",
    "unnecessary_share",
)
UDP_RATE, UDP_COUNT = "flow.udp.udp.rate", "flow.udp.count"
UDP_RATES = ("25", "100", "150", "200")
"""In kbit/s."""
SENDERS = ("reno", *READINGS)
OPEN = ("open", "open_faults", "open_dumbbell", "open_chain", "open_cell")
"""Experiments with one change in each case, and Reno and the proposal at each."""


def switch_values(measured: Measured) -> Named:
    """All of them."""
    parts = (_open, _mixes, _gains, _recoveries, _windows, _prairie, _udp, _shared)
    return {name: value for part in parts for name, value in part(measured).items()}


def tag(case: str) -> str:
    """A case as part of a value's name."""
    return case.replace(" ", "_")


def _open(measured: Measured) -> Named:
    """Goodputs, the proposal over Reno, recoveries, copies."""
    found: Named = {}
    for experiment in OPEN:
        goodputs = by_tcp(measured, experiment)
        for case in measured.study.experiments[experiment].cases:
            name = f"{experiment}_{tag(case)}"
            for tcp in SENDERS:
                found[f"{name}_{tcp}_times"] = over(goodputs(case, tcp), goodputs(case, "reno"))
                for key, quantity in (
                    ("", "goodput"),
                    ("_unnecessary", "unnecessary_share"),
                    ("_rto", "rto"),
                    ("_frr", "frr"),
                    ("_irrelevant", "irrelevant"),
                    ("_resent", "resent"),
                ):
                    found[f"{name}_{tcp}{key}"] = measured.estimate(
                        experiment, case, quantity, at={TCP: tcp}
                    )
    return found


def _mixes(measured: Measured) -> Named:
    """Causes of Reno's recoveries: with faults, and with independent errors."""
    found: Named = {}
    cases = measured.study.experiments
    for case in cases["mix_switches"].cases:
        for quantity in OF_MIXED:
            found[f"switch_{tag(case)}_{quantity}"] = measured.estimate(
                "mix_switches", case, quantity
            )
    for case in cases["switches"].cases:
        for mix, at in MIXED.items():
            for quantity in OF_MIXED:
                found[f"with_{mix}_{tag(case)}_{quantity}"] = measured.estimate(
                    "switches", case, quantity, at=at
                )
    return found


GAINS: dict[str, At] = {"1_9": {FLOWS: 20, P: 0.005}, "8_2": {FLOWS: 22, P: 0.04}}
"""Points of the experiment `gains`."""


def _gains(measured: Measured) -> Named:
    """Figure 9b: the proposal's goodput over Reno's under the same change."""
    found: Named = {}
    for case in measured.study.experiments["gains"].cases:
        for mix, at in GAINS.items():
            own, reno = (
                measured.values("gains", case, "goodput", at=at | {TCP: tcp})
                for tcp in ("dynamic", "reno")
            )
            found[f"gain_{mix}_{tag(case)}"] = over(own, reno)
    return found


def _recoveries(measured: Measured) -> Named:
    """Figure 7a and b: how long recoveries take, and which the next timeout ends."""
    found: Named = {}
    for case in measured.study.experiments["recoveries"].cases:
        runs = {
            tcp: measured.values("recoveries", case, "recovery", at={TCP: tcp}) for tcp in SENDERS
        }
        name = f"recovery_{tag(case)}"
        for tcp in SENDERS:
            for key, quantity in (("", "recovery"), ("_resent", "resent_of_an_rto")):
                found[f"{name}_{tcp}{key}"] = measured.estimate(
                    "recoveries", case, quantity, at={TCP: tcp}
                )
            found[f"{name}_{tcp}_times"] = over(runs[tcp], runs["reno"])
            found[f"{name}_{tcp}_cut"] = _cut_short(measured, case, tcp)
    return found


def _cut_short(measured: Measured, case: str, tcp: str) -> Estimate | None:
    """Share of the recoveries like figure 7's that end as the next timeout comes."""
    episodes = measured.table("recoveries", "episodes", case, at={TCP: tcp})
    timeouts = episodes.filter(pl.col("kind").cast(pl.String) == "rto")
    alike = timeouts.filter(
        pl.col("retransmitted").is_in(list(SAMPLE)) & pl.col("end_s").is_not_null()
    )
    starts = timeouts.select("replication", end_s="start_s", next=True)
    each = (
        alike.join(starts, on=["replication", "end_s"], how="left")
        .group_by("replication", maintain_order=True)
        .agg(share=pl.col("next").fill_null(value=False).mean())
    )
    return estimate(each["share"].to_list())


def _windows(measured: Measured) -> Named:
    """Figure 7d: what is left of the window after a fast retransmit."""
    return {
        f"window_kept_{tag(case)}": measured.estimate("kept", case)
        for case in measured.study.experiments["kept"].cases
    }


def _prairie(measured: Measured) -> Named:
    """Figure 11a: Prairie's bandwidth as a window."""
    found: Named = {}
    for case in measured.study.experiments["prairie"].cases:
        without, with_75, reno = (
            measured.values("prairie", name, "goodput", at={COUNT: count})
            for name, count in ((case, 0), (case, 75), ("reno", 0))
        )
        found[f"prairie_{case}_keeps"] = over(with_75, without)
        found[f"prairie_{case}_times"] = over(without, reno)
    return found


def _udp(measured: Measured) -> Named:
    """The proposal over the best of the others, by number and rate of UDP flows."""
    found: Named = {}
    for count in (4, 10):
        for rate in UDP_RATES:
            at = {UDP_COUNT: count, UDP_RATE: f"{rate} kbit/s"}
            for case in READINGS:
                _, times = beside_rivals(measured, "udp_rate", case, at)
                found[f"udp_{count}_{rate}_{case}"] = times
    return found


def shared(one: str, other: str, first: int, second: int) -> At:
    """A point of `open_shared`: who shares, and how many of each."""
    return {
        "flow.one.tcp": one,
        "flow.other.tcp": other,
        "flow.one.count": first,
        "flow.other.count": second,
    }


PAIR, TEN = shared("reno", "reno", 1, 1), shared("reno", "reno", 5, 5)
SHARING: dict[str, tuple[str, At, At | None]] = {
    "pair": ("goodput_one", shared("reno", "dynamic", 1, 1), PAIR),
    "pair_path": ("goodput_one", shared("reno", "dynamic_path", 1, 1), PAIR),
    "ten": ("goodput_one", shared("reno", "dynamic", 5, 5), TEN),
    "ten_path": ("goodput_one", shared("reno", "dynamic_path", 5, 5), TEN),
    "advantage_1": ("advantage", shared("reno", "dynamic", 1, 9), None),
    "advantage_5": ("advantage", shared("reno", "dynamic", 5, 5), None),
    "advantage_9": ("advantage", shared("reno", "dynamic", 9, 1), None),
    "jain_reno_2": ("jain", PAIR, None),
    "jain_2": ("jain", shared("dynamic", "dynamic", 1, 1), None),
    "jain_12": ("jain", shared("dynamic", "dynamic", 6, 6), None),
}
"""Quantity, where it is measured, and over what: a Reno's goodput over that among Renos."""


def _shared(measured: Measured) -> Named:
    """Figure 14 and table 3: bandwidth of the bottleneck, its queue, recovery."""
    found: Named = {}
    for case in measured.study.experiments["open_shared"].cases:
        for key, (quantity, at, below) in SHARING.items():
            runs: Runs = measured.values("open_shared", case, quantity, at=at)
            found[f"shared_{tag(case)}_{key}"] = (
                measured.estimate("open_shared", case, quantity, at=at)
                if below is None
                else over(runs, measured.values("open_shared", case, quantity, at=below))
            )
    return found
