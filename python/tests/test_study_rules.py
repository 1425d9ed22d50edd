"""Rules that judge claims, with the examples for which they were made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_study import write_study

from retx.plots.report import Figure, new_figure
from retx.study import Estimate, Interval, Points, Verdict, exact, load
from retx.study.claims import Claim, Number
from retx.study.data import Printed, StudyError, Target, rounded
from retx.study.overview import overview
from retx.study.rules import Criterion, judge
from retx.study.tables import Table
from retx.study.verdicts import Finding, Judged, Tally

AGREES, UNSETTLED, DIFFERS = Verdict.AGREES, Verdict.UNSETTLED, Verdict.DIFFERS
CONTRADICTS = Verdict.CONTRADICTS


def number(value: float, rounding: float = 0.0, **more: object) -> Criterion:
    return Criterion("number", Target(value, rounding), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "rounding"), [("0.8", 0.05), ("1.00", 0.005), ("1e-5", 5e-6), ("2.5e3", 50.0)]
)
def test_printed_numbers_carry_their_rounding(text: str, rounding: float) -> None:
    assert rounded(Printed(text)).rounding == pytest.approx(rounding)
    assert rounded(56) == Target(56, 0.5)
    assert rounded(0.25).rounding == 0, "computed, not printed"


@pytest.mark.parametrize(("mean", "final"), [(170, True), (131, True), (129, False)])
def test_a_verdict_that_more_runs_cannot_settle_says_so(mean: float, final: bool) -> None:
    wide = Estimate(mean, 20, Interval(mean - 5, mean + 5), Interval(60, 280))
    found = judge(number(100), wide)
    assert found.verdict is UNSETTLED
    assert ("more runs would not change that" in found.said) is final


def test_about_one_agrees_with_nearly_one() -> None:
    """The rule before this one called 0.99999964 beside “about 1” different."""
    about = Number(Printed("1"), "", "figure 14a", about=True, step=0.001).target()
    assert judge(Criterion("number", about), exact(0.99999964)).verdict is AGREES
    assert judge(Criterion("number", about), exact(0.9985)).verdict is DIFFERS
    with pytest.raises(StudyError, match="step_why"):
        Number(Printed("1.00"), "", "", step=0.1)


@pytest.mark.parametrize(
    ("mean", "low", "high", "verdict"),
    [
        (110, 80, 140, AGREES),
        (130, 90, 170, UNSETTLED),  # the range of single runs holds it; the mean is 30 % away
        (170, 60, 280, UNSETTLED),
        (110, 101, 119, DIFFERS),
        (110, 100.4, 119, AGREES),  # the rounding meets the range
    ],
)
def test_a_published_run_needs_range_and_mean(
    mean: float, low: float, high: float, verdict: Verdict
) -> None:
    found = Estimate(mean, 20, Interval(mean - 5, mean + 5), Interval(low, high))
    assert judge(number(100, 0.5), found).verdict is verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.95, 1.05, AGREES), (1.05, 1.2, UNSETTLED), (1.2, 1.3, DIFFERS), (0.7, 0.85, DIFFERS)],
)
def test_a_published_mean_needs_the_whole_interval(
    low: float, high: float, verdict: Verdict
) -> None:
    found = Estimate((low + high) / 2, 20, Interval(low, high), Interval(0, 9))
    rule = number(1.0, tolerance=0.1, published_is="mean")
    assert judge(rule, found).verdict is verdict


def test_a_tolerance_is_never_wider_than_a_quarter() -> None:
    """A tolerance of 117,189 around 132,811 held everything up to the link's rate."""
    rule = number(132_811, tolerance=117_189)
    assert judge(rule, exact(150_000)).verdict is AGREES
    assert judge(rule, exact(200_000)).verdict is DIFFERS
    share = number(0.1, tolerance=1.0, scale=0.2)
    assert judge(share, exact(0.149)).verdict is AGREES
    assert judge(share, exact(0.16)).verdict is DIFFERS


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(1.12, 1.3, AGREES), (1.084, 1.179, UNSETTLED), (0.9, 1.05, DIFFERS)],
)
def test_bounds_need_the_whole_interval(low: float, high: float, verdict: Verdict) -> None:
    found = Estimate((low + high) / 2, 20, Interval(low, high))
    assert judge(Criterion("at_least", Target(1.1)), found).verdict is verdict
    mirrored = Estimate(-(low + high) / 2, 20, Interval(-high, -low))
    assert judge(Criterion("at_most", Target(-1.1)), mirrored).verdict is verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.5, 0.7, AGREES),
        (0.85, 0.93, UNSETTLED),  # the sign is settled; a quarter of 1 − 0.59 is not
        (0.92, 0.98, DIFFERS),
        (1.1, 1.3, DIFFERS),
        (0.8, 1.1, UNSETTLED),
    ],
)
def test_a_direction_needs_a_quarter_of_the_effect(
    low: float, high: float, verdict: Verdict
) -> None:
    found = Estimate((low + high) / 2 + 0.012, 20, Interval(low, high))
    rule = Criterion("direction", Target(0.59, 0.005), claimed="below 1")
    assert judge(rule, found).verdict is verdict


