"""Arguments of the API that are refused, or that may be one name in place of a list."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from conftest import LOSSY

import retx
from retx.errors import UsageError
from retx.scenarios.varied import read_vary

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
        (lambda: retx.tune(LOSSY, {"link.cloud.delay": "5..20"}, maximise="goodput"), "is a text"),
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
