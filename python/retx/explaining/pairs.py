"""Pairs of remedies for different limits of one flow."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from retx.analysis.limits import by_cause
from retx.explaining.remedy import Remedy, acts_on
from retx.explaining.trial import Trial

LEAST_PAIRED = 0.1
"""Minimum share of the second largest limit for which remedies of single limits are combined."""


def for_one_limit(
    of_life: Mapping[str, float], ranked: Sequence[Trial], best: Trial
) -> list[tuple[Trial, Collection[str]]]:
    """Best remedy for each of the two largest limits that does not act on the other one.

    Each is returned with the keys of its limit. Each may gain little while the other limit remains.
    The list is empty if `best` is among them, since the search combines `best` with others anyway.

    Args:
        of_life: Share of the flow's lifetime for each limit.
        ranked: Trials of single remedies that are worth it, the best first.
        best: The recommended remedy.
    """
    limits = by_cause(of_life)[:2]
    if sum(limits[-1].values()) < LEAST_PAIRED:
        return []
    found: list[tuple[Trial, Collection[str]]] = []
    for own, other in pairwise([*limits, limits[0]]):
        for trial in ranked:
            if acts_on(trial.remedies, own) and not acts_on(trial.remedies, other):
                found.append((trial, own))
                break
    return [] if any(trial is best for trial, _ in found) else found


def in_best_order(ranked: Iterable[Trial]) -> list[Trial]:
    """First trial for each set of remedies."""
    found: dict[frozenset[Remedy], Trial] = {}
    for trial in ranked:
        found.setdefault(frozenset(trial.remedies), trial)
    return list(found.values())
