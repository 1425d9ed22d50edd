"""Searches all open parameters of a study jointly, and freezes the set-up that fits most claims.

Trials come in this order: the default, every variant of it with one change, a Latin hypercube over
all parameters, proposals of Optuna's sampler, single changes of the best set-ups, and the best
set-ups with single parameters reset to their defaults. Each trial is stored as one line in a file
next to the report as soon as it is judged. Proposals depend only on earlier trials, so that an
interrupted search continues with the same result.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from retx import _native
from retx.errors import UsageError
from retx.errors.extras import install_command, is_installed
from retx.files.directory import new_file
from retx.files.regular import read_regular
from retx.scenarios.source import toml_value
from retx.study import declared, derived
from retx.study.claims import Row
from retx.study.estimates import Estimate
from retx.study.judging import findings
from retx.study.library import Study
from retx.study.measured import Measured
from retx.study.measures import Found
from retx.study.openings import (
    BASE,
    TRIALS,
    Budget,
    Fact,
    Openings,
    Values,
    calibrating,
    digest,
    held_out,
    load_openings,
    targets,
)
from retx.study.runs import Known, Plan, RunsOnRequest
from retx.study.trials import Trial, best, by_bends, leave_one_out, missed_claims, search_findings

FRONT = "front.csv"
FRONT_HEAD = "trial,kind,agree,bends,breaks,"
BASE_HEAD = "# Written by `retx study --freeze`"
"""Beginnings of both files that `freeze` writes."""
FRONT_ROWS = 100
SEED_AHEAD = 1000
"""Offset of the seed from that of the report, so that lucky draws of the search do not recur in the
report."""
LEADERS = 3
ATTEMPTS = 16
"""Number of proposals after which an already tried one is accepted.

