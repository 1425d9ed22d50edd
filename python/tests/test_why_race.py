"""Use of the budget by `retx why`: short runs, comparisons draw by draw, Student's t."""

from __future__ import annotations

from math import atan, sqrt
from pathlib import Path

import pytest
from scipy.special import stdtrit

import retx
from retx.analysis.students_t import _within, two_sided
from retx.explaining.answer import _bound
from retx.explaining.measured import Measured
from retx.explaining.pairs import for_one_limit, in_best_order
from retx.explaining.remedies import remedies
from retx.explaining.remedy import Change, Remedy
from retx.explaining.search import Plan, Search, _apart
from retx.explaining.situation import Situation
from retx.explaining.stretch import Stretch, front
from retx.explaining.trial import Trial, in_rank

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SATELLITE, STARLINK = SCENARIOS / "why-satellite.toml", SCENARIOS / "why-starlink.toml"


def measured(speed: float, **seconds: float) -> Measured:
    return Measured(speed, speed, None, None, 0.0, 0.0, seconds)


def trial(*speeds: float, early: float | None = None, in_linux: bool = True) -> Trial:
    remedy = next(it for it in remedies() if it.in_linux == in_linux)
    runs = {draw: measured(speed) for draw, speed in enumerate(speeds)}
    return Trial((remedy,), (), 1.0, runs, early_gain=early)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 29, 100, 2000, 2001])
def test_quantiles_are_those_of_scipy(freedom: int) -> None:
    for level in (0.5, 0.9, 0.95, 0.99):
        t = two_sided(freedom, level)
        assert t == pytest.approx(stdtrit(freedom, 0.5 + level / 2), rel=1e-12)
        assert _within(freedom, atan(t / sqrt(freedom))) == pytest.approx(level, rel=1e-11)


def test_changes_are_told_apart_by_the_draws_of_both() -> None:
    """Draws differ by a factor of three, which is the luck of both: their ratio is 1.1 in each."""
    one, other = trial(11.0, 33.0, 22.0), trial(10.0, 30.0, 20.0)
    base = {draw: measured(speed) for draw, speed in enumerate((2.0, 3.0, 1.0))}
    assert one.gain(base).low < other.gain(base).high
    assert one.over(other).mean == pytest.approx(1.1)
    assert _apart(one, other)
    assert not _apart(other, one)
    assert not _apart(trial(11.0), trial(10.0)), "one draw tells nothing"
    assert _apart(trial(10.0, 10.05, 9.95), trial(10.0, 10.0, 10.0)), "a difference below 2 %"
    assert not _apart(trial(12.0, 9.0, 11.0), trial(10.0, 10.0, 10.0))
    assert trial(1.0).over(trial()) is None


def test_a_single_draw_ranks_by_the_draws_that_others_share() -> None:
    """The unchanged flow is slow in the first draw, so gains in it alone are large."""
    base = {draw: measured(speed) for draw, speed in enumerate((1.0, 2.0, 2.0))}
    lucky, steady, early = trial(9.0), trial(10.0, 10.0, 10.0), trial(8.0)
    assert lucky.gain(base).mean > steady.gain(base).mean
    ranked = in_rank([early, lucky, steady], lambda it: it.gain(base).mean)
    assert ranked == [steady, lucky, early]


def test_a_bound_is_compared_with_gains_in_the_same_draws() -> None:
    from types import SimpleNamespace

    base = {draw: measured(speed) for draw, speed in enumerate((1.0, 2.0, 2.0))}
    lucky, steady, beyond = trial(9.0), trial(10.0, 10.0, 10.0), trial(11.0, 11.0)
    found = SimpleNamespace(
        baseline=base,
        singles=[lucky, steady, beyond],
        combined=[],
        gain=lambda it: it.gain(base),
    )
    bound = _bound(found, "link", "", dict.fromkeys(base, 10.0))
    assert bound["gain"] == pytest.approx(10 / 4 ** (1 / 3))
    assert bound["gain_low"] < bound["gain"] < bound["gain_high"]
    assert [(it["draws"], it["gain"]) for it in bound["in_fewer_draws"]] == [
        (1, pytest.approx(10.0))
    ]


def test_those_in_front_go_on() -> None:
    """The fifth gains fourfold: who gains less than twofold is behind, but for the first six."""
    gains = [9.0, 8.0, 7.0, 5.0, 4.0, 1.5, 1.4]
    usable = [trial(early=gain) for gain in gains]
    near = trial(early=2.1)
    others = [trial(early=gain, in_linux=False) for gain in (3.0, 9.5)]
    assert [it.early_gain for it in front([*usable, near, *others])] == [
        *gains[:5], 2.1, 9.5,
    ]  # fmt: skip
    assert [it.early_gain for it in front([*usable, *others])] == [*gains[:6], 9.5]
    assert front([]) == []
    assert front(others) == others[1:]


