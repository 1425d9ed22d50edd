"""Judges held-out claims with the base, and with each variant of it that changes one parameter.

The base is the set-up that the search of `retx.study.calibration` has chosen. The search does not
use held-out claims, so that the base is not fitted to them. Afterwards all claims are judged
together, to find which value of which parameter satisfies a held-out claim, and which other claims
this value loses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from retx.study.alike import measured_value
from retx.study.claims import Row
from retx.study.library import Study
from retx.study.measured import Measured
from retx.study.openings import Openings, Values, calibrating, targets
from retx.study.requested import KnownPoints
from retx.study.rules import judge
from retx.study.runs import Plan
from retx.study.trials import nearest_value, nearness
from retx.study.verdicts import Finding

UNCOUNTED_RULES = ("arithmetic", "undecidable")


@dataclass(frozen=True)
class HeldOutCheck:
    """A set-up with the verdicts on all claims."""

    change: str
    """The parameter that differs from the base, with its value; empty for the base."""
    findings: dict[str, Finding]

    @property
    def agreeing(self) -> frozenset[str]:
        """Claims that agree."""
        return frozenset(name for name, it in self.findings.items() if it.score >= 1)


def held_out(study: Study) -> list[str]:
    """Ids of the counted claims that a search does not use."""
    searched = set(calibrating(study))
    counted = (it for it in study.claims if it.counted and it.rule not in UNCOUNTED_RULES)
    return [it.id for it in counted if it.id not in searched]


def verdicts(measured: Measured, wanted: Sequence[str]) -> dict[str, Finding]:
    """Verdicts on some claims, by their id.

    A held-out claim without a measured value is omitted; a claim of the search gets the verdict
    *differs* in that case.
    """
    study = measured.study
    searched = set(calibrating(study))
    claims = [it for it in study.claims if it.id in wanted]
    computed = study.declared.computed(measured, [it.measured for it in claims if it.measured])
    found: dict[str, Finding] = {}
    for it in claims:
        value = measured_value(measured, it, computed)
        if isinstance(it, Row) or it.id in searched or value is not None:
            found[it.id] = judge(study.criterion(it), value)
    return found


def evaluate_held_out(
    study: Study,
    openings: Openings,
    base: Values,
    plan: Plan,
    progress: Callable[[HeldOutCheck], None] | None = None,
) -> list[HeldOutCheck]:
    """Judges all claims with the base set-up, and with each that differs in one parameter.

    Args:
        study: The study, as its files define it.
        openings: Open parameters of the study.
        base: Set-up chosen by the search.
        plan: Seed and number of draws, equal to those of the search.
        progress: Called with the verdicts for each set-up, as soon as they are known.
    """
    known, found = KnownPoints(), list[HeldOutCheck]()
    wanted = [*calibrating(study), *held_out(study)]
    changes = [
        (f"{name} = {openings.parameters[name].shown(values[name])}", values)
        for name, values in openings.changes(base)
    ]
    for change, values in [("", base), *changes]:
        # In the first call all numbers are 1, so that variances are zero and correlations
        # undefined.
        with np.errstate(invalid="ignore", divide="ignore"):
            there = openings.applied(study, values)
            judged = known.answer(there, plan, partial(verdicts, wanted=wanted))
        found.append(HeldOutCheck(change, judged))
        if progress:
            progress(found[-1])
    return found


def reasons(study: Study, found: Sequence[HeldOutCheck]) -> dict[str, dict[str, Any]]:
    """Reasons for the difference of each held-out claim that differs from the paper at the base.

    An entry, as stored in `base.toml`, says whether a change of one parameter would make the claim
    agree, or how near it comes.
    """
    base, *others = found
    searched = frozenset(calibrating(study))
    published = targets(study)
    said: dict[str, dict[str, Any]] = {}
    for name in held_out(study):
        if name not in base.findings or name in base.agreeing:
            continue
        reaching = [it for it in others if name in it.agreeing]
        if reaching:
            best = min(reaching, key=lambda it: len(base.agreeing - it.agreeing))
            costs = sorted((base.agreeing - best.agreeing) & searched)
            said[name] = {"reached": True, "change": best.change, "costs": costs}
            continue
        nearest = max(found, key=partial(_nearness, name=name, published=published.get(name)))
        said[name] = {"reached": False, "of": len(found), "change": nearest.change}
        said[name] |= nearest_value(nearest.findings[name].mean)
    return said


def _nearness(check: HeldOutCheck, name: str, published: float | None) -> tuple[float, float]:
    finding = check.findings[name]
    return nearness(finding.score, finding.mean, published)
