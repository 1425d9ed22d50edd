"""Finds out why a flow is slow, and what would make it faster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retx.errors import UsageError
from retx.errors.checks import checked_integer
from retx.errors.meant import choice
from retx.explaining.answer import Answer, answer_of
from retx.explaining.runs import Runs
from retx.explaining.search import Plan, Search
from retx.scenarios.parsed import resolve
from retx.scenarios.source import Scenario
from retx.scenarios.trust import trusting
from retx.scenarios.units import seconds_of

PACKETS = 7_000_000
"""Default limit on the packets of all runs: some seconds on two cores. The answer is the same on
every machine.
"""


def why(
    scenario: Scenario,
    *,
    flow: str | None = None,
    budget: str | float | None = None,
    replications: int | None = None,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    threads: int | None = None,
    code: bool = True,
    files_anywhere: bool = False,
) -> Answer:
    """Finds what limits a flow, and tries remedies on the same draws.

    Args:
        scenario: Scenario, as for `retx.run`.
        flow: A flow's name in the scenario; the first over TCP by default.
        budget: Time limit, as `"10 s"` or in seconds; by default the search stops after seven
            million simulated packets, so that the answer does not depend on the machine. The first
            run is made in any case.
        replications: Number of draws of each remedy. If `budget` is given, too, the search may end
            with fewer. By default: as many as are needed to rank the five best remedies.
        seed: Seed, in place of the scenario's.
        overrides: Values by their key in the scenario, as for `retx.run`.
        threads: Number of concurrent runs; by default the number of cores.
        code: If False, a scenario that names Python code is refused.
        files_anywhere: Data files may lie outside the scenario's folder.

    Raises:
        OSError: A file cannot be read.
        ScenarioError: The scenario is wrong; the message says where, what, and what instead.
        UsageError: An argument is wrong, or no flow uses TCP.
    """
    plan = _plan(budget, replications)
    if threads is not None:
        threads = checked_integer("threads", threads, 1)
    with trusting(code=code, files_anywhere=files_anywhere):
        resolved = resolve(scenario, seed=seed, overrides=overrides)
        chosen = _chosen(resolved, flow)
        if _shares_tcp(resolved, chosen):
            scenario, chosen = _with_own_tcp(resolved, chosen)
            seed, overrides = None, None  # of which the resolved scenario has the values
        search = Search(Runs(scenario, seed, overrides, threads), chosen, plan)
        search.search()
        return answer_of(search)


def _plan(budget: str | float | None, replications: int | None) -> Plan:
    draws = None if replications is None else checked_integer("replications", replications, 1)
    if budget is None:
        return Plan(packets=None if draws else PACKETS, draws=draws)
    try:
        allowed = seconds_of(budget) if isinstance(budget, str) else float(budget)
    except (TypeError, ValueError):
        allowed = float("nan")
    if not 0 < allowed < float("inf"):
        raise UsageError(f'budget is {budget!r}: it must be a time above 0, such as "10 s"')
    return Plan(budget_s=allowed, draws=draws)


def _chosen(scenario: Mapping[str, Any], name: str | None) -> Mapping[str, Any]:
    flows = [flow for flow in scenario["flow"] if flow.get("tcp")]
    if not flows:
        raise UsageError("no flow of the scenario uses TCP: there is nothing to explain")
    if name is None:
        first: Mapping[str, Any] = flows[0]
        return first
    for flow in flows:
        if flow["name"] == name:
            return dict(flow)
    end = choice(name, [flow["name"] for flow in flows])
    raise UsageError(f"flow {name!r}: no TCP flow has that name{end}")


def _shares_tcp(scenario: Mapping[str, Any], flow: Mapping[str, Any]) -> bool:
    """True if other flows share the flow's TCP settings and would be affected by a change."""
    same = [it for it in scenario["flow"] if it.get("tcp") == flow["tcp"]]
    return len(same) > 1


def _with_own_tcp(
    scenario: Mapping[str, Any], flow: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Scenario in which the flow has its own copy of its TCP settings, named after the flow."""
    name = flow["name"]
    while name in scenario["tcp"]:
        name += "_own"
    own = {**flow, "tcp": name}
    flows = [own if it["name"] == flow["name"] else it for it in scenario["flow"]]
    tcp = {**scenario["tcp"], name: scenario["tcp"][flow["tcp"]]}
    return {**scenario, "tcp": tcp, "flow": flows}, own
