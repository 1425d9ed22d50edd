"""Tries remedies on the same draws until their ranks are clear or the budget is spent.

Each remedy is first run with one draw, over a part of the scenario if whole runs take long
(`stretch.py`). Further draws go to remedies whose gain is not clearly different from that of the
next in rank.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import Any

from retx.analysis.limits import shares
from retx.analysis.ranking import WORTH, easiest_gain, is_worth
from retx.explaining.measured import Measured, flow_in, measured
from retx.explaining.pairs import for_one_limit, in_best_order
from retx.explaining.proposals import LeftOut, fitting, proposals
from retx.explaining.remedy import acts_on
from retx.explaining.runs import Limit, Runs
from retx.explaining.shortest_delay import shortest_delay
from retx.explaining.situation import Situation
from retx.explaining.stretch import Stretch, front, stretch_for
from retx.explaining.trial import Gain, Trial, best_of_each, in_rank
from retx.scenarios.parsed import Parsed

TOP = 5
"""Number of ranks that have to be clear."""
MOST_DRAWS = 30
ALIKE = 1.02
"""Maximum ratio of gains, including intervals, up to which two remedies count as equal."""
PHASES, LONG_PHASES = (0.6, 0.8, 0.9), (0.8, 0.95, 1.0)
"""Shares of the budget at which the phases end: the first draw of each remedy, single remedies,
combinations. The second tuple is for long runs, in which single remedies take most of the budget.
"""
PACKETS_PER_S = 1_500_000
"""Approximate number of packets that two cores simulate per second. It converts a time budget to
packets, to decide whether runs are long."""
MOST_COMBINED = 12
SHOWN, FEW_DRAWS = 3, 3
"""Number of combinations that are kept, and number of draws of each of them and of the recommended
change.
"""
LEAST_LEFT = 0.03
"""Minimum remaining share of a limit with which a further remedy can still gain `WORTH`."""
DEEPEST = 3
"""Largest number of remedies in a combination."""


@dataclass(frozen=True)
class Plan:
    """Limits of the search.

    Args:
        budget_s: Time limit in seconds; None for no limit.
        packets: Limit on the packets of all runs, which is the same on every machine; None for no
            limit.
        draws: Number of draws per remedy; None for as many as needed.
    """

    budget_s: float | None = None
    packets: int | None = None
    draws: int | None = None


@dataclass
class Search:
    """Search for remedies of one flow.

    Args:
        runs: Runs scenarios.
        flow: The flow's table in the resolved scenario.
        plan: Limits of time and effort.
    """

    runs: Runs
    flow: Mapping[str, Any]
    plan: Plan
    baseline: dict[int, Measured] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    singles: list[Trial] = field(default_factory=list)
    combined: list[Trial] = field(default_factory=list)
    behind: list[Trial] = field(default_factory=list)
    """Trials that were made only in short runs."""
    stretch: Stretch | None = None
    fix: Trial | None = None
    """The single change that is recommended."""
    is_separated: bool = False
    is_exhausted: bool = False
    proposed: int = 0
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
        """Seconds since the search began."""
        return time.monotonic() - self._begun

    @property
    def has_all_draws(self) -> bool:
        """True if each remedy has the requested number of draws."""
        draws = self.plan.draws or 0
        return self.untried == 0 and all(len(trial.runs) >= draws for trial in self.singles)

    def gain(self, trial: Trial) -> Gain:
        """Gain of a trial over the runs without a change."""
        return trial.gain(self.baseline)

    def search(self) -> None:
        """Tries single remedies, then the best ones together."""
        trials, self.left_out = proposals(self.situation)
        trials = self._fitting(trials)
        usable = [it for it in trials if it.in_linux]
        others = [it for it in trials if not it.in_linux]
        self.stretch = self._stretch((len(usable), len(others)))
        first, single, last = LONG_PHASES if self.stretch else PHASES
        # Short runs come first, since they are cheap. Whole runs of remedies that no kernel offers
        # come last.
        others = self._ahead(others, self._until(first))
        tried = self._try(self._ahead(usable, self._until(first)), self._until(first))
        self.singles = best_of_each(tried, self._mean)
        self._sharpen_best(self.preferred, self._until(single))
        tried += self._try(others, self._until(single))
        self.singles = best_of_each(tried, self._mean)
        self._note_rest(trials)
        self._combine_pairs(self._until(single))
        self._sharpen(self.singles, self._until(single))
        self._combine(single, last)
        # Combinations also get further draws, because a rank from three draws may be due to chance.
        self._sharpen([*self.singles, *self.combined], self._until(1.0))
        self._sharpen_best(self.preferred, self._until(1.0))
        self.fix = self.preferred(self.singles)
        if self.fix is None:
            self._sharpen_delay(self._until(1.0))
        self.singles, self.combined = in_rank(self.singles, self._mean), self._better()
        self.is_separated = not self._unclear(self.singles)

    def _note_rest(self, trials: Sequence[Trial]) -> None:
        """Records changes that were tried only in short runs; counts changes that never ran."""
        names = {trial.name for trial in self.singles}
        short = [it for it in trials if it.early_gain is not None and it.name not in names]
        self.behind = sorted(best_of_each(short, _early), key=lambda it: -_early(it))
        self.proposed = len(trials)
        self.untried = sum(it.early_gain is None and not it.runs for it in trials)

    def preferred(self, trials: Sequence[Trial]) -> Trial | None:
        """Easiest remedy with a gain close to the best; one in Linux if there is any."""
        worth = [it for it in self._ranked(trials) if self._is_fix(it)]
        usable = [it for it in worth if it.in_linux] or worth[:1]

        def beside_the_best(trial: Trial) -> float:
            """Gain of the best trial, times the trial's speed relative to it.

            Only draws that both trials have are used, since different draws would add noise.
            """
            ratio = trial.over(usable[0])
            return self.gain(usable[0]).mean * ratio.mean if ratio else 0.0

        return easiest_gain(usable, beside_the_best, lambda trial: trial.ease_with(self.baseline))

    def shortest_delay(self, trials: Sequence[Trial]) -> Trial | None:
        """See `shortest_delay.py`."""
        return shortest_delay(trials, self.baseline)

    def _is_fix(self, trial: Trial) -> bool:
        """True if the gain is large enough and not at the expense of other flows.

        A change with which TCP gives up a connection is no fix.

        For response times, the goodput that other flows lose does not matter: a queue that lets
        short responses pass takes rate from the flows that filled the queue.
        """
        gain = self.gain(trial)
        if trial.failures or not is_worth(gain.mean, gain.low):
            return False
        measures_goodput = self.flow["app"]["kind"] != "request_response"
        return not (measures_goodput and trial.takes_from_others(self.baseline))

    def _mean(self, trial: Trial) -> float:
        return self.gain(trial).mean

    def bound(self, overrides: Mapping[str, Any], draws: Sequence[int] = ()) -> Trial | None:
        """Runs a change that is no remedy in these draws, by default in those without a change."""
        trial = Trial((), (), 1.0)
        self._parsed[id(trial)] = self.runs.parse(overrides)
        limit = Limit() if self.plan.draws else self._until(1.5)
        # A bound has the draws of the unchanged flow, so that each gain can be compared with it in
        # the same draws. If runs are long, it has only those of the recommended change.
        most = FEW_DRAWS if self.stretch else len(self.baseline)
        draws = draws or sorted(self.baseline)[: self.plan.draws or most]
        self._run([(trial, draw) for draw in draws], limit)
        return trial if trial.runs else None

    def _until(self, part: float) -> Limit:
        """Limit that is reached when this part of the budget is spent."""
        plan = self.plan
        return Limit(
            inf if plan.budget_s is None else self._begun + part * plan.budget_s,
            inf if plan.packets is None else part * plan.packets,
        )

    def _fitting(self, trials: Sequence[Trial]) -> list[Trial]:
        """Trials that the scenario accepts; the first few refused trials are recorded."""
        fit, refused = fitting(self.runs, list(trials))
        if not self.singles:
            self.left_out += refused
        self._parsed |= {id(trial): parsed for trial, parsed in fit}
        return [trial for trial, _ in fit]

    def _try(self, trials: Sequence[Trial], limit: Limit) -> list[Trial]:
        """Runs trials over the whole scenario: draw 0, or all draws if their number is given."""
        draws = range(self.plan.draws or 1)
        self._run([(trial, draw) for draw in draws for trial in trials], limit)
        return [trial for trial in trials if trial.runs.keys() & self.baseline]

    def _stretch(self, counts: tuple[int, int]) -> Stretch | None:
        """Part of the scenario for short runs of these changes; None if all runs are whole."""
        plan = self.plan
        if plan.draws:
            return None
        budget = plan.packets or (plan.budget_s or inf) * PACKETS_PER_S
        return stretch_for(self.runs, self.situation, counts, budget)

    def _ahead(self, trials: Sequence[Trial], limit: Limit) -> list[Trial]:
        """Trials that short runs do not exclude; all trials if whole runs are cheap."""
        stretch = self.stretch
        if not stretch or (trials and trials[0].in_linux and not stretch.for_all):
            return list(trials)
        judged = [it for it in trials if stretch.judges(it.remedies, self.situation)]
        stretch.compare(self.runs, self.flow, judged, limit)
        known = [it for it in judged if it.early_gain is not None]
        return [*front(best_of_each(known, _early)), *(it for it in trials if it not in known)]

    def _run(self, wanted: Sequence[tuple[Trial, int]], limit: Limit) -> int:
        """Runs draws of trials and, first, of no change; returns the number of completed runs."""
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
            trial.runs[draw] = measured(summary, flow_in(summary, self.flow))
            if draw == 0:
                trial.summary, trial.scenario = summary, summary["scenario"]
        return done

    def _ranked(self, trials: Sequence[Trial]) -> list[Trial]:
        return sorted(trials, key=lambda trial: -self.gain(trial).mean)

    def _sharpen_best(
        self, choose: Callable[[Sequence[Trial]], Trial | None], limit: Limit
    ) -> None:
        """Gives the chosen remedy `FEW_DRAWS` draws; repeats this if another one is chosen then."""
        while not self.plan.draws:
            best = choose(self.singles)
            if best is None or len(best.runs) >= FEW_DRAWS:
                return
            if not self._run([(best, draw) for draw in range(FEW_DRAWS)], limit):
                return

    def _sharpen_delay(self, limit: Limit) -> None:
        """Gives `FEW_DRAWS` draws to the changes that may shorten the round trip most."""

        def candidate(trials: Sequence[Trial]) -> Trial | None:
            return shortest_delay(trials, self.baseline, draws=FEW_DRAWS)

        self._sharpen_best(candidate, limit)
        self._sharpen_best(self.shortest_delay, limit)

    def _better(self) -> list[Trial]:
        """Combinations that gain more than the best single remedy, each in its best order."""
        best = max((self._mean(it) for it in self.singles if it.in_linux), default=1.0)
        return in_best_order(
            it for it in in_rank(self.combined, self._mean) if self._mean(it) > WORTH * best
        )

    def _sharpen(self, trials: Sequence[Trial], limit: Limit) -> None:
        """Makes more draws of the leading remedies whose ranks are not clear."""
        if self.plan.draws:
            return
        while not self._is_over(limit):
            unclear = self._unclear(self._ranked(trials))
            least = min((len(trial.runs) for trial in unclear), default=0)
            self.is_exhausted = least >= MOST_DRAWS
            if not unclear or self.is_exhausted:
                return
            behind = [trial for trial in unclear if len(trial.runs) == least]
            # Two draws do not yield a useful variance, so the second and the third draw are made
            # together. The best trials come first, because the budget may not suffice for all.
            steps = 2 if least == 1 else 1
            wanted = [
                (it, draw) for it in behind for step in range(steps) for draw in _next(it, step)
            ]
            if not self._run(wanted, limit):
                return

    def _is_over(self, limit: Limit) -> bool:
        return limit.is_reached(self.runs.packets)

    def _unclear(self, ranked: Sequence[Trial]) -> list[Trial]:
        """Best remedies in Linux whose order is undecided, because their intervals overlap."""
        usable = [trial for trial in ranked if trial.in_linux][: TOP + 1]
        found: list[Trial] = []
        for one, other in pairwise(usable):
            if not _apart(one, other):
                found += [it for it in (one, other) if it not in found]
        return found

    def _combine_pairs(self, limit: Limit) -> None:
        """Combines remedies for one limit each, if the recommended one acts on two large limits."""
        best = self.preferred(self.singles)
        if best and self._has_room(best):
            worth = [it for it in self._ranked(self.singles) if it.in_linux and self._is_fix(it)]
            for start, solved in for_one_limit(self.situation.shares, worth, best):
                self._extend(start, limit, solved)

    def _combine(self, single: float, last: float) -> None:
        """Combines the recommended remedy with remedies that act on the remaining limits."""
        best = self.preferred(self.singles)
        part = single
        while best and best.in_linux and len(best.remedies) < DEEPEST and self._has_room(best):
            part = (last + part) / 2
            front = self._extend(best, self._until(part))
            better = [it for it in front if self.gain(it).mean > ALIKE * self.gain(best).mean]
            best = self.preferred(better)

    def _extend(self, trial: Trial, limit: Limit, solved: Collection[str] = ()) -> list[Trial]:
        """Best combinations of a trial with one more remedy for what then limits the flow.

        The further remedy does not act on the keys `solved`. If there are such keys, each
        combination gets one draw, to save budget; `_sharpen` makes more.
        """
        trials, _ = proposals(_after(trial, self._flow_of(trial)), trial)
        wanted = [it for it in trials if it.in_linux and it.weight >= LEAST_LEFT]
        wanted = [it for it in wanted if not acts_on(it.remedies[-1:], solved)]
        front = self._ranked(self._try(self._fitting(wanted[:MOST_COMBINED]), limit))[:SHOWN]
        if not self.plan.draws and not solved:
            self._run([(it, draw) for draw in range(FEW_DRAWS) for it in front], limit)
        self.combined += front
        return front

    def _has_room(self, trial: Trial) -> bool:
        """True if a further remedy can help; false if the change already fills the link."""
        limit = self.situation.link_limit_bit_s
        if not limit or self.flow["app"]["kind"] != "bulk":
            return True
        got = [run.goodput_bit_s for run in trial.runs.values()]
        return WORTH * sum(got) / len(got) < limit

    def _flow_of(self, trial: Trial) -> Mapping[str, Any]:
        flows = (trial.scenario or self.scenario)["flow"]
        return next(flow for flow in flows if flow["name"] == self.flow["name"])


def _next(trial: Trial, step: int) -> list[int]:
    """Draw at place `step` among those that a trial lacks, in a list; empty if there is none."""
    return [draw for draw in range(MOST_DRAWS) if draw not in trial.runs][step : step + 1]


def _after(trial: Trial, flow: Mapping[str, Any]) -> Situation:
    """Situation of the flow after a change."""
    if trial.scenario is None or trial.summary is None:
        raise ValueError(f"{trial.name} has not run")
    first = trial.runs[min(trial.runs)]
    return Situation(trial.scenario, flow, shares(first.seconds), trial.summary)


def _apart(one: Trial, other: Trial) -> bool:
    """True if the first trial gains more on common draws, or if the difference is irrelevant."""
    ratio = one.over(other)
    if ratio is None or ratio.low is None or ratio.high is None:
        return False
    return ratio.low > 1 or (ratio.low > 1 / ALIKE and ratio.high < ALIKE)


def _early(trial: Trial) -> float:
    return trial.early_gain or 0.0
