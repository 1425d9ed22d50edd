"""Intervals, paired comparisons, fairness and warm-up, beside independent computations."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.stats
from sweeping import SCENARIO

import retx
from retx.analysis.estimates import means, quantiles
from retx.analysis.fairness import jain_of_runs
from retx.analysis.paired import paired
from retx.analysis.warmup import Warmup, mser
from retx.errors import UsageError
from retx.sweeps.precision import Metric

RNG = np.random.default_rng(8)


def runs(values: dict[str, list[float | None]]) -> pl.DataFrame:
    """A table of runs by case."""
    parts = [
        pl.DataFrame({"case": [case] * len(row), "replication": range(len(row)), "x": row})
        for case, row in values.items()
    ]
    return pl.concat(parts)


def test_means_are_those_of_scipy() -> None:
    a, b = RNG.normal(5, 2, 12).tolist(), RNG.exponential(3, 40).tolist()
    table = means(runs({"a": [*a, None], "b": b, "one": [4.0], "none": [None]}), "x", ["case"], 0.9)
    for row, values in zip(table.head(2).iter_rows(named=True), (a, b), strict=True):
        interval = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.9)
        assert (row["n"], row["mean"]) == (len(values), pytest.approx(np.mean(values), rel=1e-12))
        assert row["low"] == pytest.approx(interval.low, rel=1e-12)
        assert row["high"] == pytest.approx(interval.high, rel=1e-12)
    assert table["missing"].to_list() == [1, 0, 0, 1]
    assert table.row(2)[1:] == (1, 0, 4.0, None, None, None)
    assert table.row(3)[1:] == (0, 1, None, None, None, None)


def test_intervals_hold_the_mean_as_often_as_they_say() -> None:
    count = 4000
    draws = {str(case): RNG.normal(7, 3, 8).tolist() for case in range(count)}
    table = means(runs(draws), "x", ["case"], 0.8)
    held = table.filter((pl.col("low") <= 7) & (pl.col("high") >= 7)).height
    assert abs(held / count - 0.8) < 4 * np.sqrt(0.8 * 0.2 / count)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_quantiles_hold_about_as_often_as_they_say(share: float) -> None:
    count, n = 60, 40
    draws = {str(case): RNG.exponential(1, n).tolist() for case in range(count)}
    table = quantiles(runs(draws), "x", ["case"], share, 0.9)
    true = -np.log(1 - share)
    held = table.filter((pl.col("low") <= true) & (pl.col("high") >= true)).height
    # The percentile interval of a quantile errs by about 1/√n of its level, besides chance.
    assert abs(held / count - 0.9) < 4 * np.sqrt(0.9 * 0.1 / count) + 0.4 / np.sqrt(n)
    name = "median" if share == 0.5 else "quantile"
    assert table[name][0] == pytest.approx(np.quantile(draws["0"], share), rel=1e-12)
    again = quantiles(runs(draws).head(n), "x", ["case"], share, 0.9)
    assert again.row(0) == table.row(0)


def test_quantiles_of_little() -> None:
    table = quantiles(
        runs({"same": [3.0] * 5, "one": [2.0], "none": [None]}), "x", ["case"], 0.5, 0.9
    )
    assert table.rows() == [
        ("same", 5, 0, 3.0, 3.0, 3.0),
        ("one", 1, 0, 2.0, None, None),
        ("none", 0, 1, None, None, None),
    ]


def test_paired_is_the_paired_t_test() -> None:
    a = RNG.lognormal(1, 1, 15)
    b = a * RNG.lognormal(0.3, 0.2, 15)
    table = paired(runs({"k": a.tolist()}), runs({"k": b.tolist()}), "x", ["case"], 0.95)
    (row,) = table.iter_rows(named=True)
    test = scipy.stats.ttest_rel(a, b)
    interval = test.confidence_interval(0.95)
    assert row["p"] == pytest.approx(test.pvalue, rel=1e-9)
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high), rel=1e-9)
    logs = scipy.stats.ttest_rel(np.log(a), np.log(b)).confidence_interval(0.95)
    assert (row["ratio_low"], row["ratio_high"]) == pytest.approx(
        (np.exp(logs.low), np.exp(logs.high)), rel=1e-9
    )
    assert row["ratio"] == pytest.approx(scipy.stats.gmean(a / b), rel=1e-9)
    assert (row["comparisons"], row["p_holm"]) == (1, row["p"])
    assert row["low_all"] == pytest.approx(row["low"], rel=1e-12)


def test_pairs_without_a_partner_are_left_out() -> None:
    first = runs({"k": [1.0, None, 3.0, 0.0]})
    second = runs({"k": [2.0, 5.0, 5.0, 1.0, 9.0]})
    (row,) = paired(first, second, "x", ["case"], 0.95).iter_rows(named=True)
    assert (row["n"], row["missing"], row["difference"]) == (3, 1, pytest.approx(-4 / 3))
    # 0 has no ratio.
    assert row["ratio"] == pytest.approx(np.sqrt(1 / 2 * 3 / 5))


def test_many_comparisons_are_corrected() -> None:
    cases = {str(case): RNG.normal(0, 1, 20).tolist() for case in range(50)}
    zeros = {case: [0.0] * 20 for case in cases}
    table = paired(runs(cases), runs(zeros), "x", ["case"], 0.95)
    assert table["comparisons"].unique().to_list() == [50]
    # Holm by his own words: the ith smallest of m against level/(m − i + 1).
    p = np.sort(table["p"].to_numpy())
    level = 0.3
    steps = [p[i] <= level / (50 - i) for i in range(50)]
    rejected = steps.index(False) if False in steps else 50
    assert (table["p_holm"] <= level).sum() == rejected
    wide = scipy.stats.ttest_1samp(cases["7"], 0).confidence_interval(1 - 0.05 / 50)
    row = table.row(7, named=True)
    assert (row["low_all"], row["high_all"]) == pytest.approx((wide.low, wide.high), rel=1e-9)


def test_runs_that_never_differ() -> None:
    same = runs({"k": [2.0] * 4})
    (row,) = paired(same, same, "x", ["case"], 0.95).iter_rows(named=True)
    assert (row["difference"], row["low"], row["high"], row["ratio"], row["p"]) == (0, 0, 0, 1, 1)


def test_jain() -> None:
    table = pl.DataFrame({"replication": [0, 0, 0, 0, 1, 1, 2, 2], "x": [5, 5, 5, 5, 1, 0, 0, 0]})
    assert jain_of_runs(table, "x", [])["jain"].to_list() == [1.0, 0.5, None]


def marginal_error(means_: np.ndarray, left_out: int) -> float:
    rest = means_[left_out:]
    return float(((rest - rest.mean()) ** 2).sum() / len(rest) ** 2)


def test_mser_is_its_definition() -> None:
    for _ in range(50):
        series = RNG.normal(100, 5, 400) + 80 * np.exp(-np.arange(400) / RNG.uniform(5, 60))
        batches = series.reshape(-1, 5).mean(axis=1)
        errors = [marginal_error(batches, left_out) for left_out in range(75)]
        found = mser(series)
        assert found == Warmup(5 * int(np.argmin(errors)), settled=found.values < 200)


def test_mser_leaves_out_what_is_not_typical() -> None:
    flat = RNG.normal(10, 1, 1000)
    assert mser(flat).settled
    assert mser(flat).values < 300
    begun = np.concatenate([np.linspace(0, 10, 200), RNG.normal(10, 0.1, 800)])
    found = mser(begun)
    assert found.settled
    assert 180 <= found.values <= 260
    assert not mser(np.linspace(0, 1, 1000)).settled  # rises to the end
    assert not mser([1.0] * 40).settled  # too short to say


GRID = {"flow.download.tcp": ["reno", "cubic"], "link.cloud.forward.channel.p": [0.01, 0.05]}


def test_a_sweep_is_compared_pair_by_pair() -> None:
    sweep = retx.sweep(SCENARIO, GRID, 20)
    found = sweep.paired("cubic", "reno", "response_time_s")
    assert found.columns[:3] == ["link.cloud.forward.channel.p", "name", "n"]
    assert found["comparisons"].to_list() == [2, 2]
    by_key = sweep.paired(
        {"flow.download.tcp": "cubic"}, {"flow.download.tcp": "reno"}, "response_time_s"
    )
    assert by_key.equals(found)
    values = [
        retx.replicate(
            SCENARIO,
            20,
            overrides={"flow.download.tcp": tcp, "link.cloud.forward.channel.p": 0.05},
        ).flows["response_time_s"]
        for tcp in ("cubic", "reno")
    ]
    assert found["difference"][1] == pytest.approx((values[0] - values[1]).mean(), rel=1e-9)
    with pytest.raises(UsageError, match="no key takes 'veno'"):
        sweep.paired("veno", "reno")
    with pytest.raises(UsageError, match="are different keys"):
        sweep.paired("reno", 0.01)
    with pytest.raises(UsageError, match="is never 'veno'"):
        sweep.paired({"flow.download.tcp": "veno"}, "reno")


def test_summaries_of_a_sweep() -> None:
    sweep = retx.sweep(SCENARIO, GRID, 15)
    mean = sweep.summary()
    assert mean.columns == [*GRID, "name", "n", "missing", "mean", "sd", "low", "high"]
    assert mean.height == 4
    flow = sweep.summary("flow.download.goodput_bit_s")
    assert flow.equals(mean)
    link = sweep.summary("link.cloud.forward.drops_channel", confidence=0.5)
    assert link.columns[2:4] == ["name", "direction"]
    median = sweep.summary(statistic="median")["median"].to_list()
    assert sweep.summary(statistic=0.5)["median"].to_list() == median
    with pytest.raises(UsageError, match="did you mean 'goodput_bit_s'"):
        sweep.summary("goodput_bits")
    with pytest.raises(UsageError, match="mean, median or a number between 0 and 1"):
        sweep.summary(statistic="mode")
    alone = retx.sweep(SCENARIO, {}, 5)
    assert alone.summary()["n"].to_list() == [5]
    assert alone.fairness().columns == ["n", "missing", "mean", "sd", "low", "high"]


def test_the_warmup_of_a_sweep() -> None:
    scenario = 'sample_interval = "50 ms"\n' + SCENARIO.replace("100_000", "20_000_000")
    sweep = retx.sweep(scenario, {"link.cloud.delay": ["5 ms", "200 ms"]}, 3, tables=["samples"])
    found = sweep.warmup()
    assert found.columns == ["link.cloud.delay", "flow", "runs", "warmup_s", "settled"]
    assert found["runs"].to_list() == [3, 3]
    assert ((found["settled"] >= 0) & (found["settled"] <= 1)).all()


@pytest.mark.parametrize("text", ["goodput", "flow.x", "link.a.b.packets_in", "x.y.z", "tcp", ""])
def test_metrics_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="metric"):
        Metric.read(text)


def test_metrics() -> None:
    assert Metric.read("goodput_bit_s") == Metric("flows", "goodput_bit_s")
    assert Metric.read("flow.a.0.rto_count") == Metric("flows", "rto_count", "a.0")
    assert Metric.read("link.a.b.reverse.utilisation") == Metric(
        "links", "utilisation", "a.b", "reverse"
    )