A short list of values has few neighbours of the best trial, and the sampler stays near it.
"""
PROMISING = 2
"""Maximum distance from the best score at which a trial with few draws gets more draws."""

Progress = Callable[[Trial], None]


@dataclass
class Search:
    """Trials of one study."""

    study: Study
    openings: Openings
    form: str
    seed: int
    file: Path
    threads: int | None = None
    _known: Known = field(default_factory=dict)

    @classmethod
    def of(
        cls, study: Study, form: str, seed: int, home: Path, threads: int | None = None
    ) -> Search:
        """A search whose trials are stored next to the report in `home`."""
        openings = load_openings(study)
        state = digest(study, declared.FILE, derived.FILE)
        name = f"{state}-{form}-{seed}-{_native.ENGINE[:12]}.jsonl"
        return cls(study.in_form(form), openings, form, seed, home / TRIALS / name, threads)

    def trials(self) -> list[Trial]:
        """Stored trials, without a line that was truncated by an interruption."""
        found: list[Trial] = []
        if self.file.is_file():
            for line in read_regular(self.file).splitlines():
                try:
                    given = json.loads(line)
                except json.JSONDecodeError:
                    break
                given["bent"], given["broken"] = tuple(given["bent"]), tuple(given["broken"])
                found.append(Trial(**given))
        return found

    def run(self, progress: Progress | None = None) -> list[Trial]:
        """Runs all missing trials.

        Raises:
            UsageError: Optuna is not installed.
            StudyError: A file of the study is wrong.
        """
        if not is_installed("tune"):
            raise UsageError(f"--calibrate needs Optuna: {install_command('tune')}")
        self.file.parent.mkdir(parents=True, exist_ok=True)
        stored = self.trials()
        # Removes a line that was truncated by an interruption.
        with new_file(self.file) as file:
            file.write_text("".join(_line(trial) for trial in stored), encoding="utf-8")
        # Proposals depend on the trials before them, so that stored trials are replayed.
        done: list[Trial] = []
        for number, (kind, values) in enumerate(self._proposals(done)):
            if number < len(stored):
                done.append(stored[number])
                continue
            admitted = [it.net()[0] for it in done if not it.broken]
            trial = self._judged(number, kind, values, max(admitted, default=None))
            done.append(trial)
            with self.file.open("a", encoding="utf-8") as log:
                log.write(_line(trial))
            if progress:
                progress(trial)
        return done

    def _proposals(self, done: list[Trial]) -> Iterator[tuple[str, Values]]:
        """Proposed set-ups in their order; `done` grows while they are judged."""
        from scipy.stats.qmc import LatinHypercube

        default = self.openings.default
        yield "default", default
        for _, values in self.openings.changes(default):
            yield "single", values
        budget: Budget = getattr(self.openings.search, self.form)
        parameters = self.openings.parameters.items()
        for shares in LatinHypercube(len(default), rng=self.seed).random(budget.space).tolist():
            pairs = zip(parameters, shares, strict=True)
            yield "space", {name: it.at(share) for (name, it), share in pairs}
        for number in range(budget.guided):
            yield "guided", self._proposed(done, number)
        for _ in range(budget.climb):
            for values in _untried(self._around(done), done):
                yield "climb", values
        leaders = sorted(done, key=lambda trial: (bool(trial.broken), [-it for it in trial.net()]))
        for leader in leaders[:LEADERS]:
            resets = [leader.values | {name: default[name]} for name in leader.bent]
            for values in _untried(resets, done):
                yield "unbent", values

    def _around(self, done: Sequence[Trial]) -> list[Values]:
        """Single changes of the best trial and of the trial in which most claims agree.

        They are needed because the sampler draws each parameter independently, and seldom moves
        from a good single change to a good combination.
        """
        admitted = [trial for trial in done if not trial.broken] or done
        most = max(admitted, key=lambda it: (len(it.agreeing), -len(it.bent), -it.number))
        leaders = (best(done), most)
        return [values for it in leaders for _, values in self.openings.changes(it.values)]

    def _proposed(self, done: Sequence[Trial], number: int) -> Values:
        """An untried proposal of Optuna's sampler; the last proposal if all were tried."""
        for again in range(ATTEMPTS):
            found = self._asked(done, self.seed + number + SEED_AHEAD * again)
            if _untried([found], done):
                break
        return found

    def _asked(self, done: Sequence[Trial], seed: int) -> Values:
        """Proposal of Optuna's sampler from earlier trials.

        The objective is the number of claims that agree minus the number of bent parameters (those
        that are not at their default).
        """
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=1)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        axis = optuna.distributions.FloatDistribution(0.0, 1.0)
        names = list(self.openings.parameters)
        for trial in done:
            shares = {
                name: self.openings.parameters[name].share_of(trial.values[name]) for name in names
            }
            value = sum(trial.scores.values()) - len(trial.bent) - len(trial.broken)
            study.add_trial(
                optuna.trial.create_trial(
                    params=shares, distributions=dict.fromkeys(names, axis), value=value
                )
            )
        asked = study.ask(dict.fromkeys(names, axis))
        return {
            name: it.at(min(asked.params[name], 1 - 1e-9))
            for name, it in self.openings.parameters.items()
        }

    def _judged(self, number: int, kind: str, values: Values, most: float | None) -> Trial:
        """Judges a set-up by the claims used for calibration; promising set-ups get more draws.

        Args:
            number: Number of the trial.
            kind: Kind of the trial.
            values: The set-up.
            most: Score of the best trial so far: number of claims that agree minus number of bent
                parameters.
        """
        claims, draws = calibrating(self.study), self.openings.search.draws
        trial = self._with_draws(number, kind, values, draws[0], claims)
        for more in draws[1:]:
            if most is None or trial.net()[0] >= most - PROMISING:
                trial = self._with_draws(number, kind, values, more, claims)
        return trial

    def _with_draws(
        self, number: int, kind: str, values: Values, draws: int, claims: list[str]
    ) -> Trial:
        study, searched = self.openings.applied(self.study, values), set(calibrating(self.study))
        plan = Plan(self.form, self.seed + SEED_AHEAD, draws, self.threads, 0)
        facts = self.openings.fact
        planned = Measured(replace(study, searches={}), plan)
        runs = RunsOnRequest(planned.whole, self._known, self.threads)
        measured = planned.from_runs(runs)
        found = findings(measured, claims, searched)
        return Trial(
            number,
            kind,
            values,
            tuple(self.openings.bent(values)),
            {name: it.score for name, it in found.items()},
            {name: it.mean for name, it in found.items()},
            tuple(it.name for it in facts if not _holds(it, measured.value(it.measured))),
            draws,
        )

    def summary(self, trials: Sequence[Trial]) -> list[str]:
        """Sentences on the results of the search."""
        base = best(trials)
        found = self._findings(trials, base)
        left, of = found["left_out"]
        front = ", ".join(f"{len(it.bent)}: {len(it.agreeing)}" for it in by_bends(trials))
        said = [
            f"{len(trials)} trials. Best set-up: trial {base.number}, "
            f"{len(base.bent)} of {len(base.values)} open parameters bent"
            f"{' (' + ', '.join(base.bent) + ')' if base.bent else ''}.",
            f"Calibrating claims that agree: {found['agree_at_default']} → {found['agree']} of "
            f"{found['of']}; with each figure left out of the choice {left} of {of}.",
            f"Most claims by number of bends: {front}.",
        ]
        for name, it in found["missed"].items():
            if it["reached"]:
                said.append(f"{name} can be had, and costs {', '.join(it['costs']) or 'a bend'}.")
            else:
                said.append(f"Out of reach: {name}; nearest in trial {it['trial']}.")
        pairs = "; ".join(" or ".join(pair) for pair in found["not_together"])
        return [*said, f"Not together: {pairs}."] if pairs else said

    def _findings(self, trials: Sequence[Trial], base: Trial) -> dict[str, Any]:
        """Results of the search with a set-up to be frozen, as stored in `base.toml`."""
        return search_findings(trials, base, self._left_out(trials), targets(self.study))

    def _left_out(self, trials: Sequence[Trial]) -> tuple[int, int]:
        """Number of claims that agree if the base is chosen without the claim's figure or table.

        The base is the set-up to be frozen. The second result is the number of all claims.
        """
        wanted = set(calibrating(self.study))
        figures: dict[str, list[str]] = {}
        for it in self.study.claims:
            if it.id in wanted:
                source = f"{it.source}, {it.rows.id}" if isinstance(it, Row) else it.source
                figures.setdefault(source, []).append(it.id)
        return leave_one_out(trials, figures)

    def _held_out(self, base: Values, progress: Progress | None) -> dict[str, dict[str, Any]]:
        """Findings on held-out claims that differ at the base; see `missed_claims`.

        The base, and each variant of it that changes one parameter, are judged by all claims. The
        search does not use held-out claims, so that the base is not fitted to them.
        """
        searched, others = calibrating(self.study), held_out(self.study)
        checks: list[Trial] = []
        for name, values in [("", base), *self.openings.changes(base)]:
            shown = self.openings.parameters[name].shown(values[name]) if name else ""
            kind, draws = name and f"{name} = {shown}", self.openings.search.draws[-1]
            checks.append(self._with_draws(len(checks), kind, values, draws, searched + others))
            if progress:
                progress(checks[-1])

        def named(check: Trial) -> dict[str, Any]:
            return {"of": len(checks), "change": check.kind}

        found = missed_claims(checks, checks[0], targets(self.study), named)
        for it in found.values():
            it["costs"] = [claim for claim in it.get("costs", ()) if claim in searched]
        return {name: found[name] for name in others if name in found}

    def freeze(self, number: int, progress: Progress | None = None) -> Path:
        """Writes `base.toml` and `front.csv` into the study's folder.

        Held-out claims are judged first; see `_held_out`.

        Raises:
            UsageError: The trial does not exist, or another file has the name of one of ours.
        """
        trials = self.trials()
        trial = self.trial(number)
        for name, head in ((BASE, BASE_HEAD), (FRONT, FRONT_HEAD)):
            there = self.study.folder / name
            if there.exists() and not read_regular(there).startswith(head):
                raise UsageError(
                    f"{there}: exists, and `retx study --freeze` did not write it: move it away"
                )
        reasons = self._held_out(trial.values, progress)
        path = self.study.folder / BASE
        found = self._findings(trials, trial)
        missed = found.pop("missed")
        own = {"trial": trial.number, "digest": digest(self.study), "bent": list(trial.bent)}
        lines = [
            f"{BASE_HEAD}: the set-up of all runs, and what was searched.",
            *_keys(own),
            *("", "[value]", *_keys(trial.values)),
            *("", "[search]", *_keys(found)),
            *("", "[search.missed]", *_keys(missed, quoted=True)),
            *("", "[search.held_out]", *_keys(reasons, quoted=True)),
        ]
        with new_file(path) as file:
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        with new_file(self.study.folder / FRONT) as file:
            self._write_front(file, trials)
        return path

    def trial(self, number: int) -> Trial:
        """A trial by its number.

        Raises:
            UsageError: No trial has this number.
        """
        trials = self.trials()
        if not 0 <= number < len(trials):
            have = f"0 to {len(trials) - 1}" if trials else "none: run --calibrate first"
            raise UsageError(f"no trial {number} of {self.study.name} ({self.form}): {have}")
        return trials[number]

    def _write_front(self, path: Path, trials: Sequence[Trial]) -> None:
        order = sorted(trials, key=lambda trial: (bool(trial.broken), [-it for it in trial.net()]))
        names, claims = list(trials[0].values), list(trials[0].scores)
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*FRONT_HEAD.split(",")[:-1], *names, *claims])
            for trial in order[:FRONT_ROWS]:
                head = [trial.number, trial.kind, len(trial.agreeing), len(trial.bent)]
                scores = [f"{trial.scores[claim]:.2f}" for claim in claims]
                values = [trial.values[name] for name in names]
                writer.writerow([*head, " ".join(trial.broken), *values, *scores])


def _keys(table: Mapping[str, Any], *, quoted: bool = False) -> Iterator[str]:
    """Lines of a table of TOML; `quoted` for keys that are ids of claims."""
    for key, value in table.items():
        yield f"{toml_value(key) if quoted else key} = {toml_value(value)}"


def _line(trial: Trial) -> str:
    return json.dumps(asdict(trial)) + "\n"


def _untried(values: Iterable[Values], done: Sequence[Trial]) -> list[Values]:
    """The set-ups that no trial has, once each."""
    tried = {repr(trial.values) for trial in done}
    return [it for key, it in {repr(it): it for it in values}.items() if key not in tried]


def _holds(fact: Fact, found: Found) -> bool:
    return isinstance(found, Estimate) and fact.between[0] <= found.mean <= fact.between[1]
