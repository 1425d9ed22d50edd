"""Set-up of the runs of a report: the default, the frozen base, or a trial."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from retx.errors import UsageError
from retx.study.claims import Row
from retx.study.library import Study
from retx.study.openings import FILE, Openings, Values, calibrating, load_openings, read_frozen
from retx.study.runs import Plan


@dataclass(frozen=True)
class SetUpChoice:
    """The set-up of all runs, and the results of the search for it."""

    name: str
    """`default`, `base`, or its trial."""
    openings: Openings
    values: Values
    searched: dict[str, Any] = field(default_factory=dict)
    """Findings of the search in `base.toml`; empty if the set-up is not the base."""
    looked_at: frozenset[str] = frozenset()
    """Ids of the claims that the search uses."""
    names: dict[str, str] = field(default_factory=dict)
    """Texts for the claims that are rows of a table, by id."""

    @property
    def bent(self) -> list[str]:
        """Names of the open parameters that are not at their default."""
        return self.openings.bent(self.values)

    @property
    def sentence(self) -> str:
        """Sentence that describes the set-up."""
        said = f"Set-up: {self.name}, {len(self.bent)} of {len(self.values)} open parameters bent"
        parameters = self.openings.parameters
        shown = [f"{name}: {parameters[name].shown(self.values[name])}" for name in self.bent]
        return said + (f" ({'; '.join(shown)})." if shown else ".")

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
        found: dict[str, Any]
        if claim in kept.get("held_out", {}):
            found = kept["held_out"][claim] | {"held_out": True}
        elif claim in kept.get("missed", {}):
            found = kept["missed"][claim] | {"trials": kept["trials"], "draws": kept["draws"]}
        else:
            return {"agrees": True} if kept and claim in self.looked_at else {}
        return found | {"costs": self.links(found.get("costs", []))}


def at_set_up(study: Study, wanted: str | None, plan: Plan, home: Path) -> Study:
    """The study at a set-up, with a sentence that describes the set-up.

    Args:
        study: The study, as its files define it.
        wanted: `default`, `base`, the number of a trial, or None for the base where there is one.
        plan: Form and seed, which identify the trials.
        home: Directory of the report, in which trials are stored.

    Raises:
        UsageError: The set-up does not exist.
        StudyError: `open.toml` or `base.toml` is wrong.
    """
    if not (study.folder / FILE).is_file():
        if wanted not in (None, "default"):
            raise UsageError(f"--set-up {wanted}: {study.name} has no {FILE}")
        return study
    openings = load_openings(study)
    searched: dict[str, Any] = {}
    if wanted in (None, "base"):
        found = read_frozen(study)
        if found is None and wanted:
            raise UsageError(f"--set-up base: {study.name} is not frozen yet (--freeze TRIAL)")
        name = "default" if found is None else "base"
        values = openings.default if found is None else dict(found["value"])
        searched = {} if found is None else found["search"]
    elif wanted == "default":
        values, name = openings.default, "default"
    else:
        from retx.study.calibration import Search

        if not wanted.isdecimal():
            raise UsageError(f"--set-up {wanted}: default, base, or the number of a trial")
        values = Search.of(study, plan.form, plan.seed, home).trial(int(wanted)).values
        name = f"trial {wanted}"
    labels = {
        it.id: f"{it.statement}, {study.experiments[it.experiment].cases[it.case].label}"
        for it in study.claims
        if isinstance(it, Row)
    }
    looked_at = frozenset(calibrating(study))
    choice = SetUpChoice(name, openings, values, searched, looked_at, labels)
    return replace(openings.applied(study, values), set_up_choice=choice)
