"""Conclusions from the trials of a calibration; pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from types import MappingProxyType
from typing import Any

CONFLICTS = 12
"""Maximum number of stored pairs of conflicting claims."""


@dataclass(frozen=True)
class Trial:
    """Set-up, with the scores of the calibrating claims."""

    number: int
    kind: str
    """`default`, `single`, `space`, `guided`, `climb` or `unbent`; if held-out claims are judged,
    the change of the base, which is empty for the base itself."""
    values: dict[str, Any]
    bent: tuple[str, ...]
    scores: dict[str, float]
    """Score of each claim; 1 where it agrees."""
    means: dict[str, float | None]
    broken: tuple[str, ...] = ()
    """Facts that the set-up violates; it is admitted only if there are none."""
    draws: int = 0
    """Number of runs of each random point."""

    @property
    def agreeing(self) -> frozenset[str]:
        """Claims that agree."""
        return frozenset(name for name, score in self.scores.items() if score >= 1)

    def net(self, without: Iterable[str] = ()) -> tuple[float, int, float]:
        """Sort key for the choice of a base.

        The criteria, in this order: number of claims minus number of bent parameters (those that
        are not at their default), number of claims, small distances of the other claims. A bent
        parameter must therefore gain at least one claim, and is kept if it does.
        """
        left_out = set(without)
        agree = sum(name not in left_out for name in self.agreeing)
        near = sum(score for name, score in self.scores.items() if name not in left_out)
        return (agree - len(self.bent), agree, near)


def best(trials: Sequence[Trial], without: Iterable[str] = ()) -> Trial:
    """The trial to use as base: the best admitted trial, or the default if none is admitted."""
    admitted = [trial for trial in trials if not trial.broken] or list(trials[:1])
    left_out = tuple(without)
    return max(admitted, key=lambda trial: (*trial.net(left_out), -trial.number))


def by_bends(trials: Sequence[Trial]) -> list[Trial]:
    """Best trial with 0, 1, 2 … bent parameters, as long as one more gains claims.

    A bent parameter is not at its default.
    """
    found: list[Trial] = []
    for bends in range(max(len(trial.bent) for trial in trials) + 1):
        such = [trial for trial in trials if len(trial.bent) == bends and not trial.broken]
        if such:
            top = max(such, key=lambda trial: (trial.net(), -trial.number))
            if not found or len(top.agreeing) > len(found[-1].agreeing):
                found.append(top)
    return found


def out_of_reach(
    trials: Sequence[Trial], published: Mapping[str, float] = MappingProxyType({})
) -> dict[str, Trial]:
    """Claims that agree in no admitted trial, each with the nearest trial.

    Args:
        trials: All trials.
        published: Published numbers of the claims that have one; distances from them rank trials of
            equal score.
    """
    admitted = [trial for trial in trials if not trial.broken]
    reached = frozenset().union(*(trial.agreeing for trial in admitted))

    def near(name: str, trial: Trial) -> tuple[float, float]:
        mean, wanted = trial.means.get(name), published.get(name)
        apart = abs(mean - wanted) if mean is not None and wanted is not None else 0.0
        return (round(trial.scores.get(name, 0.0), 9), -apart)

    return {
        name: max(admitted, key=partial(near, name))
        for name in trials[0].scores
        if name not in reached and admitted
    }


def costs(trials: Sequence[Trial], base: Trial) -> dict[str, tuple[Trial, frozenset[str]]]:
    """For each claim that the base misses and a trial satisfies: that trial, and the lost claims.

    A claim is lost if it agrees at the base but not in the trial. If several trials satisfy the
    missed claim, the one that loses the fewest claims is used.
    """
    found: dict[str, tuple[Trial, frozenset[str]]] = {}
    for trial in trials:
        if trial.broken:
            continue
        lost = base.agreeing - trial.agreeing
        for name in (it for it in trial.scores if it in trial.agreeing - base.agreeing):
            if name not in found or len(lost) < len(found[name][1]):
                found[name] = (trial, lost)
    return found


def missed_claims(
    trials: Sequence[Trial],
    base: Trial,
    published: Mapping[str, float],
    named: Callable[[Trial], dict[str, Any]],
) -> dict[str, dict[str, Any]]:
    """Findings on the claims that the base misses, as stored in `base.toml`.

    An entry says whether a trial satisfies the claim and what this loses, or how near one comes.

    Args:
        trials: All trials.
        base: The frozen trial.
        published: Published numbers of the claims that have one, by claim.
        named: Function that returns the entries which identify a trial.
    """
    return {
        name: {"reached": False} | named(trial) | _nearest(trial.means.get(name))
        for name, trial in out_of_reach(trials, published).items()
    } | {
        name: {"reached": True} | named(trial) | {"costs": sorted(lost)}
        for name, (trial, lost) in costs(trials, base).items()
    }


def _nearest(mean: float | None) -> dict[str, float]:
    """The value nearest to a published number, if there is one."""
    return {} if mean is None else {"nearest": float(f"{mean:.4g}")}


def conflicts(trials: Sequence[Trial]) -> list[tuple[str, str]]:
    """Pairs of claims that admitted trials satisfy separately but never together."""
    sets = [trial.agreeing for trial in trials if not trial.broken]
    reached = sorted(frozenset().union(*sets))
    return [
        pair for pair in combinations(reached, 2) if not any(set(pair) <= agree for agree in sets)
    ]


def leave_one_out(trials: Sequence[Trial], figures: Mapping[str, Sequence[str]]) -> tuple[int, int]:
    """Number of claims that agree if each figure is judged at a base chosen without it.

    Args:
        trials: All trials.
        figures: Ids of the calibrating claims of each figure or table.

    Returns:
        Number of claims that agree, and number of all claims.
    """
    agree = 0
    for claims in figures.values():
        agree += len(best(trials, claims).agreeing & set(claims))
    return agree, sum(len(claims) for claims in figures.values())


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
    return {
        "trials": len({repr(trial.values) for trial in trials}),
        "draws": max(trial.draws for trial in trials),
        "agree": len(base.agreeing),
        "agree_at_default": len(trials[0].agreeing),
        "of": len(base.scores),
        "left_out": list(left_out),
        "not_together": [list(pair) for pair in conflicts(trials)[:CONFLICTS]],
        "missed": missed_claims(trials, base, published, lambda it: {"trial": it.number}),
    }
