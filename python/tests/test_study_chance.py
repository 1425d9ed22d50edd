"""Verdicts that chance might turn, and what many of them do to each other."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from retx.study import Estimate, Interval, Verdict, estimate
from retx.study.chance import chance_of, widened
from retx.study.claims import Claim
from retx.study.data import Target
from retx.study.estimates import paired_ratio
from retx.study.page import doubt_text, environment
from retx.study.rules import FORMER, Criterion
from retx.study.rules import judge as find
from retx.study.verdicts import Doubt, Finding, Judged, doubt


def judge(rule: Any, tolerance: float, published: float, found: Estimate) -> Finding:
    name, kind = FORMER.get(rule, (rule, "run"))
    return find(Criterion(name, Target(published), {}, kind, tolerance), found)


@pytest.mark.parametrize(
    ("rule", "tolerance", "low", "high", "expected"),
    [
        # n = 9; half the interval is 0.2, the distance 0.1: four times the runs.
        ("at_least", 0.0, 0.9, 1.3, Doubt(1.0, 36)),
        ("at_most", 0.0, 0.9, 1.3, Doubt(1.0, 36)),
        ("at_least", 0.0, 0.8, 1.2, Doubt(1.0, None)),
        ("at_least", 0.0, 1.0, 1.2, None),
        ("at_least", 0.0, 0.7, 0.9, None),
        ("within", 0.1, 0.95, 1.05, None),
        ("within", 0.1, 1.0, 1.3, Doubt(1.1, 81)),
        ("within", 0.1, 0.7, 1.5, Doubt(1.1, None)),
        ("arithmetic", 0.1, 0.7, 1.5, None),
    ],
)
def test_an_interval_across_the_bound_settles_nothing(
    rule: str, tolerance: float, low: float, high: float, expected: Doubt | None
) -> None:
    mean = (low + high) / 2
    estimated = Estimate(mean, 9, Interval(low, high))
    found = doubt(judge(rule, tolerance, 1.0, estimated).bounds, estimated)
    if expected is None or found is None:
        assert found is expected
        return
    assert found.bound == pytest.approx(expected.bound)
    if expected.runs is None:
        assert found.runs is None or found.runs > 10**6
    else:
        assert found.runs == pytest.approx(expected.runs, abs=1)


def test_so_many_runs_settle_it() -> None:
    """The interval ends at the bound with this number of runs, if mean and deviation stay."""
    few = estimate([0.3 - 1, 0.3 + 1] * 10)
    said = doubt((0.0,), few)
    assert few is not None
    assert few.interval is not None
    assert said is not None
    assert said.runs is not None
    half = (few.interval.high - few.interval.low) / 2
    assert half * sqrt(20 / said.runs) == pytest.approx(few.mean, rel=0.02)


def test_what_is_said_of_it() -> None:
    assert doubt_text(Doubt(10.0, 371), 20) == (
        "The interval reaches across 10: these 20 runs do not settle it; about 370 would."
    )
    assert "no affordable number would" in doubt_text(Doubt(1.0, None), 20)
    assert "no affordable number would" in doubt_text(Doubt(1.0, 10**7), 20)


def judged(name: str, published: float, found: Estimate, rule: Any) -> Judged:
    finding = judge(rule, 0.0, published, found)
    claim = Claim(name, "", "", "", rule)
    return Judged(claim, finding, published)


def test_true_claims_fail_by_chance_as_often_as_is_said() -> None:
    """2000 true numbers: 5 % fall outside; with the correction, in 100 reports of 20, at most 5."""
    draws = np.random.default_rng(7)
    outside, reports = 0, 0
    for _ in range(100):
        lines = []
        for number in range(20):
            runs = estimate(list(draws.normal(0, 1, 30)))
            assert runs is not None
            lines.append(judged(str(number), float(draws.normal()), runs, "single_run"))
        found = chance_of(lines)
        assert found["single_runs"] == 20
        assert found["differ_by_chance"] == 1.0
        outside += len(found["differ"])
        reports += bool(found["differ_corrected"])
    # Binomial, 4 standard deviations.
    assert abs(outside - 100) < 4 * sqrt(2000 * 0.05 * 0.95)
    assert reports < 5 + 4 * sqrt(100 * 0.05 * 0.95)


def test_intervals_are_widened_by_the_level() -> None:
    values = list(np.random.default_rng(3).normal(5, 1, 100_000))
    found = estimate(values)
    assert found is not None
    assert found.interval is not None
    wide = widened(found, found.interval, 10)
    # Student's t approaches the normal distribution for many runs.
    factor = NormalDist().inv_cdf(1 - 0.005 / 2) / NormalDist().inv_cdf(1 - 0.05 / 2)
    assert (wide.high - found.mean) / (found.interval.high - found.mean) == pytest.approx(
        factor, rel=1e-3
    )
    assert widened(found, found.interval, 1) == found.interval
    ranked = estimate(values[:50], ranked=True)
    assert ranked is not None
    assert ranked.single is not None
    assert widened(ranked, ranked.single, 10) == ranked.single
    ratio = paired_ratio([2.0, 3.0, 4.0], [1.0, 1.0, 1.0])
    assert ratio is not None
    assert ratio.interval is not None
    wide = widened(ratio, ratio.interval, 5)
    assert wide.low * wide.high == pytest.approx(ratio.mean**2)


def test_the_report_says_what_a_correction_changes() -> None:
    near = Estimate(1.2, 10, Interval(1.05, 1.35))
    far = Estimate(5.0, 10, Interval(4.9, 5.1))
    lines = [judged("near", 1.0, near, "at_least"), judged("far", 1.0, far, "at_least")]
    lines += [judged(f"far {number}", 1.0, far, "at_least") for number in range(8)]
    found = chance_of(lines)
    assert (found["bounds"], found["unsettled"]) == (10, [])
    assert found["unsettled_corrected"] == ["near"]
    show = environment().get_template("searched.html").module.show_chance
    assert show(found).strip().endswith("(99.5 % each) 1 would; it changes near.</p>")
    assert show(chance_of([])).strip() == ""
    assert judge("at_least", 0.0, 1.0, near).verdict is Verdict.AGREES
