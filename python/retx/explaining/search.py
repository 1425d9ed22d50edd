"""Tries remedies on the same draws until their ranks are clear or the budget is spent."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import Any

from retx.explaining.measured import Measured, measured
from retx.explaining.proposals import LeftOut, fitting, proposals
from retx.explaining.ranking import WORTH, easiest, is_worth
from retx.explaining.runs import Limit, Runs
from retx.explaining.situation import Situation
from retx.explaining.trial import Gain, Trial
from retx.running import Parsed
from retx.shares import shares

TOP = 5
"""Number of ranks that have to be clear."""
CONTENDERS = 6
MOST_DRAWS = 30
ALIKE = 1.02
"""Gains that differ by less, intervals included, need not be told apart."""
SAME = 1.01
"""A larger size of the same remedy is preferred when it gains so much more."""
FIRST_SHARE, SINGLE_SHARE, LAST_SHARE = 0.5, 0.75, 0.9
"""Shares of the budget at which each phase ends: the first draw of each remedy, single remedies,
combinations."""
MOST_COMBINED = 12
SHOWN, FEW_DRAWS = 5, 3
"""Combinations that are kept, and the draws of each."""
DEEPEST = 3
"""Remedies of a combination."""


@dataclass(frozen=True)
class Plan:
    """Limits of the search.

    Args:
        budget_s: Seconds; None for no limit.
        packets: Of all runs together, which no clock decides; None for no limit.
        draws: Of each remedy; None for as many as it takes.
    """

    budget_s: float | None = None
    packets: int | None = None
    draws: int | None = None


@dataclass
class Search:
    """Trials of one flow.

    Args:
        runs: Runs scenarios.
        flow: The flow's table in the resolved scenario.
        plan: How long it may take.
    """

    runs: Runs
    flow: Mapping[str, Any]
    plan: Plan
    baseline: dict[int, Measured] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    singles: list[Trial] = field(default_factory=list)
    combined: list[Trial] = field(default_factory=list)
    fix: Trial | None = None
    """The single change to recommend."""
    is_separated: bool = False
    is_exhausted: bool = False
    untried: int = 0

    def __post_init__(self) -> None:
        self._begun = time.monotonic()
        self._parsed: dict[int, Parsed] = {}
        self._base = self.runs.parse({})
        self.scenario = json.loads(self._base.scenario.to_json())
        self.summary = self.runs.first(self._base)
        self.baseline[0] = measured(self.summary, self.flow)
        self.situation = Situation(
            self.scenario, self.flow, shares(self.baseline[0].seconds), self.summary
        )

    @property
    def took_s(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._begun

    def gain(self, trial: Trial) -> Gain:
        """Gain of a trial over the runs without a change."""
        return trial.gain(self.baseline)

    def search(self) -> None:
        """Tries single remedies, then the best ones together."""
        trials, self.left_out = proposals(self.situation)
        tried = self._try(trials, self._until(FIRST_SHARE))
        self.untried = (
            len(trials) - len(tried) - sum("not fit" in it.reason for it in self.left_out)
        )
        self.singles = self._best_of_each(tried)
        self._sharpen_fix(self._until(SINGLE_SHARE))
        self._sharpen(self.singles, self._until(SINGLE_SHARE))
        self._combine()
        # All of them: a rank from three draws may be that of luck.
        self._sharpen([*self.singles, *self.combined], self._until(1.0))
        self._sharpen_fix(self._until(1.0))
        self.fix = self.preferred(self.singles)
        self.singles, self.combined = self._ranked(self.singles), self._better()
        self.is_separated = self._separated(self.singles)

    def preferred(self, trials: Sequence[Trial]) -> Trial | None:
        """About the best gain, and the easiest to have; what no kernel has only if nothing else."""
        worth = [it for it in self._ranked(trials) if self._is_worth(it)]
        usable = [it for it in worth if it.in_linux]
        return easiest(usable or worth[:1], self._mean, lambda trial: trial.ease)

    def _is_worth(self, trial: Trial) -> bool:
        gain = self.gain(trial)
        return is_worth(gain.mean, gain.low)

    def _mean(self, trial: Trial) -> float:
        return self.gain(trial).mean

    def bound(self, overrides: Mapping[str, Any]) -> Gain | None:
        """The gain of a change that is no remedy, such as a channel without losses."""
        trial = Trial((), (), 1.0)
        self._parsed[id(trial)] = self.runs.parse(overrides)
        limit = Limit() if self.plan.draws else self._until(1.5)
        # A bound is no rank: a few draws say enough, and each costs as much as the best remedy.
        draws = sorted(self.baseline)[: self.plan.draws or FEW_DRAWS]
        self._run([(trial, draw) for draw in draws], limit)
        return self.gain(trial) if trial.runs else None

    def _until(self, part: float) -> Limit:
        """Limit at which a part of the budget is spent."""
        plan = self.plan
        return Limit(
            inf if plan.budget_s is None else self._begun + part * plan.budget_s,
            inf if plan.packets is None else part * plan.packets,
        )

    def _try(self, trials: Sequence[Trial], limit: Limit) -> list[Trial]:
        """First draws; with a given number of draws all of them."""
        fit, refused = fitting(self.runs, list(trials))
        if not self.singles:
            self.left_out += refused
        self._parsed |= {id(trial): parsed for trial, parsed in fit}
        draws = range(self.plan.draws or 1)
        self._run([(trial, draw) for draw in draws for trial, _ in fit], limit)
        return [trial for trial, _ in fit if trial.runs.keys() & self.baseline]

    def _run(self, wanted: Sequence[tuple[Trial, int]], limit: Limit) -> int:
        """Makes draws of trials, those of the unchanged scenario first; returns how many ended."""
        missing = sorted({draw for _, draw in wanted} - self.baseline.keys())
        labels: list[tuple[Trial | None, int]] = [(None, draw) for draw in missing]
        labels += [(it, draw) for it, draw in wanted if draw not in it.runs]
        jobs = [(self._base if it is None else self._parsed[id(it)], draw) for it, draw in labels]
        done = 0
        for index, summary in self.runs.finished(jobs, limit):
            trial, draw = labels[index]
            if isinstance(summary, Exception):
                continue
            done += 1
            if trial is None:
                self.baseline[draw] = measured(summary, self.flow)
                continue
            trial.runs[draw] = measured(summary, self._flow_in(summary))
            if draw == 0:
                trial.summary, trial.scenario = summary, summary["scenario"]
        return done

    def _flow_in(self, summary: Mapping[str, Any]) -> Mapping[str, Any]:
        """The flow's table in a changed scenario, which may have another count."""
        name = self.flow["name"]
        found: Mapping[str, Any] = next(
            flow for flow in summary["scenario"]["flow"] if flow["name"] == name
        )
        return found

    def _best_of_each(self, trials: Sequence[Trial]) -> list[Trial]:
        """One trial per remedy: of several sizes the one that gains more."""
        best: dict[str, Trial] = {}
        for trial in trials:
            other = best.get(trial.name)
            if not other or self.gain(trial).mean > SAME * self.gain(other).mean:
                best[trial.name] = trial
        return list(best.values())

    def _ranked(self, trials: Sequence[Trial]) -> list[Trial]:
        return sorted(trials, key=lambda trial: -self.gain(trial).mean)

    def _sharpen_fix(self, limit: Limit) -> None:
        """A few draws for what would be recommended, until they do not change what that is."""
        while not self.plan.draws:
            best = self.preferred(self.singles)
            if best is None or len(best.runs) >= FEW_DRAWS:
                return
            if not self._run([(best, draw) for draw in range(FEW_DRAWS)], limit):
                return

    def _better(self) -> list[Trial]:
        """Combinations that gain more than the best single remedy."""
        best = max((self._mean(it) for it in self.singles if it.in_linux), default=1.0)
        return [it for it in self._ranked(self.combined) if self._mean(it) > WORTH * best]

    def _sharpen(self, trials: Sequence[Trial], limit: Limit) -> None:
        """More draws for those in front, until their ranks are clear."""
        if self.plan.draws:
            return
        while not self._is_over(limit) and not self._separated(self._ranked(trials)):
            front = [it for it in self._ranked(trials) if it.in_linux][:CONTENDERS]
            least = min((len(trial.runs) for trial in front), default=MOST_DRAWS)
            self.is_exhausted = least >= MOST_DRAWS
            if self.is_exhausted:
                return
            behind = [trial for trial in front if len(trial.runs) == least]
            # A variance from two draws says little: the second and the third come together, and
            # first those of the best, for the budget may not reach all.
            steps = 2 if least == 1 else 1
            wanted = [
                (it, draw) for it in behind for step in range(steps) for draw in _next(it, step)
            ]
            if not self._run(wanted, limit):
                return

    def _is_over(self, limit: Limit) -> bool:
        return limit.is_reached(self.runs.packets)

    def _separated(self, ranked: Sequence[Trial]) -> bool:
        """True where the ranks of the best that people can have are clear."""
        usable = [trial for trial in ranked if trial.in_linux]
        gains = [self.gain(trial) for trial in usable[: TOP + 1]]
        return all(_apart(one, other) for one, other in pairwise(gains))

    def _combine(self) -> None:
        """Adds to the remedy to recommend what helps most against the limits that remain."""
        best = self.preferred(self.singles)
        part = SINGLE_SHARE
        while best and best.in_linux and len(best.remedies) < DEEPEST:
            part = (LAST_SHARE + part) / 2
            trials, _ = proposals(_after(best, self._flow_of(best)), best)
            wanted = [it for it in trials if it.in_linux][:MOST_COMBINED]
            front = self._ranked(self._try(wanted, self._until(part)))[:SHOWN]
            if not self.plan.draws:
                more = [(it, draw) for draw in range(FEW_DRAWS) for it in front]
                self._run(more, self._until(part))
            self.combined += front
            better = [it for it in front if self.gain(it).mean > ALIKE * self.gain(best).mean]
            best = self.preferred(better)

    def _flow_of(self, trial: Trial) -> Mapping[str, Any]:
        flows = (trial.scenario or self.scenario)["flow"]
        return next(flow for flow in flows if flow["name"] == self.flow["name"])


def _next(trial: Trial, step: int) -> list[int]:
    """The first draw that a trial lacks, or one that follows it."""
    return [draw for draw in range(MOST_DRAWS) if draw not in trial.runs][step : step + 1]


def _after(trial: Trial, flow: Mapping[str, Any]) -> Situation:
    """The flow with a change."""
    if trial.scenario is None or trial.summary is None:
        raise ValueError(f"{trial.name} has not run")
    first = trial.runs[min(trial.runs)]
    return Situation(trial.scenario, flow, shares(first.seconds), trial.summary)


def _apart(one: Gain, other: Gain) -> bool:
    """True where the ranks of two gains are clear, or do not matter."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low > other.high or max(one.high, other.high) < ALIKE * min(one.low, other.low)
