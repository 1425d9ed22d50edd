"""Runs the searches of a study with `retx.tune`, and stores them next to the report."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import retx
from retx import _native
from retx.errors.extras import is_installed
from retx.scenarios.source import toml_value
from retx.tuning.space import Choice, Range, parsed

if TYPE_CHECKING:
    from retx.study.runs import Plan
    from retx.tuning.result import Tuning

SEARCHES = "searches"
"""Name of the directory next to the report."""
DIGEST_DIGITS = 16


@dataclass(frozen=True)
class Search:
    """Search for the values of scenario keys that optimise an objective."""

    name: str
    title: str
    scenario: str
    vary: dict[str, str]
    """Values to search, by key, as for `retx tune --vary KEY=…`."""
    trials: dict[str, int]
    """Number of trials, by form."""
    replications: int
    maximise: list[str] = field(default_factory=list)
    minimise: list[str] = field(default_factory=list)
    set: dict[str, Any] = field(default_factory=dict)
    """Values by key in the scenario, as for `--set`."""

    def space(self) -> dict[str, Range | Choice]:
        """Ranges and choices to search, by key.

        Raises:
            UsageError: A range or choice is invalid.
        """
        return dict(parsed(f"{key}={values}") for key, values in self.vary.items())

    def found(self, folder: Path, plan: Plan, out: Path | None) -> Tuning | None:
        """Runs a search, or continues an earlier one; None if Optuna is not installed.

        Args:
            folder: Directory of the study.
            plan: Form and seed of the runs.
            out: Directory in which searches are stored.

        Raises:
            UsageError: Another search is using the file.
            ScenarioError: A value to be tried is invalid in the scenario.
        """
        if not is_installed("tune"):
            return None
        return retx.tune(
            folder / self.scenario,
            self.space(),
            maximise=self.maximise,
            minimise=self.minimise,
            trials=self.trials[plan.form],
            replications=self.replications,
            overrides=self.set | {"seed": plan.seed},
            storage=None if out is None else self._file(folder, plan.seed, out),
        )

    def _file(self, folder: Path, seed: int, out: Path) -> Path:
        """File of the search, named by a hash of its inputs; removes files of earlier states."""
        resolved = retx.resolve(folder / self.scenario, overrides=self.set | {"seed": seed})
        what = [resolved, self.vary, self.maximise, self.minimise, self.replications]
        text = json.dumps([*what, _native.ENGINE], sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:DIGEST_DIGITS]
        own = out / f"{self.name}-{digest}.db"
        out.mkdir(parents=True, exist_ok=True)
        # SQLite writes a journal, and `tune` a lock, next to the file.
        ours = (
            rf"{re.escape(self.name)}-[0-9a-f]{{{DIGEST_DIGITS}}}\.db(\.lock|-journal|-wal|-shm)?"
        )
        for path in out.iterdir():
            is_file = path.is_file() and not path.is_symlink()
            if is_file and re.fullmatch(ours, path.name) and not path.name.startswith(own.name):
                path.unlink()
        return own

    def command(self, plan: Plan) -> str:
        """Command that repeats the search, in the report's directory."""
        words = ["retx", "tune", f"scenarios/{self.scenario}"]
        for key, values in self.vary.items():
            words += ["--vary", f"{key}={values}"]
        for name in self.maximise:
            words += ["--maximise", name]
        for name in self.minimise:
            words += ["--minimise", name]
        for key, value in (self.set | {"seed": plan.seed}).items():
            words += ["--set", f"{key}={toml_value(value)}"]
        words += ["--trials", str(self.trials[plan.form]), "--replications", str(self.replications)]
        return shlex.join(words)
