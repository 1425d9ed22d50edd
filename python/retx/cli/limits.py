"""Lines that name the limits of the flows of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retx.analysis.limits import (
    cut_off_s,
    failed_at_s,
    failure,
    flat,
    line,
    phrases_of_marks,
    shares,
)
from retx.cli.console import Screen
from retx.cli.tables import First, plain
from retx.scenarios.names import own_name
from retx.scenarios.units import rate_of, seconds_of
from retx.terminal.quantities import seconds

MOST_TRACED = 200
"""Maximum number of flows and links together, for which the paths of flows are examined."""
SLOW = 10
"""Ratio of two rates from which on a link may be too slow for acknowledgments."""


def print_limits(
    out: Screen,
    flows: First,
    summary: dict[str, Any],
    resolved: Callable[[], dict[str, Any]] | None,
) -> None:
    """Prints what limited each flow, one line each, above the table of links."""
    is_small = len(summary["flows"]) + len(summary["links"]) <= MOST_TRACED
    scenario: dict[str, Any] = {}
    for flow in flows:
        phrases = phrases_of_marks(flow)
        if resolved and is_small and (flow.get("limited_by") or {}).get("bottleneck"):
            scenario = scenario or resolved()
            if _has_slow_link(scenario):
                phrases |= _of_bottleneck(flow, scenario, summary)
        limits = line(flow.get("limited_by"), phrases)
        if limits:
            out.print(f"{plain(flow['name'])}: {limits}.{_failure(flow, summary, resolved)}")


def _failure(
    row: dict[str, Any],
    summary: dict[str, Any],
    resolved: Callable[[], dict[str, Any]] | None,
) -> str:
    """Sentence about a flow that TCP has given up; empty for all other flows."""
    if "emulation" in summary or row["finish_s"] is not None:
        return ""
    scenario, end_s = summary["scenario"], summary["engine"]["simulated_s"]
    duration_s = seconds_of(scenario["duration"])
    if resolved and end_s < duration_s:
        flow = _planned(row, resolved())
        end_s = cut_off_s(flow["app"], end_s, duration_s) if flow else end_s
    failed = failed_at_s(row, seconds_of(scenario.get("warmup") or "0 s"), end_s)
    return "" if failed is None else f" {failure(seconds(failed))}"


def _planned(row: dict[str, Any], scenario: dict[str, Any]) -> dict[str, Any] | None:
    """Flow of the scenario that a row of the results belongs to."""
    flows = {it["name"]: it for it in scenario["flow"]}
    return flows.get(own_name(row["name"], flows))


def _has_slow_link(scenario: dict[str, Any]) -> bool:
    """True if a link is so much slower than another that acknowledgments may fill it.

    An acknowledgment has at least a tenth of the bytes of the data that it acknowledges. In all
    other networks the modules that examine paths need not be loaded.
    """
    links = [*scenario.get("link", ()), *scenario.get("wlan", ())]
    tables = [[it, it.get("forward") or {}, it.get("reverse") or {}] for it in links]
    rates = [rate_of(it["rate"]) for table in tables for it in table if it.get("rate")]
    return bool(rates) and max(rates) >= SLOW * min(rates)


def _of_bottleneck(
    row: dict[str, Any], scenario: dict[str, Any], summary: dict[str, Any]
) -> dict[str, str]:
    """Phrase for a bottleneck that the data of the flow do not keep busy; else empty."""
    from retx.explaining.phrases import bottleneck_phrase
    from retx.explaining.situation import Situation

    flow = _planned(row, scenario)
    if flow is None:
        return {}
    phrase = bottleneck_phrase(Situation(scenario, flow, shares(flat(row["limited_by"])), summary))
    return {"bottleneck": phrase} if phrase else {}