def test_a_hundredth_is_no_rise() -> None:
    """0.752 → 0.762 passed as “rises”, beside 1.06 → 1.32 in the paper."""
    rise = Estimate(0.010, 20, Interval(0.002, 0.018))
    rule = Criterion("direction", Target(0.26, 0.01), claimed="above 0")
    assert judge(rule, rise).verdict is DIFFERS


TABLE_3 = {"1": 1.0429, "3": 1.1147, "5": 1.1431, "7": 1.2654, "9": 1.3086}


def scattered(means: Sequence[float], spread: float = 0.02, n: int = 20) -> Points:
    draws = np.random.default_rng(5).normal(0, spread, (len(means), n))
    runs = {point: list(mean + row) for point, mean, row in zip(TABLE_3, means, draws, strict=True)}
    return Points(runs)


@pytest.mark.parametrize(
    ("means", "verdict"),
    [
        ([1.21, 1.20, 1.21, 0.96, 0.25], DIFFERS),  # four of its five rows agreed one by one
        ([1.33, 1.20, 1.07, 1.10, 1.12], DIFFERS),  # the level, not the trend
        ([1.05, 1.10, 1.16, 1.24, 1.33], AGREES),
        ([1.05, 1.10, 1.16, 1.24, 3.33], DIFFERS),
    ],
)
def test_a_curve_is_judged_as_a_curve(means: list[float], verdict: Verdict) -> None:
    rule = Criterion("curve", curve={point: Target(it) for point, it in TABLE_3.items()})
    found = judge(rule, scattered(means))
    assert found.verdict is verdict, found.said
    assert found == judge(rule, scattered(means)), "resamples are seeded"
    assert found.score == 1.0 or found.score < 0.9


def test_a_curve_that_scatters_is_not_settled() -> None:
    rule = Criterion("curve", curve={point: Target(it) for point, it in TABLE_3.items()})
    assert judge(rule, scattered([1.05, 1.10, 1.16, 1.24, 1.33], 0.5)).verdict is UNSETTLED
    with pytest.raises(StudyError, match="not measured at '11'"):
        judge(replace(rule, curve={**rule.curve, "11": Target(1.4)}), scattered([1] * 5))
    with pytest.raises(StudyError, match="4 at least"):
        judge(replace(rule, curve={"1": Target(1.0)}), scattered([1] * 5))


@pytest.mark.parametrize(
    ("claimed", "means", "spread", "verdict"),
    [
        ("rises", [1, 1.1, 1.2, 1.3, 1.4], 0.02, AGREES),
        ("rises", [1, 1.1, 1.2, 1.3, 1.4], 1.0, UNSETTLED),
        ("rises", [1.4, 1.3, 1.2, 1.1, 1], 0.02, DIFFERS),
        ("rises", [1, 1.005, 1.01, 1.015, 1.02], 0.004, DIFFERS),
        ("falls", [1.4, 1.3, 1.2, 1.1, 1], 0.02, AGREES),
        ("level", [1, 1.01, 1.0, 1.02, 1.01], 0.02, AGREES),
        ("level", [1, 1.1, 1.2, 1.3, 1.4], 0.02, DIFFERS),
    ],
)
def test_trends(claimed: str, means: list[float], spread: float, verdict: Verdict) -> None:
    found = judge(Criterion("trend", claimed=claimed), scattered(means, spread))
    assert found.verdict is verdict, found


def test_an_order_is_settled_pair_by_pair() -> None:
    points = Points({"a": [3.0, 3.1, 2.9], "b": [2.0, 2.1, 1.9], "c": [1.99, 2.12, 1.89]})
    assert judge(Criterion("order", claimed="a > b, c"), points).verdict is AGREES
    assert judge(Criterion("order", claimed="a > b > c"), points).verdict is UNSETTLED
    assert judge(Criterion("order", claimed="b > a"), points).verdict is DIFFERS
    with pytest.raises(StudyError, match="cases of a, b, c"):
        judge(Criterion("order", claimed="a > d"), points)


