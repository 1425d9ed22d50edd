"""Gain by the limit of an active queue alone, as a drop-tail queue with this limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from retx.analysis.ranking import is_worth
from retx.analysis.remedies import helps
from retx.explaining.remedies.active_queue import DISCIPLINES
from retx.scenarios.path import path_of

if TYPE_CHECKING:
    from retx.explaining.search import Search
    from retx.explaining.trial import Trial

MOST_DRAWS = 3
"""Number of draws in which the limit alone is run, the first ones of the remedy."""


def limit_alone(search: Search, trial: Trial, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Gain and delay with a drop-tail queue whose limit is that of the trial's active queue.

    Active queues have limits of 1,000 packets or more by default. If the queue before was shorter,
    a part of the gain may come from the limit, and not from the early drops. None if the remedy
    does not help, is no active queue, or did not raise the limit, and if the limit alone does not
    help.
    """
    # If runs are long, only the recommended change is worth further runs.
    is_shown = helps(row) and (search.stretch is None or trial is search.fix)
    found = _limits(search, trial) if trial.name in DISCIPLINES and is_shown else None
    if found is None:
        return None
    key, before, packets = found
    if before is None or before >= packets:
        return None
    draws = sorted(trial.runs.keys() & search.baseline.keys())[:MOST_DRAWS]
    alone = search.bound({key: {"discipline": "droptail", "packets": packets}}, draws)
    if alone is None:
        return None
    gain = search.gain(alone)
    if alone.failures or not is_worth(gain.mean, gain.low):
        return None
    return {
        "packets": packets,
        "gain": gain.mean,
        "gain_low": gain.low,
        "gain_high": gain.high,
        "draws": gain.draws,
        "price": alone.price(search.baseline),
        "failures": 0,
    }


def _limits(search: Search, trial: Trial) -> tuple[str, int | None, int] | None:
    """Key of the queue, and its limits without and with the change; None if there is none."""
    hop = search.situation.queue_hop
    if trial.scenario is None or f"{hop.key}.queue" not in trial.overrides:
        return None
    path = path_of(trial.scenario, search.flow)
    hops = (*path.forward, *path.back)
    after = next((it for it in hops if (it.key, it.left) == (hop.key, hop.left)), None)
    queue: Mapping[str, Any] = (after.value("queue") if after else None) or {}
    packets = queue.get("packets")
    own: Mapping[str, Any] = hop.value("queue") or {}
    if not packets or own.get("discipline") != "droptail":
        return None
    return f"{hop.key}.queue", own.get("packets"), int(packets)
