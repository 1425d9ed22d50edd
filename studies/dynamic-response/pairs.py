"""Definitions that the files of this study share: keys, and ratios and differences run by run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retx.study import Estimate, Measured, estimate

Named = dict[str, Estimate | float | None]
Runs = list[float | None]
At = dict[str, Any]

P = "link.wireless.channel.p"
DURATION = "link.wireless.channel.duration"
TCP = "flow.ftp.tcp"
FLOWS = "flow.ftp.count"
FAULTS = {
    "1": "26.667 ms",
    "3": "80 ms",
    "5": "133.333 ms",
    "6": "160 ms",
    "10": "266.667 ms",
    "15": "400 ms",
}
"""Lengths of 75 faults in 200 s, by the share of the time that they take, in percent."""
RIVALS = ("reno", "frto", "jtcp_like", "prairie_like")
"""Senders with which the paper's figures 11 and 12 compare the proposal."""
READINGS = ("dynamic", "dynamic_path")
"""The proposal with ABW as what the bandwidth carries in a second, and in the least RTT."""


def over(above: Runs, below: Runs) -> Estimate | None:
    """Mean of one quantity over another, run by run."""
    pairs = zip(above, below, strict=True)
    return estimate([None if a is None or not b else a / b for a, b in pairs])


def less(first: Runs, second: Runs) -> Estimate | None:
    """Mean of one quantity less another, run by run."""
    pairs = zip(first, second, strict=True)
    return estimate([None if a is None or b is None else a - b for a, b in pairs])


def quotients(above: Runs, below: Runs) -> Runs:
    """One quantity over another, run by run."""
    return [None if a is None or not b else a / b for a, b in zip(above, below, strict=True)]


def by_tcp(
    measured: Measured, experiment: str, quantity: str = "goodput"
) -> Callable[[str, str], Runs]:
    """Runs of a case and a TCP, where the TCP is in the grid."""

    def runs(case: str, tcp: str) -> Runs:
        return measured.values(experiment, case, quantity, at={TCP: tcp})

    return runs
