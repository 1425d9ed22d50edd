"""First recovery in which simulations and emulations of a flow differ.

*Method.* The recoveries of the runs are examined in their order. For the n-th recovery and each
kind of recovery, Fisher's exact test compares the share of simulations in which it is of this kind
with that of emulations. The search stops at the first difference.

*Places.* If both sides recorded episodes, n is the number of the episode in the run. Otherwise each
kind of recovery that both sides counted is examined alone, and n is the number within the kind (the
n-th RTO).

*Level.* The n-th place is tested at 0.05 / (n (n + 1)), divided among the kinds. Over all places
these levels sum to 0.05, so that long transfers with many recoveries rarely show a difference by
chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from retx.results.result import NotRecordedError, Result

KINDS = ("fast_retransmit", "rto")
LEVEL = 0.05
NAMES = {"fast_retransmit": "fast recovery", "rto": "timeout"}

History = list[str]
"""The kinds of a run's recoveries, in order."""


@dataclass(frozen=True)
class RecoveryDifference:
    """First recovery in which the simulations and the emulations of a flow differ."""

    flow: str
    place: int
    """Number of the recovery, from 1."""
    kind: str
    of: str
    """`episode` if `place` counts all episodes, `count` if it counts only episodes of this kind."""
    simulated: float
    """Share of the simulations whose recovery at this place is of this kind."""
    emulated: float
    p_value: float

    def row(self) -> dict[str, Any]:
        """The difference as a row of a table."""
        return asdict(self)

    def __str__(self) -> str:
        name = NAMES[self.kind]
        what = (
            f"recovery {self.place} is a {name}"
            if self.of == "episode"
            else f"there is a {name} number {self.place}"
        )
        return (
            f"{self.flow}: {what} in {100 * self.simulated:.0f} % of the "
            f"simulations and {100 * self.emulated:.0f} % of the emulations "
            f"(p = {self.p_value:.2g})"
        )


def first_difference(
    flow: str, simulated: Sequence[Result], emulated: Sequence[Result]
) -> RecoveryDifference | None:
    """First recovery in which the two sides differ; None if the records show no difference."""
    if not simulated or not emulated:
        return None
    ours = [_episodes(result, flow) for result in simulated]
    theirs = [_episodes(result, flow) for result in emulated]
    known = [[it for it in side if it is not None] for side in (ours, theirs)]
    if len(known[0]) == len(ours) and len(known[1]) == len(theirs):
        return first_in_histories(flow, "episode", known[0], known[1])
    found = []
    for kind in KINDS:
        counts = [[_count(result, flow, kind) for result in it] for it in (simulated, emulated)]
        sides = [[[kind] * n for n in side if n is not None] for side in counts]
        if all(sides):
            found.append(first_in_histories(flow, "count", sides[0], sides[1]))
    return min((it for it in found if it), key=lambda it: (it.place, it.p_value), default=None)


def first_in_histories(
    flow: str, of: str, ours: list[History], theirs: list[History]
) -> RecoveryDifference | None:
    """First recovery in which two sets of histories differ."""
    from scipy.stats import fisher_exact

    for place in range(1, max(map(len, [*ours, *theirs]), default=0) + 1):
        level = LEVEL / (place * (place + 1)) / len(KINDS)
        candidates = []
        for kind in KINDS:
            here = [
                sum(len(it) >= place and it[place - 1] == kind for it in side)
                for side in (ours, theirs)
            ]
            table = [[here[0], len(ours) - here[0]], [here[1], len(theirs) - here[1]]]
            p_value = float(fisher_exact(table)[1])
            shares = here[0] / len(ours), here[1] / len(theirs)
            candidates.append(RecoveryDifference(flow, place, kind, of, *shares, p_value))
        clearest = min(candidates, key=lambda it: it.p_value)
        if clearest.p_value < level:
            return clearest
    return None


def _episodes(result: Result, flow: str) -> History | None:
    try:
        episodes = result.episodes
    except NotRecordedError:
        return None
    mine = episodes.filter(episodes["flow"].cast(str) == flow).sort("start_s", maintain_order=True)
    return [str(kind) for kind in mine["kind"]]


def _count(result: Result, flow: str, kind: str) -> int | None:
    row = next(row for row in result.summary["flows"] if row["name"] == flow)
    count: int | None = row[f"{kind}_count"]
    return count
