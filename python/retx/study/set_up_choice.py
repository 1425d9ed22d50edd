"""Description, for a study's report, of how the set-up was chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from retx.study.openings import Openings, Values
from retx.study.trials import Trial, conflicts, costs, nearest_value, out_of_reach

CONFLICTS = 12
"""Maximum number of stored pairs of conflicting claims."""


@dataclass(frozen=True)
class Parameter:
    """An open parameter with its value in the runs of a report."""

    asks: str
    default: Any
    value: Any
    source: str
    bent: bool


@dataclass(frozen=True)
class SetUpChoice:
    """The set-up of all runs, and the results of the search for it."""

    sentence: str
    """Sentence that describes the set-up."""
    parameters: list[Parameter]
    searched: dict[str, Any] = field(default_factory=dict)
    """Findings of the search in `base.toml`; empty if the set-up is not the base."""
    looked_at: frozenset[str] = frozenset()
    """Ids of the claims that the search uses."""
    names: dict[str, str] = field(default_factory=dict)
    """Texts for the claims that are rows of a table, by id."""

    def links(self, claims: Iterable[str]) -> list[tuple[str, str]]:
        """Anchor in the report, and name, of each claim."""
        return [
            (
                f"table-{it.partition(' ')[0]}" if it in self.names else f"claim-{it}",
                self.names.get(it, it),
            )
            for it in claims
        ]

    def reach(self, claim: str) -> dict[str, Any]:
        """Findings of the search on a claim that this set-up misses; empty if unknown.

        They say whether another set-up satisfies the claim, and what this loses.
        """
        kept = self.searched
        held_out = kept.get("held_out", {}).get(claim)
        missed = kept.get("missed", {}).get(claim)
        found: dict[str, Any]
        if held_out is not None:
            found = held_out | {"held_out": True}
        elif missed is not None:
            found = missed | {"trials": kept["trials"], "draws": kept["draws"]}
        else:
            return {"agrees": True} if kept and claim in self.looked_at else {}
        return found | {"costs": self.links(found.get("costs", []))}


def sentence_on(name: str, openings: Openings, values: Values) -> str:
    """Sentence that describes a set-up, which is called `default`, `base`, or by its trial."""
    bent = openings.bent(values)
    listed = "; ".join(f"{it}: {openings.parameters[it].shown(values[it])}" for it in bent)
    said = f"Set-up: {name}, {len(bent)} of {len(values)} open parameters bent"
    return said + (f" ({listed})." if bent else ".")


def parameters_of(openings: Openings, values: Values) -> list[Parameter]:
    """The open parameters with their values in a set-up."""
    bent = openings.bent(values)
    return [
        Parameter(
            it.asks,
            it.shown(it.default),
            it.shown(values[name]),
            it.source_of(values[name]),
            name in bent,
        )
        for name, it in openings.parameters.items()
    ]


def search_findings(
    trials: Sequence[Trial],
    base: Trial,
    left_out: tuple[int, int],
    published: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, Any]:
    """Results of a search, as stored in `base.toml`.

    Args:
        trials: All trials.
        base: The frozen trial.
        left_out: Result of `leave_one_out`: number of claims that agree if each figure is judged at
            a base chosen without it, and number of all claims.
        published: Published numbers of the claims that have one, by claim.
    """
    missed = {
        name: {"reached": False, "trial": trial.number} | nearest_value(trial.means.get(name))
        for name, trial in out_of_reach(trials, published).items()
    } | {
        name: {"reached": True, "trial": trial.number, "costs": sorted(lost)}
        for name, (trial, lost) in costs(trials, base).items()
    }
    return {
        "trials": len({repr(trial.values) for trial in trials}),
        "draws": max(trial.draws for trial in trials),
        "agree": len(base.agreeing),
        "agree_at_default": len(trials[0].agreeing),
        "of": len(base.scores),
        "left_out": list(left_out),
        "not_together": [list(pair) for pair in conflicts(trials)[:CONFLICTS]],
        "missed": missed,
    }
