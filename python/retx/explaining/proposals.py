"""Remedies that can help a flow, and the reasons why others are left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from retx._native import ScenarioError
from retx.analysis.limits import per_cent
from retx.explaining.remedies import remedies
from retx.explaining.remedy import Change, Remedy
from retx.explaining.runs import Runs
from retx.explaining.situation import NIL, Situation
from retx.explaining.trial import Trial
from retx.scenarios.parsed import Parsed

END = re.compile(r"\b(at the (?:sender|receiver))\b")
"""Place of an instruction: an end of the flow."""


@dataclass(frozen=True)
class LeftOut:
    """Remedy that was not tried.

    Args:
        name: Name on the command line.
        reason: The reason, as a sentence without a full stop.
    """

    name: str
    reason: str


def proposals(situation: Situation, on: Trial | None = None) -> tuple[list[Trial], list[LeftOut]]:
    """Trials (changes to be run) of the remedies that can help, and the remedies left out.

    Remedies that Linux offers come first. Within each group, remedies are sorted by the share of
    the flow's lifetime under the limits on which they act, the largest share first.

    Args:
        situation: The flow.
        on: Trial to which a further change is added; None to propose single remedies.
    """
    trials, left_out = [], []
    for remedy in remedies():
        weight = remedy.weight(situation)
        if not weight:
            left_out.append(LeftOut(remedy.name, _immaterial(remedy)))
            continue
        changes = [_at_proxies(change, situation) for change in remedy.propose(situation)]
        if not changes:
            left_out.append(LeftOut(remedy.name, "the flow has it, or there is no place for it"))
        for change in changes:
            if on is None:
                trials.append(Trial((remedy,), (change,), weight))
            elif not _meet(change.overrides, on.overrides) and remedy not in on.remedies:
                trials.append(Trial((*on.remedies, remedy), (*on.changes, change), weight))
    # Remedies that users can apply come first, since the budget may be spent before all remedies
    # are tried. Remedies of about equal weight keep the order of the families.
    # A standing queue has no share of its own, so those at the queue come before all others.
    stands = situation.has_standing_queue

    def order(trial: Trial) -> tuple[bool, bool, float]:
        last = trial.remedies[-1]
        is_at_queue = stands and last.queues and last.where == "router"
        return not trial.in_linux, not is_at_queue, -round(trial.weight, 1)

    return sorted(trials, key=order), left_out


def _at_proxies(change: Change, situation: Situation) -> Change:
    """The change of a TCP, made at the proxies that split the flow, too.

    The connection that limits a split flow may be one behind a proxy.
    """
    own = f"{situation.tcp_key}."
    settings = {key: value for key, value in change.overrides.items() if key.startswith(own)}
    if not settings or not situation.proxies:
        return change
    overrides = dict(change.overrides)
    for _, prefix in situation.proxies:
        overrides |= {f"{prefix}.{key[len(own) :]}": value for key, value in settings.items()}
    places = " and ".join(node for node, _ in situation.proxies)
    there = rf"\1 and at the proxy at {places}"
    return replace(change, overrides=overrides, apply=[END.sub(there, it) for it in change.apply])


def _immaterial(remedy: Remedy) -> str:
    keys = ", ".join(_shown(key) for key in remedy.matters_for)
    return f"matters for {keys}: less than {per_cent(NIL)} of the life"


def _shown(key: str) -> str:
    return f"*{key}" if key.startswith(".") else key


def _meet(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True if two changes set the same key, or one sets a table that contains the other's key."""
    return any(a == b or a.startswith(f"{b}.") or b.startswith(f"{a}.") for a in one for b in other)


def fitting(
    runs: Runs, trials: list[Trial], overrides: Mapping[str, Any] | None = None
) -> tuple[list[tuple[Trial, Parsed]], list[LeftOut]]:
    """Trials with their changed scenarios, and those that the scenario refuses, with the reason."""
    found, left_out = [], []
    for trial in trials:
        try:
            found.append((trial, runs.parse({**trial.overrides, **(overrides or {})})))
        except ScenarioError as error:
            reason = str(error.args[-1] if error.args else error)
            left_out.append(LeftOut(trial.name, f"does not fit: {reason}"))
    return found, left_out
