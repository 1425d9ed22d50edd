"""Joint calibration of a toy study whose best set-up is known; conclusions from made-up trials."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import retx
from retx.errors import UsageError
from retx.study import Measured, Plan, Verdict, load, reproduce
from retx.study.calibration import PROMISING, Search
from retx.study.claims import Row
from retx.study.data import StudyError
from retx.study.library import find
from retx.study.openings import (
    FILE,
    Budget,
    Openings,
    Searched,
    calibrating,
    digest,
    held_out,
    load_openings,
    read_frozen,
)
from retx.study.page import environment
from retx.study.runs import Known, RunsOnRequest
from retx.study.set_up import SetUpChoice, at_set_up
from retx.study.shipped import names
from retx.study.trials import (
    Trial,
    best,
    by_bends,
    conflicts,
    costs,
    leave_one_out,
    out_of_reach,
    search_findings,
)

pytest.importorskip("optuna")

SCENARIO = """
duration = "100 s"

[[link]]
name = "cloud"
ends = ["server", "client"]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { discipline = "droptail", packets = 200 }

[[flow]]
name = "download"
from = "server"
to = "client"
tcp = "reno"
app = { kind = "transfer", bytes = 100_000 }
"""
SIZES = (1_000, 3_000, 10_000, 100_000, 1_000_000, 3_000_000)
TRUTH = {"rate": 4, "delay": "40 ms"}

STUDY = """
title = "Toy"

[paper]
title = "A paper"
authors = "Its authors"
reference = "Its journal"

[experiment.sizes]
title = "Downloads"
scenario = "s.toml"
quantity = "flow.download.response_time_s"
case = [
{cases}
]
"""
OPEN = """
[[open]]
name   = "rate"
asks   = "Which rate has the link?"
range  = { from = 1, to = 40, default = 10, unit = "Mbit/s", scale = "log", whole = true }
source = "guess"
sets   = { "link.cloud.rate" = "{}" }
in     = ["s.toml"]

[[open]]
name   = "delay"
asks   = "How long is the link?"
values = [
    { is = "5 ms", source = "guess" },
    { is = "40 ms", source = "section 2" },
    { is = "250 ms", source = "guess" },
]
sets   = { "link.cloud.delay" = "{}" }
in     = ["sizes"]

[search]
quick = { space = 8, guided = 24 }
full  = { space = 20, guided = 20 }
"""
CLAIMS = """
[[rows]]
id = "T"
statement = "Response time"
published = "times"
experiment = "sizes"
quantity = "flow.download.response_time_s"
tolerance = 1
why = "A quarter at most."
use = "calibrate"
because = { "*" = "the set-up is another." }
"""
LONGEST = """
def longest(measured):
    measured.at("sizes/1000").run()
    return max(it for it in measured.at("sizes/3000000").values() if it != 1)
