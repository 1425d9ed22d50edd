"""Verdicts on claims, and the number of each in a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import ceil, exp, isfinite
from typing import TYPE_CHECKING, Any

from retx.study.estimates import Estimate, Interval

if TYPE_CHECKING:
    from retx.study.claims import Claim


class Verdict(Enum):
    """Verdict on a claim."""

    AGREES = "agrees"
    UNSETTLED = "not settled"
    DIFFERS = "differs"
    CONTRADICTS = "contradicts itself"
    UNDECIDED = "undecidable"


COUNTED = (Verdict.AGREES, Verdict.UNSETTLED, Verdict.DIFFERS)
"""Verdicts that count in the share of agreement."""
NEAR = 0.9
"""Score of a claim at the edge of its region of agreement."""


@dataclass(frozen=True)
class Finding:
    """Verdict by one rule, with the numbers that decide it."""

    verdict: Verdict
    measured: Estimate | None
    """Number that decides: for a curve, its distance from the published one; for a trend, the
    relative change; for an order, the ratio of the pair that is closest to failing.
    """
    miss: float = 0.0
    """Distance from the region of agreement, divided by the rule's tolerance; 0 inside the
    region.
    """
    bounds: tuple[float, ...] = ()
    """Bounds with which the mean is compared."""
    said: str = ""
    """Reason in words, if numbers alone do not show it."""
    unit: str = ""
    """Unit of `measured`, if it differs from the unit of the claim."""

    @property
    def mean(self) -> float | None:
        """Mean of the number that decides; None if no run has one."""
        return self.measured.mean if self.measured else None

    @property
    def score(self) -> float:
        """Closeness to agreement: 1 where the claim agrees, down to 0 far away."""
        return 1.0 if self.verdict is Verdict.AGREES else NEAR * exp(-self.miss)


@dataclass(frozen=True)
class Doubt:
    """Doubt about a verdict: the interval contains the bound that decides it."""

    bound: float
    runs: int | None
    """Number of runs at which the interval would end at the bound if the mean stayed the same; None
    if the mean equals the bound."""


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict."""

    claim: Claim
    finding: Finding
    published: float | None = None
    because: str = ""
    """Reason for a difference, as HTML; likewise the remark."""
    remark: str = ""
    switched: tuple[str, ...] = ()
    """Labels of the runs that support `because`."""
    command: str = ""
    case: str = ""
    """Label of the row, if the claim is a row of a table."""
    reach: Mapping[str, Any] = field(default_factory=dict)
    """Findings of the search on a claim that does not agree; see `SetUpChoice.reach`."""

    @property
    def id(self) -> str:
        """Id of the claim."""
        return self.claim.id

    @property
    def verdict(self) -> Verdict:
        """The verdict."""
        return self.finding.verdict

    @property
    def measured(self) -> Estimate | None:
        """Number that decides."""
        return self.finding.measured

    @property
    def unit(self) -> str:
        """Unit of the measured number."""
        return self.finding.unit or self.claim.unit

    @property
    def doubt(self) -> Doubt | None:
        """Doubt about a verdict that is not settled."""
        found = self.finding
        return doubt(found.bounds, found.measured) if self.verdict is Verdict.UNSETTLED else None

    @property
    def shown(self) -> str:
        """Reason why the claim is shown but not counted, such as `fitted`; empty if it counts."""
        if self.claim.part_of:
            return f"part of {self.claim.part_of}"
        if self.claim.rule == "arithmetic" and self.verdict is Verdict.AGREES:
            return "consistent"
        return self.claim.counts

    @property
    def counted(self) -> bool:
        """True if the claim counts in the share of agreement."""
        return not self.shown and self.verdict in COUNTED


@dataclass(frozen=True)
class Tally:
    """Numbers of verdicts."""

    verdicts: Counter[Verdict]
    shown: Counter[str]
    """Number of claims that are shown but not counted, by reason."""
    ours: int
    """Number of counted claims whose bound was set by the study."""

    @classmethod
    def of(cls, everything: Iterable[Judged]) -> Tally:
        """Counts the verdicts of a report."""
        lines = list(everything)
        judged = [line for line in lines if not line.shown]
        return cls(
            Counter(line.verdict for line in judged),
            Counter(line.shown.partition(" of ")[0] for line in lines if line.shown),
            sum(line.claim.ours for line in judged if line.counted),
        )

    def __getitem__(self, kind: Verdict) -> int:
        """Number of counted claims with this verdict."""
        return self.verdicts[kind]

    @property
    def agrees(self) -> int:
        """Number of counted claims that agree."""
        return self[Verdict.AGREES]

    @property
    def counted(self) -> int:
        """Number of claims that count in the share of agreement."""
        return sum(self[kind] for kind in COUNTED)

    @property
    def share(self) -> float:
        """Share of the counted claims that agree."""
        return self.agrees / self.counted if self.counted else 0.0

    def figures(self) -> dict[str, object]:
        """The numbers by name, for programs."""
        return {
            **{kind.value: self[kind] for kind in Verdict},
            "counted": self.counted,
            "share": round(self.share, 4),
            "shown and not counted": self.shown,
            "own bounds": self.ours,
        }

    def sentence(self) -> str:
        """The numbers for readers."""
        said = ", ".join(f"{self[kind]} {_PLURAL[kind]}" for kind in Verdict)
        if self.shown:
            kinds = ", ".join(f"{count} {kind}" for kind, count in self.shown.items())
            said += f"; shown and not counted: {kinds}"
        return said


_PLURAL = {
    Verdict.AGREES: "agree",
    Verdict.UNSETTLED: "not settled",
    Verdict.DIFFERS: "differ",
    Verdict.CONTRADICTS: "contradict themselves",
    Verdict.UNDECIDED: "undecidable",
}


def doubt(bounds: tuple[float, ...], measured: Estimate | None) -> Doubt | None:
    """Doubt about a verdict whose interval contains the deciding bound; None without doubt."""
    if measured is None or measured.interval is None:
        return None
    inside = [bound for bound in bounds if across(measured.interval, bound)]
    if not inside:
        return None
    bound = min(inside, key=lambda bound: abs(bound - measured.mean))
    distance = abs(measured.mean - bound)
    ends = measured.interval
    side = measured.mean - ends.low if bound < measured.mean else ends.high - measured.mean
    # The width of the interval is inversely proportional to the square root of the number of runs.
    known = distance > 0 and isfinite(side)
    return Doubt(bound, ceil(measured.n * (side / distance) ** 2) if known else None)


def by_interval(found: Interval, within: Interval) -> Verdict:
    """Verdict by the interval `found`: agrees if inside `within`, differs if outside of it.

    If the two intervals overlap only in part, the verdict is *not settled*.
    """
    # Rounding errors of binary fractions must not count as differences.
    least = 1e-9 * max(abs(end) for end in (within.low, within.high) if isfinite(end))
    if within.low - least <= found.low and found.high <= within.high + least:
        return Verdict.AGREES
    if found.high < within.low - least or found.low > within.high + least:
        return Verdict.DIFFERS
    return Verdict.UNSETTLED


def across(interval: Interval, bound: float) -> bool:
    """True if an interval contains a bound."""
    return interval.low < bound < interval.high
