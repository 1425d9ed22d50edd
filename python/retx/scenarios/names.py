"""Names of flows and links in result tables, determined from the scenario before a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Any

SHOWN = 9
"""Number of existing names that a message lists at most."""


def flow_names(scenario: Mapping[str, Any]) -> list[str]:
    """Names in `flows`: one per flow of a `[[flow]]` with a count, one per leg behind a proxy.

    Args:
        scenario: Resolved scenario.
    """
    names = [name for flow in scenario["flow"] for name in _each(flow)]
    proxies = [it["name"] for it in scenario.get("relay", []) if it["kind"] == "split"]
    return names + [f"{name}@{proxy}" for proxy in proxies for name in names]


def link_names(scenario: Mapping[str, Any]) -> list[str]:
    """Names in `links`."""
    return [link["name"] for link in scenario.get("link", [])]


def listed(names: Iterable[str]) -> str:
    """First names of a list, for a message."""
    return ", ".join(islice(names, SHOWN)) or "none"


def _each(flow: Mapping[str, Any]) -> list[str]:
    if flow["count"] == 1:
        return [flow["name"]]
    return [f"{flow['name']}.{number}" for number in range(flow["count"])]


def own_name(flow: str, names: Collection[str]) -> str:
    """Name in the scenario of a flow in the results: `answer` for `answer.3` and `answer@proxy`.

    Args:
        flow: Name in the results.
        names: Names of the flows in the scenario. A name in the scenario has no full stop, but it
            may have an @.
    """
    name = flow.partition(".")[0]
    while name not in names and "@" in name:
        name = name.rpartition("@")[0]
    return name if name in names else flow


def is_leg(flow: str, names: Collection[str]) -> bool:
    """True if a name in the results, such as `answer@proxy`, is that of a leg behind a proxy."""
    return "@" in flow[len(own_name(flow, names)) :]