"""
"""A single run of a case of which no number is needed, and a function that needs real numbers."""
VALUES = """
[[values]]
is.longest = { python = "own.longest" }
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A study whose published numbers come from its own model at the true set-up."""
    home = tmp_path / "toy"
    home.mkdir()
    size = "flow.download.app.bytes"
    lines = (
        f'    {{ name = "{it}", label = "{it}", random = false, set = {{ "{size}" = {it} }} }},'
        for it in SIZES
    )
    (home / "s.toml").write_text(SCENARIO)
    (home / "study.toml").write_text(STUDY.replace("{cases}", "\n".join(lines)))
    truth = {"link.cloud.rate": "4 Mbit/s", "link.cloud.delay": "40 ms"}
    times = {
        it: retx.run(home / "s.toml", overrides=truth | {size: it}, progress=False).flows[
            "response_time_s"
        ][0]
        for it in SIZES
    }
    values = ", ".join(f'"{it}" = {time:.3f}' for it, time in times.items())
    (home / "published.toml").write_text(
        f'[times]\ntitle = "t"\nsource = "table 1"\nunit = "s"\nvalues = {{ {values} }}\n'
    )
    files = {"claims.toml": CLAIMS, "own.py": LONGEST, "values.toml": VALUES, "open.toml": OPEN}
    for name, text in files.items():
        (home / name).write_text(text)
    (home / "body.html").write_text('{% extends "base.html" %}{% block body %}{% endblock %}')
    return home


def search(toy: Path) -> Search:
    return Search.of(load(str(toy)), "quick", 1, toy.parent / "out", 1)


def test_the_known_set_up_is_found_frozen_and_taken(toy: Path) -> None:
    trials = search(toy).run()
    found = best(trials)
    assert len(found.agreeing) == 6 > len(trials[0].agreeing)
    assert found.values["delay"] == TRUTH["delay"]
    assert found.values["rate"] == pytest.approx(4, abs=1)
    said = search(toy).summary(trials)
    assert "2 of 2 open parameters bent (rate, delay)" in said[0]
    (toy / "front.csv").write_text("mine")
    with pytest.raises(UsageError, match=r"front\.csv: exists, and `retx study --freeze` did not"):
        search(toy).freeze(found.number)
    (toy / "front.csv").unlink()
    search(toy).freeze(found.number)
    path = search(toy).freeze(found.number)
    study = load(str(toy))
    assert path.name == "base.toml"
    frozen = read_frozen(study)
    assert frozen is not None
    assert frozen["value"] == found.values
    assert (toy / "front.csv").read_text().startswith("trial,kind,agree,bends,breaks,rate,delay,T ")
    plan = Plan("quick", threads=1)
    base = at_set_up(study, None, plan, toy.parent / "out")
    assert base.set_up_choice is not None
    assert "2 of 2 open parameters bent" in base.set_up_choice.sentence
    report = reproduce(base, plan, toy.parent / "out")
    assert {line.verdict for line in report.rows["T"]} == {Verdict.AGREES}
    assert base.set_up_choice.sentence in report.page.read_text()
    tried = len({repr(it.values) for it in trials})
    assert f"The search tried {tried} set-ups." in report.page.read_text()
    default = at_set_up(study, "default", plan, toy.parent / "out")
    assert default.experiments["sizes"].set["link.cloud.delay"] == "5 ms"
    (toy / "open.toml").write_text(OPEN.replace("250 ms", "300 ms"))
    with pytest.raises(StudyError, match="frozen for other open parameters"):
        read_frozen(load(str(toy)))


@pytest.mark.parametrize("kind", ["space", "guided", "climb"])
def test_a_search_that_was_broken_off_comes_to_the_same_end(toy: Path, kind: str) -> None:
    budget = "{ space = 8, guided = 6, climb = 1 }"
    (toy / "open.toml").write_text(OPEN.replace("{ space = 8, guided = 24 }", budget))
    whole = search(toy).run()
    file = search(toy).file
    lines = file.read_text().splitlines(keepends=True)
    cut = next(trial.number for trial in whole if trial.kind == kind) + 2
    assert whole[cut].kind == kind, "within such trials"
    file.write_text("".join(lines[:cut]) + lines[cut][:40])
    assert len(search(toy).trials()) == cut
    made: list[Trial] = []
    assert search(toy).run(made.append) == whole
    assert [trial.number for trial in made] == list(range(cut, len(whole)))
    assert [json.loads(line)["number"] for line in file.read_text().splitlines()] == list(
        range(len(whole))
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('in     = ["sizes"]', 'in     = ["seizes"]', "no scenario or experiment 'seizes'"),
        ('source = "guess"\nsets', "sets", "rate: a range needs `source`"),
        ("whole = true }", "whole = true }\nvalues = []\nrang = 1", "rang: unknown key"),
        ('{ is = "5 ms", source = "guess" }', '{ is = "5 ms" }', "lacks `source`"),
        ('sets   = { "link.cloud.delay" = "{}" }', "", "delay: it sets no key"),
        ("full  =", "fool  =", "search.fool: unknown key"),
        ('name   = "delay"', 'name   = "rate"', "rate: is defined twice"),
    ],
)
def test_wrong_open_parameters_are_reported(toy: Path, old: str, new: str, message: str) -> None:
    assert old in OPEN
    (toy / "open.toml").write_text(OPEN.replace(old, new))
    with pytest.raises(StudyError, match=message):
        load_openings(load(str(toy)))


def test_few_claims_allow_few_parameters(toy: Path) -> None:
    third = OPEN.split("[[open]]")[2].split("[search]")[0].replace('"delay"', '"again"')
    (toy / "open.toml").write_text(f"[[open]]{third}{OPEN}")
    with pytest.raises(StudyError, match="3 open parameters and 6 calibrating claims"):
        load_openings(load(str(toy)))


PLACES = """
[[open]]
name   = "queue"
asks   = "How long is the queue, and what loses?"
values = [
    { is = "short", source = "guess", sets = { "link.cloud.queue.packets" = 20 } },
    { is = "long", source = "", at = [
        { in = ["sizes/1000"], sets = { "link.cloud.queue.packets" = 90, "duration" = "9 s" } },
        { in = ["sizes/3000"], sets = { "seed" = 3 } },
    ] },
]
in     = ["sizes/1000"]
also   = [{ in = ["sizes"], sets = { "title" = "queue: {}" } }]
"""


def test_a_choice_sets_several_keys_in_cases_and_elsewhere(toy: Path) -> None:
    (toy / "open.toml").write_text(PLACES + OPEN[OPEN.index("[search]") :])
    study = load(str(toy))
    openings = load_openings(study)
    sizes = openings.applied(study, {"queue": "long"}).experiments["sizes"]
    assert sizes.set == {"title": "queue: long"}
    own = {"link.cloud.queue.packets": 90, "duration": "9 s"}
    assert sizes.cases["1000"].set == {"flow.download.app.bytes": 1000} | own
    assert sizes.cases["3000"].set == {"flow.download.app.bytes": 3000, "seed": 3}
    choice = SetUpChoice("trial 1", openings, {"queue": "long"})
    assert choice.sentence == "Set-up: trial 1, 1 of 1 open parameters bent (queue: long)."


def test_only_points_that_are_asked_for_are_run_and_once(toy: Path) -> None:
    study, plan = load(str(toy)), Plan("quick", threads=1)
    known: Known = {}

    def trial() -> Measured:
        planned = Measured(study, plan)
        return planned.from_runs(RunsOnRequest(planned.whole, known, 1))

    def asked(of: Measured) -> float:
        return of.at("sizes/3000").mean() / of.at("sizes/1000").mean()

    found = asked(trial())
    points = [trial().whole.point("sizes", case, None) for case in ("3000", "1000")]
    assert list(known) == [(it, "flow.download.response_time_s") for it in points]
    whole = Measured(study, plan)
    whole.run_all(progress=False)
    assert found == asked(whole) != 1
    # Known results are not recomputed: a number put in their place comes back.
    known.update({wanted: [2.0] for wanted in known})
    assert asked(trial()) == 1
    with pytest.raises(StudyError, match="reads a whole table"):
        trial().sweep("sizes")
    with pytest.raises(StudyError, match="no quantity 'mist'"):
        trial().at("sizes/1000").values("mist")


def test_trials_that_are_far_behind_have_few_draws(toy: Path) -> None:
    (toy / "open.toml").write_text(OPEN + "draws = [1, 2]\n")
    trials = search(toy).run()
    most = 0.0
    for it in trials:
        assert it.draws == (2 if it.number == 0 or it.net()[0] >= most - PROMISING else 1)
        most = max(most, it.net()[0])
    assert {it.draws for it in trials} == {1, 2}


def test_a_base_says_what_reaching_a_claim_would_cost() -> None:
    found = search_findings(TRIALS, TRIALS[0], (1, 3))
    assert found["missed"]["b"] == {"reached": True, "trial": 1, "costs": ["a"]}
    assert found["missed"]["d"] == {"reached": False, "trial": 0}
    choice = frozen_with(found)
    assert reach(choice, "b") == (
        'It agrees in set-up 1 of the search, which loses <a href="#claim-a">a</a>.'
    )
    assert reach(choice, "d") == "It agrees in none of 1 set-ups (0 draws each)."
    assert choice.reach("a") == {}
    looked_at = replace(choice, looked_at=frozenset("abcd"))
    assert reach(looked_at, "a") == "In the search's own draws it agrees at this set-up."
    assert reach(looked_at, "b") == reach(choice, "b")
    named = replace(choice, names={"a": "Time, 1 %"})
    linked = (
        '<a href="#table-a">Time, 1 %</a> with <a href="#claim-b">b</a>, <a href="#claim-c">c</a>.'
    )
    assert linked in said("show_search", named)


def frozen_with(found: dict[str, Any]) -> SetUpChoice:
    """A frozen set-up with the findings of its search."""
    nothing = Budget(0, 0)
    return SetUpChoice("base", Openings(Searched(nothing, nothing)), {}, found)


def said(macro: str, given: object) -> str:
    """Sentences of a report."""
    found: str = getattr(environment().get_template("searched.html").module, macro)(given)
    return found


def reach(choice: SetUpChoice, claim: str) -> str:
    """Sentence of a report on a claim that the set-up misses."""
    return said("show_reach", choice.reach(claim))


def test_of_trials_of_equal_score_the_nearest_is_named() -> None:
    trials = [
        replace(it, means={"d": mean})
        for it, mean in zip(TRIALS, (5.0, 7.5, 8.0, 8.0), strict=True)
    ]
    found = search_findings(trials, trials[0], (1, 3), {"d": 7.8})
    assert found["missed"]["d"] == {"reached": False, "trial": 2, "nearest": 8.0}
    assert reach(frozen_with(found), "d").endswith("; the nearest has 8.")


def trial(number: int, agree: str, bent: str = "", broken: str = "") -> Trial:
    scores = {name: 1.0 if name in agree else 0.5 for name in "abcd"}
    return Trial(number, "space", {}, tuple(bent), scores, {}, tuple(broken))


TRIALS = [trial(0, "a"), trial(1, "b", "x"), trial(2, "bc", "xy"), trial(3, "abcd", "x", "f")]


def test_a_bend_must_win_a_claim() -> None:
    assert best(TRIALS).number == 0
    assert best([*TRIALS, trial(4, "abc", "x")]).number == 4
    # One that wins exactly one is kept, one that wins none is not.
    assert best([*TRIALS, trial(4, "ab", "x")]).number == 4
    assert best([*TRIALS, trial(4, "a", "x"), trial(5, "ab", "xy")]).number == 0
    assert [it.number for it in by_bends(TRIALS)] == [0, 2]


def test_what_a_trial_reaches_is_listed_in_the_order_of_the_claims() -> None:
    names = "hgfedcba"
    scores = dict.fromkeys(names, 1.0)
    default = replace(TRIALS[0], scores=dict.fromkeys(names, 0.5))
    assert "".join(costs([default, replace(TRIALS[1], scores=scores)], default)) == names


def test_what_the_trials_say_of_single_claims() -> None:
    assert list(out_of_reach(TRIALS)) == ["d"]
    assert conflicts(TRIALS) == [("a", "b"), ("a", "c")]
    found = {name: lost for name, (_, lost) in costs(TRIALS, TRIALS[0]).items()}
    assert found == {"b": frozenset("a"), "c": frozenset("a")}
    # Without figure 1 (a) the three trials tie: trial 2 has most claims, and lacks a. Without
    # figure 2 trial 0 is best, which lacks b and c.
    assert leave_one_out(TRIALS, {"figure 1": ["a"], "figure 2": ["b", "c"]}) == (0, 3)


@pytest.mark.parametrize("name", [it for it in names() if (find(it) / FILE).is_file()])
def test_a_study_that_names_what_is_open_has_been_searched(name: str) -> None:
    study = load(name)
    frozen = read_frozen(study)
    assert frozen is not None
    known = set(calibrating(study))
    missed = frozen["search"]["missed"]
    costs = {claim for it in missed.values() for claim in it.get("costs", [])}
    assert set(missed) | costs <= known
    assert set(frozen["value"]) == set(load_openings(study).parameters)
    # Whole figures and tables are held back.
    counted = [
        it
        for it in study.claims
        if it.rule not in ("arithmetic", "undecidable") and it.counted and not isinstance(it, Row)
    ]
    held = {it.source for it in counted if it.use == "held out"}
    assert not held & {it.source for it in counted if it.use == "calibrate"}
    assert sum(it.use == "held out" for it in counted) >= 0.3 * len(counted)


HELD = """
[[claim]]
id = "longest"
use = "held out"
statement = "The longest download takes as long."
source = "figure 2"
rule = "number"
published_is = "mean"
published = {published}
unit = "s"
measured = "longest"
how = "Response time of the largest file."
tolerance = 0.1
why = "A tenth of a second."
because = "the set-up is another."
"""


def test_other_definitions_of_values_start_a_new_search(toy: Path) -> None:
    before, frozen = search(toy).file, digest(load(str(toy)))
    (toy / "values.toml").write_text(VALUES + 'is.least = { mean = "sizes/1000" }\n')
    after = search(toy).file
    (toy / "quantities.toml").write_text('[x]\nfrom = "flows"\nis = "COUNT(*)"\n')
    assert len({before, after, search(toy).file}) == 3
    assert digest(load(str(toy))) == frozen


def held_out_claim(toy: Path, published: float) -> dict[str, Any]:
    """Freezes the true set-up, and returns what is kept of a claim that the search did not see."""
    (toy / "claims.toml").write_text(CLAIMS + HELD.format(published=published))
    trials = search(toy).run()
    seen: list[Trial] = []
    search(toy).freeze(best(trials).number, seen.append)
    assert [it.kind for it in seen][:1] == [""]
    assert len({it.kind for it in seen}) == len(seen) > 3
    study = load(str(toy))
    frozen = read_frozen(study)
    assert frozen is not None
    assert held_out(study) == ["longest"]
    base = at_set_up(study, None, Plan("quick", threads=1), toy.parent / "out")
    report = reproduce(base, Plan("quick", threads=1), toy.parent / "out")
    claim = next(it for it in report.claims if it.id == "longest")
    found: dict[str, Any] = frozen["search"]["held_out"]
    assert bool(claim.reach) == bool(found)
    return found | {"said": said("show_reach", claim.reach) if claim.reach else ""}


def test_a_held_out_claim_says_which_change_reaches_it(toy: Path) -> None:
    rate = retx.run(toy / "s.toml", overrides={
        "link.cloud.rate": "40 Mbit/s", "link.cloud.delay": "40 ms",
        "flow.download.app.bytes": SIZES[-1],
    }, progress=False).flows["response_time_s"][0]  # fmt: skip
    found = held_out_claim(toy, rate)
    kept = found["longest"]
    assert kept["reached"]
    assert kept["change"] == "rate = 40 Mbit/s"
    assert kept["costs"]
    assert all(it.startswith("T ") for it in kept["costs"])
    assert 'it agrees with rate = 40 Mbit/s, which loses <a href="#table-T">' in found["said"]


def test_a_held_out_claim_out_of_reach_says_how_near_the_looks_came(toy: Path) -> None:
    found = held_out_claim(toy, 1000.0)
    kept = found["longest"]
    assert not kept["reached"]
    assert kept["change"] == "rate = 1 Mbit/s"
    assert kept["nearest"] < 1000
    assert f"the nearest has {kept['nearest']:.4g} with rate = 1 Mbit/s." in found["said"]


def test_a_held_out_claim_that_agrees_needs_no_reason(toy: Path) -> None:
    truth = {"link.cloud.rate": "4 Mbit/s", "link.cloud.delay": "40 ms"}
    size = {"flow.download.app.bytes": SIZES[-1]}
    run = retx.run(toy / "s.toml", overrides=truth | size, progress=False)
    assert held_out_claim(toy, run.flows["response_time_s"][0]) == {"said": ""}