def test_rules_ask_for_their_kind_of_value() -> None:
    with pytest.raises(StudyError, match="needs values at several points"):
        judge(Criterion("trend", claimed="rises"), exact(1))
    with pytest.raises(StudyError, match="needs one value"):
        judge(number(1), scattered([1] * 5))


def test_resamples_of_ratios_keep_their_pairs() -> None:
    points = Points({"1": [1.0, 4.0], "2": [2.0, 8.0]}, geometric=True)
    assert points.means == pytest.approx([2, 4])
    again = points.resampled()
    assert again[:, 1] / again[:, 0] == pytest.approx(np.full(len(again), 2.0))


def line(verdict: Verdict, source: str = "", rule: Any = "number", **more: Any) -> Judged:
    return Judged(Claim("x", "", source, "", rule, **more), Finding(verdict, None))


def test_what_is_fitted_is_shown_and_not_counted() -> None:
    lines = [line(AGREES), line(DIFFERS), line(UNSETTLED), line(Verdict.CONTRADICTS)]
    lines += [line(AGREES, counts="fitted")]
    lines += [line(DIFFERS, part_of="T2"), line(AGREES, part_of="T3")]
    tally = Tally.of(lines)
    assert (tally.agrees, tally.counted, tally[Verdict.CONTRADICTS]) == (1, 3, 1)
    assert tally.shown == {"fitted": 1, "part": 2}
    assert tally.share == pytest.approx(1 / 3)
    assert Tally.of([]).share == 0


CLAIM = """
[[claim]]
id = "c"
statement = "s"
source = "here"
how = "so"
measured = "ratio"
experiment = "plain"
case = "cubic"
"""


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('rule = "direction"\nclaimed = "over 1"', "expected “above 1”"),
        ('rule = "number"\nclaimed = "above 1"', "nothing with this rule"),
        ('rule = "trend"\nclaimed = "grows"', "“rises”"),
        ('rule = "number"\nuse = "train"', "use: no use 'train'"),
        ('rule = "number"\ncounts = "not"', "counts: no counts 'not'"),
        ('rule = "number"\npart_of = "d"', "part_of: no claim 'd'"),
        ('rule = "curve"\nclaimed = ""\npublished = "fig"', "published.toml has no 'fig'"),
    ],
)
def test_wrong_keys_are_reported(tmp_path: Path, more: str, message: str) -> None:
    home = write_study(tmp_path / "small")
    (home / "claims.toml").write_text(f"{CLAIM}{more}\n")
    with pytest.raises(StudyError, match=message):
        load(str(home))


def test_former_names_of_rules_are_read() -> None:
    claim = Claim("x", "", "", "", "within")
    assert (claim.rule, claim.published_is) == ("number", "mean")


def test_the_overview_goes_figure_by_figure() -> None:
    lines = [
        line(AGREES, "section 3, figure 2a", "trend"),
        line(DIFFERS, "figure 2a"),
        line(DIFFERS, "Conclusion"),
        line(AGREES, "Introduction", "trend"),
        line(UNSETTLED, "figure 10"),
        line(CONTRADICTS, "equation 1"),
        line(AGREES, "atlas, figure 4"),
        line(DIFFERS, "atlas"),
        line(AGREES, "table II"),
        line(AGREES, "table 3", counts="fitted"),
        line(AGREES, "figure 4"),
        line(UNSETTLED, "figure 4"),
    ]
    assert [(place.name, place.status) for place in overview(lines, ["atlas"])] == [
        ("figure 2a", "same shape"),
        ("figure 4", "in part"),
        ("figure 10", "not settled"),
        ("table II", "reproduced"),
        ("table 3", "not judged"),
        ("equation 1", "contradicts itself"),
        ("atlas", "in part"),
        ("text", "in part"),
    ]


def test_a_place_has_the_first_picture_that_shows_it() -> None:
    names = ("figure 5c", "figure 7", "figure 7b", "figure 11e", "table II")
    pictures = {
        name: Figure(name, new_figure()[0], "", "A drawing.", shows)
        for name, shows in (("one", ["figure 5c", "figure 7"]), ("two", ["figure 7"]))
    }
    table = Table("ours", "Numbers", [], shows=["table II"])
    found = overview((line(AGREES, it) for it in names), (), pictures.values(), [table])
    shown = {it.name: it.picture and it.picture.id for it in found}
    assert shown == {
        "figure 5c": "one",
        "figure 7": "one",
        "figure 7b": "one",  # a part of a figure that is shown as a whole
        "figure 11e": None,
        "table II": None,
    }
    assert [it.name for it in found if it.table] == ["table II"]
    picture = pictures["one"]
    assert picture.thumbnail().startswith("data:image/png;base64,")
