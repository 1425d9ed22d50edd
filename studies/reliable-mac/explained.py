"""Explanation of differing claims by single switches: named values, and a table of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from retx.study import Cell, Column, Measured, Table

from .values import (
    CWND,
    DELAY,
    GOODPUT,
    MSS_BYTES,
    REORDER,
    SENDER,
    SHARE,
    Named,
    P,
    mbit,
    run_by_run,
    scaled,
)

Point = tuple[str, Mapping[str, Any]]
"""A case, and where in the grid."""


@dataclass(frozen=True)
class Switch:
    """Two points of an experiment that differ in one thing."""

    claim: str
    """Id of the claim in claims.toml."""
    what: str
    experiment: str
    base: str
    case: str
    at: Mapping[str, Any] = field(default_factory=dict)
    base_at: Mapping[str, Any] | None = None
    """Point of the base, where the switch is a key of the grid."""

    @property
    def points(self) -> tuple[Point, Point]:
        """Points before and after the switch."""
        before = self.at if self.base_at is None else self.base_at
        return (self.base, before), (self.case, self.at)


def _loss(claim: str, what: str, tcp: str, case: str, p: float) -> Switch:
    return Switch(claim, f"{tcp}: {what}", "switches", "base", case, {SENDER: tcp.lower(), P: p})


def _delay(claim: str, what: str, tcp: str, case: str) -> Switch:
    at = {SENDER: tcp.lower(), REORDER: False, SHARE: 0.1}
    return Switch(claim, f"{tcp}: {what}", "switches_delay", "base", case, at)


GROWN_AS_RENO = "Veno: always cut by a fifth, grown as Reno"
GROWN_SLOWLY = "Veno: always cut by half, grown half as fast"

SWITCHES = (
    _loss("reno-1-percent", "smallest RTO 0.2 s", "Reno", "rto_200", 0.01),
    _loss("reno-1-percent-rate", "exact timers", "Reno", "exact", 0.01),
    Switch(
        "reno-impossible",
        "Reno, no delays: gives up when a segment is lost twice",
        "impossible",
        "base",
        "give_up",
        {P: 0.08},
    ),
    _loss("veno-1-percent", "exact timers", "Veno", "exact", 0.01),
    Switch("veno-like-reno", GROWN_AS_RENO, "veno", "veno", "short", {P: 0.01}),
    Switch("veno-like-reno", GROWN_SLOWLY, "veno", "veno", "long", {P: 0.01}),
    _loss("veno-3-percent", "smallest RTO 0.2 s", "Veno", "rto_200", 0.03),
    _loss("reno-3-percent", "exact timers", "Reno", "exact", 0.03),
    _loss("reno-3-percent", "no limited transmit", "Reno", "no_limited", 0.03),
    _loss("veno-gain", "NewReno's recovery", "Veno", "newreno", 0.03),
    Switch("veno-gain", GROWN_AS_RENO, "veno", "veno", "short", {P: 0.03}),
    _loss("vegas-like-veno", "largest window 4 segments", "Reno", "window_4", 0.01),
    Switch(
        "vegas-like-veno", "Vegas: no fine-grained timeouts", "vegas", "fine", "coarse", {P: 0.01}
    ),
    _delay("reno-delay", "no largest window", "Reno", "window"),
    _delay("reno-delay", "RTO always 1 s", "Reno", "rto_fixed"),
    _delay("veno-delay", "no largest window", "Veno", "window"),
    _delay("veno-delay", "RTO always 1 s", "Veno", "rto_fixed"),
    Switch(
        "veno-less, veno-more",
        GROWN_AS_RENO,
        "veno_delay",
        "veno",
        "short",
        {DELAY: "2 s", SHARE: 0.3},
    ),
    Switch(
        "short-delays", GROWN_AS_RENO, "veno_delay", "veno", "short", {DELAY: "0.5 s", SHARE: 0.1}
    ),
    Switch(
        "cited-veno",
        "Veno: the path 50 ms longer",
        "far",
        "veno",
        "veno",
        {"link.above.delay": "25 ms"},
        {"link.above.delay": "0 s"},
    ),
    Switch(
        "cited-vegas",
        "Vegas: the path 50 ms longer",
        "far",
        "vegas",
        "vegas",
        {"link.above.delay": "25 ms"},
        {"link.above.delay": "0 s"},
    ),
)


def explained(measured: Measured) -> Table:
    """A row for each switch."""
    rows: list[dict[str, Cell]] = []
    for switch in SWITCHES:
        before, after = switch.points
        rows.append(
            {
                "claim": switch.claim,
                "switch": switch.what,
                "before": _kbit(measured, switch.experiment, before),
                "after": _kbit(measured, switch.experiment, after),
                "times": run_by_run(
                    measured, switch.experiment, after, before, lambda new, old: new / old
                ),
            }
        )
    return Table(
        "explained",
        "What one switch does where claims differ",
        [
            Column("claim", "claim"),
            Column("switch", "switch"),
            Column("before", "as assumed", "kbit/s"),
            Column("after", "switched", "kbit/s"),
            Column("times", "switched over assumed, times"),
        ],
        rows,
        note="Goodput where the claim is judged, or near; the ratio run by run with the same "
        "draws. The claims on the window (exponential-window, proportional) have theirs in their "
        "text. The commands run a row switched.",
        commands=[
            measured.command(switch.experiment, switch.points[1][0], at=switch.points[1][1])
            for switch in SWITCHES
        ],
    )


def _kbit(measured: Measured, experiment: str, point: Point) -> Cell:
    case, at = point
    return scaled(measured.estimate(experiment, case, GOODPUT, at=at), 1e-3)


def reasons(measured: Measured) -> Named:
    """Named values: what single switches do where claims differ."""
    found: Named = {}
    for name, p in (("6", 0.06), ("8", 0.08)):
        for case in measured.study.experiments["impossible"].cases:
            goodput = measured.estimate("impossible", case, at={P: p})
            found[f"impossible_{case}_{name}"] = scaled(goodput, 1e-3)
    for case in measured.study.experiments["unharmed"].cases:
        found[f"unharmed_{case}"] = mbit(measured, "unharmed", case, {})
    for case in ("veno", "short", "long", "reno"):
        for name, p in (("1", 0.01), ("3", 0.03)):
            at: dict[str, Any] = {P: p}
            found[f"veno_{case}_{name}"] = measured.ratio("veno", case, "reno", at=at)
            timeouts = measured.estimate("veno", case, "flow.ftp.rto_count", at=at)
            found[f"veno_{case}_{name}_rto"] = timeouts
        for delay in ("0.5", "2"):
            for name, share in (("10", 0.1), ("30", 0.3)):
                at = {DELAY: f"{delay} s", SHARE: share}
                ratio = measured.ratio("veno_delay", case, "reno", at=at)
                found[f"veno_delay_{case}_{delay.replace('.', '_')}_{name}"] = ratio
    for case in ("base", "rto_fixed"):
        for name, share in (("10", 0.1), ("30", 0.3)):
            at = {SENDER: "reno", REORDER: False, SHARE: share}
            window = measured.estimate("switches_delay", case, CWND, at=at)
            found[f"cwnd_{case}_{name}"] = scaled(window, 1 / MSS_BYTES)
    return found