def test_a_part_judges_no_remedy_for_a_limit_that_it_lacks() -> None:
    shares = {"slow_start": 0.2, "window.wireless": 0.8}
    whole = Situation({}, {}, shares, {})
    part = Stretch(3.0, 6.0, measured(1.0, **{"window.wireless": 3.0}), for_all=True)
    assert part.overrides == {"warmup": "3 s", "duration": "6 s"}
    assert part.is_like(whole)
    named = {it.name: it for it in remedies()}
    assert not part.judges([named["initial_window"]], whole)
    assert part.judges([named["arq"]], whole)
    assert not part.is_like(Situation({}, {}, {"slow_start": 0.3, "window.wireless": 0.7}, {}))


def search(scenario: Path, packets: int, duration: str) -> Search:
    from retx.explaining.runs import Runs

    overrides = {"duration": duration}
    flow = retx.resolve(scenario, overrides=overrides)["flow"][0]
    found = Search(Runs(scenario, None, overrides), flow, Plan(packets=packets))
    found.search()
    return found


def test_where_whole_runs_are_long_short_ones_choose() -> None:
    """A change that people can have runs whole; the others as the budget allows."""
    found = search(STARLINK, 2_800_000, "20 s")
    part = found.stretch
    assert part is not None
    assert not part.for_all
    assert part.start_s == part.end_s / 2 < 20 / 4
    assert found.behind
    assert not any(it.in_linux or it.runs for it in found.behind)
    gains = [it.early_gain for it in found.behind]
    assert gains == sorted(gains, reverse=True)
    best = found.fix
    assert best is not None
    assert len(best.runs) == 3
    assert max(found.singles, key=lambda it: found.gain(it).mean).runs[0].speed > 5e7
    # Nothing is tried on top of what fills the link.
    assert not found.combined


def test_with_a_small_budget_short_runs_choose_among_all() -> None:
    found = search(STARLINK, 1_100_000, "40 s")
    assert found.stretch is not None
    assert found.stretch.for_all
    names = {it.name for it in found.behind}
    assert {"reno", "vegas"} <= names
    assert {it.name for it in found.singles} & {"bbr", "arq"}
    assert not names & {it.name for it in found.singles}


def test_where_runs_are_cheap_all_are_whole() -> None:
    found = search(SATELLITE, 5_000_000, "20 s")
    assert found.stretch is None
    assert found.behind == []
    assert found.untried == 0


def test_a_small_budget_reaches_the_queue_that_is_the_answer() -> None:
    """A standing queue has no share of the life, but is what lengthens the responses."""
    found = search(SCENARIOS / "why-bufferbloat.toml", 100_000, "20 s")
    assert found.untried > found.proposed / 2
    assert found.fix is not None
    assert found.fix.name == "fq_codel"


def test_the_bound_without_losses_has_the_same_delays() -> None:
    """A model's draws depend on its place: one that only delays has to keep it."""
    from retx.explaining.answer import _without
    from retx.scenarios.path import LOSING, path_of

    loses = {"model": "bernoulli", "p": 0.1}
    delays = {"model": "random_delay", "share": 0.01, "law": "constant", "delay": "1 s"}
    scenario = retx.resolve(STARLINK)
    link = scenario["link"][0]
    for channel, left in (([loses, delays], ["bernoulli", "random_delay"]), ([loses], [])):
        changed = link | {"forward": link["forward"] | {"channel": channel}}
        path = path_of(scenario | {"link": [changed]}, scenario["flow"][0])
        found = _without(path.forward, LOSING, "loss")["link.sky.forward.channel"]
        assert [model["model"] for model in found] == left
        assert all(model.get("p", 0) == 0 for model in found)


def test_remedies_for_different_limits_are_combined() -> None:
    by_name = {it.name: it for it in remedies()}
    both, buffer, bbr = (
        Trial((by_name[name],), (), 1.0) for name in ("parallel", "receive_buffer", "bbr")
    )
    life = {"window.wireless": 0.6, "recovery.wireless": 0.1, "receive_window": 0.3}
    ranked = [both, buffer, bbr]
    assert [trial for trial, _ in for_one_limit(life, ranked, both)] == [bbr, buffer]
    assert for_one_limit(life, ranked, buffer) == []
    assert for_one_limit({**life, "receive_window": 0.05}, ranked, both) == []
    pair = Trial((*bbr.remedies, *buffer.remedies), (), 1.0)
    assert in_best_order([pair, Trial(pair.remedies[::-1], (), 1.0)]) == [pair]


def test_of_changes_at_one_place_the_one_that_leaves_more_to_others_is_easier() -> None:
    def change(others_bit_s: float, *keys: str) -> Trial:
        remedy = Remedy("queue", ("bottleneck",), lambda _: [], "", where="router")
        one = Trial((remedy,), (Change(dict.fromkeys(keys, 1), "", ()),), 1.0)
        one.runs[0] = Measured(2.0, 2.0, None, None, 0.0, others_bit_s, {})
        return one

    before = {0: Measured(1.0, 1.0, None, None, 0.0, 10.0, {})}
    harmful, fair, alike = change(5.8, "a"), change(7.5, "a", "b"), change(7.6, "a", "b", "c")
    ranked = sorted([alike, harmful, fair], key=lambda it: it.ease_with(before))
    assert ranked == [fair, alike, harmful]
    alone = {0: measured(1.0)}
    assert change(0.0, "a").ease_with(alone) < change(0.0, "a", "b").ease_with(alone)
