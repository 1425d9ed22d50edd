"""Choice of the change that shortens round trips most, for a flow that nothing makes faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retx.analysis.ranking import NEARLY, WORTH, easiest
from retx.explaining.measured import Measured
from retx.explaining.trial import Trial

LEAST_SAVED_S, LEAST_SAVED = 0.005, 0.1
"""Minimum reduction of the round-trip time, in seconds and relative to it."""
KEPT = 1 / WORTH
"""Least speed with the change, of the flow and of all flows together, relative to that without it.
A smaller loss would not count as a gain either, if it were one.
"""


def shortest_delay(
    trials: Sequence[Trial], baseline: Mapping[int, Measured], *, draws: int = 1
) -> Trial | None:
    """Easiest of the changes that shorten round trips most and keep flow and link as fast.

    Args:
        trials: Changes that were tried.
        baseline: Runs without a change.
        draws: Number of draws from which on the speed counts as known. With fewer draws, a change
            may be slower by a tenth.
    """
    found = [
        it
        for it in trials
        if it.in_linux
        and not it.failures
        and _saved_s(it, baseline) > _least_saved_s(baseline)
        and _speed(it, baseline) >= (KEPT if len(it.runs) >= draws else NEARLY)
    ]
    return easiest(found, lambda it: _saved_s(it, baseline), lambda it: it.ease)


def _saved_s(trial: Trial, baseline: Mapping[int, Measured]) -> float:
    return -float(trial.price(baseline)["rtt_s"] or 0.0)


def _least_saved_s(baseline: Mapping[int, Measured]) -> float:
    times = [run.rtt_s for run in baseline.values() if run.rtt_s is not None]
    return max(LEAST_SAVED_S, LEAST_SAVED * sum(times) / len(times)) if times else LEAST_SAVED_S


def _speed(trial: Trial, baseline: Mapping[int, Measured]) -> float:
    """Speed of the flow, or of all flows together if they lose more."""
    return min(trial.gain(baseline).mean, trial.total(baseline))
