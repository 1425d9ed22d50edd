"""Named values of the report: measured, and computed from the paper's numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log
from typing import Any

import numpy as np

from retx.study import Estimate, Measured, Named, Points, changed, estimate, scaled

from .paper import MSS_BYTES as MSS_BYTES
from .paper import from_the_paper

GOODPUT = "flow.ftp.goodput_bit_s"
CWND = "flow.ftp.cwnd_mean_bytes"
FORWARD = "link.above.forward.channel"
P, SHARE = f"{FORWARD}.0.p", f"{FORWARD}.1.share"
DELAY, REORDER = f"{FORWARD}.1.delay", f"{FORWARD}.1.reorder"
SENDER = "tcp.sender.like"
TCPS = ("reno", "vegas", "veno")
ORDERS = {"kept": False, "over": True}
"""Readings of a delay: later packets wait, or overtake the delayed one."""
MBIT = 1e-6
DURATION_S = 100

READINGS = {
    "data": ("2 s", "exponential", False, "0 s"),
    "data_over": ("2 s", "exponential", True, "0 s"),
    "data_constant": ("2 s", "constant", False, "0 s"),
    "data_constant_over": ("2 s", "constant", True, "0 s"),
    "acks": ("0 s", "exponential", False, "2 s"),
    "acks_over": ("0 s", "exponential", True, "2 s"),
    "both": ("2 s", "exponential", False, "2 s"),
    "both_over": ("2 s", "exponential", True, "2 s"),
    "upper": ("0.25 s", "exponential", False, "0 s"),
    "upper_over": ("0.25 s", "exponential", True, "0 s"),
    "short": ("0.05 s", "exponential", False, "0 s"),
    "short_over": ("0.05 s", "exponential", True, "0 s"),
    "field": ("0.128 s", "exponential", False, "0 s"),
    "field_over": ("0.128 s", "exponential", True, "0 s"),
    "field_both": ("0.128 s", "exponential", False, "0.128 s"),
}
"""Delay and distribution for data, whether packets overtake, and delay of ACKs."""


def values(measured: Measured) -> Named:
    """Everything that texts and claims name."""
    return (
        _loss(measured)
        | _delay(measured)
        | _readings(measured)
        | _switches(measured)
        | _mac(measured)
        | from_the_paper(measured)
    )


def mbit(measured: Measured, experiment: str, case: str, at: Mapping[str, Any]) -> Estimate | None:
    """Goodput in Mbit/s."""
    return scaled(measured.estimate(experiment, case, GOODPUT, at=at), MBIT)


def reading(name: str, share: float) -> dict[str, Any]:
    """The point of a reading in the experiment `readings`."""
    delay, law, reorder, acks = READINGS[name]
    reverse = "link.above.reverse.channel"
    return {
        f"{FORWARD}.0.share": share,
        f"{reverse}.0.share": share,
        f"{FORWARD}.0.delay": delay,
        f"{FORWARD}.0.law": law,
        f"{FORWARD}.0.reorder": reorder,
        f"{reverse}.0.delay": acks,
        f"{reverse}.0.reorder": reorder,
    }


def run_by_run(
    measured: Measured,
    experiment: str,
    first: tuple[str, Mapping[str, Any]],
    second: tuple[str, Mapping[str, Any]],
    combine: Callable[[float, float], float],
) -> Estimate | None:
    """Function of two points of an experiment, run by run."""
    one, other = (measured.values(experiment, case, GOODPUT, at=at) for case, at in (first, second))
    pairs = zip(one, other, strict=True)
    return estimate([None if a is None or not b else combine(a, b) for a, b in pairs])


def fall(
    measured: Measured,
    experiment: str,
    case: str,
    at: Mapping[str, Any],
    unharmed: Mapping[str, Any],
) -> Estimate | None:
    """Reduction of the goodput from that at the point `unharmed`, in per cent."""
    return run_by_run(
        measured, experiment, (case, at), (case, unharmed), lambda a, b: 100 * (1 - a / b)
    )


def _loss(measured: Measured) -> Named:
    found: Named = {"unharmed": mbit(measured, "loss", "reno", {P: 0})}
    rates = {"1": 0.01, "3": 0.03, "6": 0.06, "8": 0.08}
    found |= judged_loss(measured) | judged_delay(measured)
    for name, p in rates.items():
        found[f"vegas_gain_{name}"] = _per_cent_more(
            measured.ratio("loss", "vegas", "reno", at={P: p})
        )
        found[f"vegas_cwnd_{name}"] = scaled(
            measured.estimate("loss", "vegas", CWND, at={P: p}), 1 / MSS_BYTES
        )
        for tcp in TCPS:
            idle = measured.estimate("loss", tcp, "flow.ftp.idle_total_s", at={P: p})
            found[f"loss_{tcp}_{name}_idle"] = scaled(idle, 100 / DURATION_S)
    for name in ("6", "8"):
        found[f"loss_reno_{name}_kbit"] = scaled(_estimate(found[f"loss_reno_{name}"]), 1e3)
        for order, experiment in (("kept", "corner"), ("over", "corner_over")):
            corner = measured.estimate(experiment, "reno", GOODPUT, at={P: rates[name]})
            found[f"corner_reno_{name}_{order}"] = scaled(corner, 1e-3)
    found["use_reno"] = measured.ratio("long", "reno", "veno")
    for tcp in TCPS:
        found[f"chart_{tcp}_6"] = measured.estimate(
            "chart", tcp, "at_60", at={f"{FORWARD}.reorder": False}
        )
        found[f"chart_{tcp}_6_over"] = measured.estimate(
            "chart", tcp, "at_60", at={f"{FORWARD}.reorder": True}
        )
    return found


def judged_loss(measured: Measured) -> Named:
    """Values of the claims on loss."""
    found: Named = {}
    for name, p in {"1": 0.01, "3": 0.03, "6": 0.06, "8": 0.08}.items():
        found |= at_loss(measured, name, p)
    return found | {"vegas_over_veno": _vegas_over_veno(measured)}


def _vegas_over_veno(measured: Measured) -> Points:
    """Vegas's goodput divided by Veno's, by the probability of loss."""
    curve = {}
    for p in measured.study.published.series["vegas_over_veno"].values:
        both = [measured.values("loss", it, GOODPUT, at={P: float(p)}) for it in ("vegas", "veno")]
        curve[p] = [a / b if a and b else None for a, b in zip(*both, strict=True)]
    return Points(curve, geometric=True)


def at_loss(measured: Measured, name: str, p: float) -> Named:
    """Goodputs at a loss rate, in themselves and relative to Reno."""
    found: Named = {}
    for tcp in TCPS:
        found[f"loss_{tcp}_{name}"] = mbit(measured, "loss", tcp, {P: p})
        found[f"loss_{tcp}_{name}_fall"] = fall(measured, "loss", tcp, {P: p}, {P: 0})
    found[f"veno_over_reno_{name}"] = measured.ratio("loss", "veno", "reno", at={P: p})
    found[f"veno_gain_{name}"] = _per_cent_more(found[f"veno_over_reno_{name}"])
    found[f"vegas_over_veno_{name}"] = measured.ratio("loss", "vegas", "veno", at={P: p})
    return found


def judged_delay(measured: Measured) -> Named:
    """Values of the claims on long delays."""
    found: Named = {"judged_veno": mbit(measured, "judged_delay", "veno", {SHARE: 0.1})}
    for tcp, name, share in (("reno", "10", 0.1), ("vegas", "20", 0.2)):
        found[f"judged_{tcp}_{name}_fall"] = fall(
            measured, "judged_delay", tcp, {SHARE: share}, {SHARE: 0}
        )
    ratio = measured.ratio("judged_delay", "veno", "reno", at={SHARE: 0.3})
    found["judged_veno_less"] = scaled(_per_cent_more(ratio), -1)
    return found


def _estimate(value: Estimate | Points | float | None) -> Estimate | None:
    return value if isinstance(value, Estimate) else None


def _per_cent_more(ratio: Estimate | Points | float | None) -> Estimate | None:
    found = _estimate(ratio)
    return found and changed(found, lambda it: 100 * (it - 1))


def _delay(measured: Measured) -> Named:
    found: Named = {}
    for order, reorder in ORDERS.items():
        at = {REORDER: reorder, DELAY: "2 s"}
        for tcp in TCPS:
            for name, share in (("10", 0.1), ("20", 0.2), ("30", 0.3)):
                point = at | {SHARE: share}
                end = f"{tcp}_{name}_{order}"
                found[f"delay_{end}"] = mbit(measured, "delay", tcp, point)
                found[f"delay_{end}_fall"] = fall(measured, "delay", tcp, point, at | {SHARE: 0})
            found[f"half_{tcp}_{order}"] = _half(measured, tcp, at)
        for name, share in (("10", 0.1), ("30", 0.3)):
            ratio = measured.ratio("delay", "veno", "reno", at=at | {SHARE: share})
            found[f"veno_over_reno_delay_{name}_{order}"] = ratio
            found[f"veno_more_{name}_{order}"] = _per_cent_more(ratio)
            found[f"veno_less_{name}_{order}"] = scaled(_per_cent_more(ratio), -1)
            found[f"reno_over_veno_{name}_{order}"] = measured.ratio(
                "delay", "reno", "veno", at=at | {SHARE: share}
            )
        found |= short_delays(measured, order, reorder) | windows(measured, order, reorder)
    for tcp, name, share in (("veno", "30", 0.3), ("reno", "30", 0.3), ("reno", "1", 0.01)):
        point = {REORDER: False, DELAY: "2 s", SHARE: share}
        for count in ("fast_retransmit", "rto"):
            found[f"{tcp}_{name}_{count}"] = measured.estimate(
                "delay", tcp, f"flow.ftp.{count}_count", at=point
            )
    return found


def _half(measured: Measured, tcp: str, at: Mapping[str, Any]) -> float:
    """Share of delayed packets, in per cent, at which half of the goodput is lost; interpolated."""
    shares = [0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5]
    means = [measured.mean("delay", tcp, GOODPUT, at=dict(at) | {SHARE: it}) for it in shares]
    half = measured.mean("delay", tcp, GOODPUT, at=dict(at) | {SHARE: 0}) / 2
    return float(100 * np.exp(np.interp(-half, [-mean for mean in means], np.log(shares))))


def short_delays(measured: Measured, order: str, reorder: bool) -> Named:
    """The largest ratio of Veno's goodput to Reno's with delays of 0.5 and 1 s."""
    experiment, own = ("delay", {REORDER: True}) if reorder else ("short_judged", {})
    ratios = [
        measured.ratio(experiment, "veno", "reno", at=own | {DELAY: delay, SHARE: share})
        for delay in ("0.5 s", "1 s")
        for share in (0.01, 0.03, 0.1, 0.2, 0.3, 0.5)
    ]
    known = [ratio for ratio in ratios if ratio]
    return {
        f"short_most_{order}": max(known, key=lambda ratio: ratio.mean),
        f"short_least_{order}": min(known, key=lambda ratio: ratio.mean),
        f"short_below_{order}": float(
            sum(bool(it.interval and it.interval.high < 1) for it in known)
        ),
        f"short_above_{order}": float(
            sum(bool(it.interval and it.interval.low > 1) for it in known)
        ),
        "short_cases": float(len(known)),
    }


def windows(measured: Measured, order: str, reorder: bool) -> Named:
    """Fits of an exponential to the mean windows, and of goodputs to the windows."""
    shares = [0, 0.1, 0.2, 0.3, 0.5]
    points = [{REORDER: reorder, DELAY: "2 s", SHARE: share} for share in shares]
    logs = [log(measured.mean("delay", "reno", CWND, at=at)) for at in points]
    fit = np.corrcoef(shares, logs)[0, 1]
    cells = [
        {REORDER: reorder, P: p, SHARE: share}
        for p in (0, 0.001, 0.003, 0.01, 0.03, 0.06)
        for share in (0, 0.003, 0.01, 0.03, 0.1, 0.3)
    ]
    per_window = {
        (at[P], at[SHARE]): measured.mean("surface", "veno", GOODPUT, at=at)
        / measured.mean("surface", "veno", CWND, at=at)
        for at in cells
    }
    of_loss = [value for (_, share), value in per_window.items() if share == 0]
    return {
        f"cwnd_fit_{order}": float(fit**2),
        f"cwnd_10_{order}": measured.mean("delay", "reno", CWND, at=points[1]) / MSS_BYTES,
        f"cwnd_30_{order}": measured.mean("delay", "reno", CWND, at=points[3]) / MSS_BYTES,
        f"per_window_spread_{order}": max(per_window.values()) / min(per_window.values()),
        f"per_window_spread_loss_{order}": max(of_loss) / min(of_loss),
    }


def _readings(measured: Measured) -> Named:
    found: Named = {}
    for name in READINGS:
        for label, share in (("10", 0.1), ("20", 0.2), ("30", 0.3)):
            for tcp in TCPS:
                at = reading(name, share)
                found[f"read_{name}_{tcp}_{label}"] = mbit(measured, "readings", tcp, at)
                found[f"read_{name}_{tcp}_{label}_fall"] = fall(
                    measured, "readings", tcp, at, reading(name, 0)
                )
            found[f"read_{name}_veno_over_reno_{label}"] = measured.ratio(
                "readings", "veno", "reno", at=reading(name, share)
            )
    return found


def _switches(measured: Measured) -> Named:
    found: Named = {}
    for case in measured.study.experiments["switches"].cases:
        for tcp in TCPS:
            for name, p in (("1", 0.01), ("3", 0.03), ("6", 0.06)):
                at = {SENDER: tcp, P: p}
                found[f"switch_{case}_{tcp}_{name}"] = mbit(measured, "switches", case, at)
        for tcp in TCPS:
            for order, reorder in ORDERS.items():
                for name, share in (("10", 0.1), ("30", 0.3)):
                    at = {SENDER: tcp, REORDER: reorder, SHARE: share}
                    found[f"switch_{case}_{tcp}_{name}_{order}"] = mbit(
                        measured, "switches_delay", case, at
                    )
    found["veno_newreno_over_reno_3"] = run_by_run(
        measured,
        "switches",
        ("newreno", {SENDER: "veno", P: 0.03}),
        ("base", {SENDER: "reno", P: 0.03}),
        lambda one, other: one / other,
    )
    for tcp in TCPS:
        for name, p in (("1", 0.01), ("3", 0.03), ("6", 0.06)):
            at = {P: p, "link.above.reverse.channel.0.p": p}
            found[f"both_ways_{tcp}_{name}"] = mbit(measured, "both_ways", tcp, at)
    for name, delay in (("0", "0 s"), ("25", "25 ms"), ("60", "60 ms")):
        for tcp in ("vegas", "veno"):
            ratio = measured.ratio("far", tcp, "reno", at={"link.above.delay": delay})
            found[f"far_{tcp}_{name}"] = _per_cent_more(ratio)
    return found


def _mac(measured: Measured) -> Named:
    found: Named = {
        "bulk_errors": measured.estimate(
            "every_imposed",
            "westwood_bulk_repeat_like",
            "flow.ftp.inferred_fast_retransmit_corruption_wireless",
            at={P: 0.01, SHARE: 0},
        )
    }
    for length in ("0.1", "0.5", "1", "2"):
        for name, share in (("10", 0.1), ("30", 0.3), ("50", 0.5)):
            at = {
                "wlan.cell.channel.mean_burst": f"{length} s",
                "wlan.cell.channel.loss": share,
            }
            for tcp in TCPS:
                found[f"mac_{tcp}_{length}_{name}"] = mbit(measured, "mac", tcp, at)
            for tcp in ("vegas", "veno"):
                ratio = measured.ratio("mac", tcp, "reno", at=at)
                found[f"mac_{tcp}_over_reno_{length}_{name}"] = ratio
                found[f"mac_{tcp}_gain_{length}_{name}"] = _per_cent_more(ratio)
            found[f"mac_fall_{length}_{name}"] = _fall_of(
                measured.estimate("mac", "reno", GOODPUT, at=at), measured
            )
    return found


def _fall_of(found: Estimate | None, measured: Measured) -> Estimate | None:
    """Reduction of a goodput from that without loss and delay, in per cent."""
    whole = measured.mean("loss", "reno", GOODPUT, at={P: 0})
    return found and changed(found, lambda it: 100 * (1 - it / whole))
