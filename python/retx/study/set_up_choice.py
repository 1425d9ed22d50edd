"""Description, for a study's report, of how the set-up was chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from markupsafe import Markup

from retx.study.openings import Openings, Values
from retx.study.trials import Trial, conflicts, costs, out_of_reach

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

    @classmethod
    def of(
        cls,
        name: str,
        openings: Openings,
        values: Values,
        searched: Mapping[str, Any],
        looked_at: Iterable[str] = (),
        names: Mapping[str, str] = MappingProxyType({}),
    ) -> SetUpChoice:
        """The set-up: values of the open parameters, and a sentence that describes them.

        Args:
            name: Name of the set-up: `default`, `base`, or a trial of the search.
            openings: Parameters that the paper does not state.
            values: Values of these parameters in the set-up.
            searched: Findings of the search for a set-up, as stored in `base.toml`.
            looked_at: Ids of the claims that the search uses.
            names: Texts for the claims that are rows of a table, by id.
        """
        bent = openings.bent(values)
        shown = {key: it.shown(values[key]) for key, it in openings.parameters.items()}
        listed = "; ".join(f"{it}: {shown[it]}" for it in bent)
        said = f"Set-up: {name}, {len(bent)} of {len(values)} open parameters bent"
        said += f" ({listed})." if bent else "."
        parameters = [
            Parameter(
                it.asks,
                it.shown(it.default),
                shown[key],
                it.source_of(values[key]),
                key in bent,
            )
            for key, it in openings.parameters.items()
        ]
        return cls(said, parameters, dict(searched), frozenset(looked_at), dict(names))

    def _linked(self, claims: Iterable[str]) -> Markup:
        """The claims as links to their places in the report."""
        link = Markup('<a href="#{}">{}</a>')
        return Markup(", ").join(
            link.format(
                f"table-{it.partition(' ')[0]}" if it in self.names else f"claim-{it}",
                self.names.get(it, it),
            )
            for it in claims
        )

    def sentences(self) -> list[Markup]:
        """Sentences of the report on the findings of the search."""
        if not self.searched:
            return []
        it = self.searched
        left, of = it["left_out"]
        said = [
            Markup(
                f"The search tried {it['trials']} set-ups. In its own runs {it['agree']} of the "
                f"{it['of']} claims that it looks at agree at this set-up, and "
                f"{it['agree_at_default']} agree if no parameter is bent. No other set-up has more "
                f"agreeing claims after subtraction of its number of bent parameters."
            ),
            Markup(
                f"Test for overfitting: each figure (or column of a table) is judged at the set-up "
                f"that would be chosen without looking at it. Then {left} of the {of} claims agree."
            ),
        ]
        apart: dict[str, list[str]] = {}
        for one, other in it["not_together"]:
            apart.setdefault(one, []).append(other)
        if apart:
            pairs = (self._linked([one]) + " with " + self._linked(apart[one]) for one in apart)
            said.append(
                Markup("Claims that agree in some set-ups, but never together: {}.").format(
                    Markup("; ").join(pairs)
                )
            )
        return said

    def reach(self, claim: str) -> str:
        """Sentence on whether another set-up satisfies a claim that this one misses, as HTML.

        Empty if that is unknown.
        """
        looked = self.searched.get("held_out", {}).get(claim)
        if looked is not None:
            return self._held_out(looked)
        found = self.searched.get("missed", {}).get(claim)
        if found is None and self.searched and claim in self.looked_at:
            return "In the search's own draws it agrees at this set-up."
        if found is None:
            return ""
        if not found["reached"]:
            trials, draws = self.searched["trials"], self.searched["draws"]
            said = f"It agrees in none of {trials} set-ups ({draws} draws each)"
            nearest = found.get("nearest")
            return said + ("." if nearest is None else f"; the nearest has {nearest:.4g}.")
        lost = self._linked(found["costs"]) or "no other, but wins none for a bend"
        return Markup("It agrees in set-up {} of the search, which loses {}.").format(
            found["trial"], lost
        )

    def _held_out(self, found: Mapping[str, Any]) -> str:
        """Sentence on a claim that the search did not use, as HTML."""
        if found["reached"]:
            lost = self._linked(found["costs"]) or "none of those that the search looks at"
            return Markup("Held out: it agrees with {}, which loses {}.").format(
                found["change"], lost
            )
        said = f"Held out: it agrees in none of {found['of']} set-ups near this one"
        nearest = found.get("nearest")
        if nearest is None:
            return f"{said}."
        where = f" with {found['change']}" if found["change"] else ""
        return f"{said}; the nearest has {nearest:.4g}{where}."


def _nearest(claim: str, trial: Trial) -> dict[str, Any]:
    """Entry for a claim that no trial satisfies: the nearest trial, and its measured value."""
    mean = trial.means.get(claim)
    found: dict[str, Any] = {"reached": False, "trial": trial.number}
    return found if mean is None else found | {"nearest": float(f"{mean:.4g}")}


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
        name: _nearest(name, trial) for name, trial in out_of_reach(trials, published).items()
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
