"""Arguments of the API that are refused, or that may be one name in place of a list."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from conftest import LOSSY, Cli

import retx
from retx.errors import UsageError
from retx.explaining.measured import measured
from retx.scenarios.names import is_leg, own_name
from retx.scenarios.parsed import scenario_toml
from retx.scenarios.varied import read_vary

LINK = {"name": "n", "ends": ["a", "b"], "rate": "1 Mbit/s", "delay": "5 ms"}
SHORT = {"duration": "1 s"}
SPACE = {"link.cloud.delay": retx.Range(5, 20, "ms")}


def test_one_name_is_no_list_of_letters() -> None:
    found = retx.sweep(LOSSY, {"link.cloud.delay": ["1 ms"]}, 1, overrides=SHORT, tables="drops")
    assert found.drops is not None
    forms = retx.models.calculate(LOSSY, "pftk")
    assert forms["model"].unique().to_list() == ["pftk"]
    tuned = retx.tune(LOSSY, SPACE, maximise="goodput", trials=1, replications=1, overrides=SHORT)
    assert [it.name for it in tuned.objectives] == ["goodput"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: retx.sweep(LOSSY, ["flow.download.tcp"]), "grid: ['flow.download.tcp'] is no"),
        (
            lambda: retx.sweep(LOSSY, {"seed": [1]}, derive=dict, derive_from=["segs"]),
            "derive_from: no table 'segs'",
        ),
        (
            lambda: retx.tune(LOSSY, {"link.cloud.delay": "5..20"}, maximise="goodput"),
            "is one value",
        ),
        (lambda: retx.tune(LOSSY, {"link.cloud.delay": 3}, maximise="goodput"), "3 is one value"),
        (lambda: retx.Range("5", "6"), "'5' is not a number"),
        (lambda: retx.run(""), "the scenario is empty: name a file"),
        (lambda: retx.run(LOSSY, seed="1"), "seed is '1': it must be a whole number"),
        (lambda: retx.sweep(LOSSY, {"seed": [1]}, seed="1"), "seed is '1'"),
        (lambda: retx.replicate(LOSSY, 1, overrides=SHORT).mean(5), "no quantity 5"),
        (lambda: retx.run(LOSSY, overrides=SHORT).plot.ladder("a", "b"), "'a' is not a time"),
        (lambda: read_vary("a=1..10:lin:4"), "'lin:4' is unknown after the range 1..10"),
        (lambda: read_vary("a=5..50 ms:abc"), "'abc' is unknown after the range 5..50 ms"),
    ],
)
def test_a_wrong_argument_is_named(call: Callable[[], object], said: str) -> None:
    with pytest.raises((UsageError, ValueError), match=re.escape(said)) as error:
        call()
    assert type(error.value).__module__.startswith("retx")


@pytest.mark.parametrize(
    ("flow", "own", "leg"),
    [
        ("up", "up", False),
        ("up.3", "up", False),
        ("up@home", "up@home", False),
        ("up@home.3", "up@home", False),
        ("up@home.3@proxy", "up@home", True),
        ("up@proxy", "up", True),
        ("up@home@proxy", "up@home", True),
        ("other", "other", False),
    ],
)
def test_the_name_of_a_flow_in_the_scenario(flow: str, own: str, leg: bool) -> None:
    """Names of flows have no full stop, but may have an @."""
    assert own_name(flow, {"up", "up@home"}) == own
    assert is_leg(flow, {"up", "up@home"}) == leg


def test_a_flow_whose_name_has_an_at_sign_fails_and_counts_as_another_one(cli: Cli) -> None:
    """The flow is found in the scenario, where its end is known, and is no leg of a split flow."""
    made: dict[str, Any] = {"duration": "1 h", "link": [LINK]}
    flow = {"from": "a", "to": "b", "tcp": "linux", "app": {"kind": "transfer", "bytes": 9_000_000}}
    made["flow"] = [{**flow, "name": "up"}, {**flow, "name": "up@home"}]
    summary = retx.run(made, tables=False, segments=False).summary
    assert measured(summary, summary["scenario"]["flow"][0]).others_bit_s > 4e5
    made["link"] = [{**LINK, "forward": {"channel": {"model": "bernoulli", "p": 1}}}]
    done = cli("run", "-", input=scenario_toml(made))
    assert done.stdout.count("It failed at ") == 2, done.stderr


@pytest.mark.parametrize("name", ["a.b", "a'b", 'a"b', "", " a"])
def test_names_that_keys_could_not_hold_are_refused(name: str) -> None:
    flow = {"name": name, "from": "a", "to": "b", "tcp": "linux", "app": "bulk"}
    with pytest.raises(retx.ScenarioError, match="the flow's name "):
        retx.run({"duration": "1 s", "link": [LINK], "flow": [flow]})
