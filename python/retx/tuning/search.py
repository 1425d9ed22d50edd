"""The search: chooses values, runs the scenario, and records the results."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from retx._native import __version__
from retx.errors import NothingMeasuredWarning, UsageError, warn_of_unmeasured
from retx.errors.checks import check_seed, checked_integer, name_list, optional_path
from retx.errors.extras import install_command, is_installed
from retx.plugins.code_hashes import unhashable_message
from retx.running.run import replicate
from retx.scenarios.names import flow_names
from retx.scenarios.parsed import parsed_scenario, resolve
from retx.scenarios.source import override_pairs
from retx.scenarios.trust import trusting
from retx.tuning.objective import Objective
from retx.tuning.result import Tuning
from retx.tuning.space import Choice, Range, Space, space_of
from retx.tuning.store import WITHOUT_VALUE, judged, locked, open_study

if TYPE_CHECKING:
    import optuna

    from retx.scenarios.trust import trusting
from retx.scenarios.source import Scenario

STARTUP_TRIALS = 10
"""Number of random trials before the sampler uses earlier results."""
SEEDS = 2**32
"""Number of seeds; the sampler of each trial uses the next seed."""

Report = Callable[[int, int], None]


def tune(
    scenario: Scenario,
    vary: Mapping[str, Range | Choice | Sequence[object]],
    *,
    maximise: str | Sequence[str] = (),
    minimise: str | Sequence[str] = (),
    trials: int = 50,
    replications: int = 5,
    seed: int = 1,
    overrides: Mapping[str, Any] | None = None,
    storage: str | os.PathLike[str] | None = None,
    code: bool = True,
    files_anywhere: bool = False,
    report: Report | None = None,
) -> Tuning:
    """Searches for the values of scenario keys that optimise one or several objectives.

    Every trial runs the scenario with the same draws (common random numbers), so that trials differ
    only by their values. With a file as `storage`, trials are stored: the same call continues where
    an earlier one ended or was interrupted, and finds the same result as an uninterrupted search.

    Args:
        scenario: As for `retx.run`.
        vary: A `Range` or a list of values for each key.
        maximise: Objectives: `goodput`, `fairness`, a column of `flows` (averaged over them), or of
            one flow, `download.response_time_s`.
        minimise: Objectives as for `maximise`; typically `delay`.
        trials: Total number of trials, including earlier ones in `storage`.
        replications: Number of runs for each trial.
        seed: Seed of the search; the random draws use the scenario's seed.
        overrides: Fixed overrides, as for `retx.run`.
        storage: File (SQLite) in which the tuning is stored.
        code: False refuses a scenario that names user code, before any code is loaded.
        files_anywhere: Data files that the scenario names may lie outside its folder.
        report: Function called after every trial with the number done and the total.

    Raises:
        UsageError: An objective is missing or unknown, a range is invalid, or the file belongs to
            another tuning.
        ScenarioError: A value of the search space is invalid for the scenario.
        OSError: A file cannot be read or written.
    """
    if not is_installed("tune"):
        raise UsageError(f"tuning needs Optuna: {install_command('tune')}")
    space, objectives = space_of(vary), _objectives(maximise, minimise)
    trials, replications = (
        checked_integer("trials", trials, 1),
        checked_integer("replications", replications, 1),
    )
    _check_seed(seed, trials)
    path = optional_path("storage", storage)
    override_pairs(overrides)  # refuses what is no mapping
    with trusting(code=code, files_anywhere=files_anywhere):
        resolved, hashes = _checked(scenario, space, objectives, overrides or {})
    signature: dict[str, object] = {
        "scenario": hashlib.sha256(json.dumps(resolved, sort_keys=True).encode()).hexdigest(),
        "keys": {key: str(values) for key, values in space.items()},
        "objectives": [[one.name, one.direction] for one in objectives],
        "replications": replications,
        "seed": seed,
        "version": __version__,
    }
    if path and None in hashes.values():
        raise UsageError(
            f"storage: {unhashable_message(sorted(key for key in hashes if hashes[key] is None))}"
            ", or leave out `storage`"
        )
    if hashes:
        signature["code"] = hashes

    made, unmeasured = 0, 0

    def values(trial: optuna.Trial) -> list[float] | None:
        nonlocal made, unmeasured
        own = {key: one.written(one.suggest(trial, key)) for key, one in space.items()}
        with warnings.catch_warnings():
            # The warnings of all trials are reported together at the end.
            warnings.simplefilter("ignore", NothingMeasuredWarning)
            runs = replicate(
                scenario,
                replications,
                overrides={**(overrides or {}), **own},
                tables=False,
                progress=False,
            )
        made += len(runs)
        unmeasured += sum(run.warning is not None for run in runs)
        found = [objective.value(runs) for objective in objectives]
        known = [value for value in found if value is not None]
        return known if len(known) == len(found) else None

    with locked(path), trusting(code=code, files_anywhere=files_anywhere):
        study = open_study(path, [one.direction for one in objectives], signature)
        _search(study, values, (trials, seed), report)
    warn_of_unmeasured(unmeasured, made)
    return Tuning(study, space, objectives, scenario, overrides or {})


def _search(
    study: optuna.Study,
    values: Callable[[optuna.Trial], list[float] | None],
    plan: tuple[int, int],
    report: Report | None,
) -> None:
    import optuna
    from optuna.trial import TrialState

    trials, seed = plan
    for stale in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        # Trials interrupted by the end of an earlier process are marked as failed, and thus ignored
        # by the sampler.
        study.tell(stale.number, state=TrialState.FAIL)
    while (done := len(judged(study))) < trials:
        # Each trial has a separate sampler, so that its draws depend only on the earlier trials,
        # not on the number of processes that have made these trials.
        study.sampler = optuna.samplers.TPESampler(
            seed=seed + done, n_startup_trials=STARTUP_TRIALS
        )
        trial = study.ask()
        found = values(trial)
        if found is None:
            trial.set_user_attr(WITHOUT_VALUE, True)
            study.tell(trial, state=TrialState.FAIL)
        else:
            study.tell(trial, found)
        if report:
            report(done + 1, trials)


def _check_seed(seed: int, trials: int) -> None:
    check_seed(seed)
    if not 0 <= seed <= SEEDS - trials:
        raise UsageError(f"seed is {seed}: the search takes one from 0 to {SEEDS - trials}")


def _objectives(maximise: str | Sequence[str], minimise: str | Sequence[str]) -> list[Objective]:
    objectives = [Objective(name, True) for name in name_list(maximise)]
    objectives += [Objective(name, False) for name in name_list(minimise)]
    names = [objective.name for objective in objectives]
    if not names:
        raise UsageError(
            "no objective: name a quantity to maximise or to minimise, such as goodput"
        )
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise UsageError(f"objective {sorted(twice)[0]!r} is named twice")
    return objectives


def _checked(
    scenario: Scenario,
    space: Space,
    objectives: Sequence[Objective],
    overrides: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, str | None]]:
    """The scenario without its `[sweep]`, and a hash of each piece of user code that may run.

    Both ends of every range are checked in the scenario, and the objectives are checked.
    """
    first = {key: _written(values, values.ends[0]) for key, values in space.items()}
    code: dict[str, str | None] = {}
    flows: dict[str, None] = {}
    for key, values in space.items():
        for end in values.ends:
            value = _written(values, end)
            tried = parsed_scenario(scenario, None, {**overrides, **first, key: value})
            code |= tried.code.hashes
            flows |= dict.fromkeys(flow_names(json.loads(tried.scenario.to_json())))
    for objective in objectives:
        objective.check(list(flows))
    return resolve(scenario, overrides={**overrides, **first}), code


def _written(values: Range | Choice, end: Any) -> object:  # noqa: ANN401
    """An end of a range, or the name of a choice, as written in the scenario."""
    return values.written(end)
