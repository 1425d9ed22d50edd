"""Limits over time: the table `limits` and the band that figures draw of it."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import retx
from retx.analysis.limits import flat
from retx.plots.limits_over_time import seconds_by_limit, shares_over_time

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.fixture(scope="module")
def lte() -> retx.Result:
    return retx.run(SCENARIOS / "why-lte.toml", overrides={"sample_interval": "every_ack"})


@pytest.mark.parametrize("warmup", ["0 s", "7.3 s"])
@pytest.mark.parametrize("scenario", ["why-wifi", "why-requests", "last-hop-split"])
def test_the_course_has_each_limit_as_long_as_the_summary(scenario: str, warmup: str) -> None:
    result = retx.run(
        SCENARIOS / f"{scenario}.toml", overrides={"sample_interval": "1 s", "warmup": warmup}
    )
    start = float(warmup.split()[0])
    for flow in result.summary["flows"]:
        own = result.limits.filter(pl.col("flow").cast(pl.String) == flow["name"])
        assert own["start_s"][0] == flow["start_s"]
        assert (own["start_s"][1:] == own["end_s"][:-1]).all()
        counted = seconds_by_limit(own, (start, float("inf")))
        expected = {key: time for key, time in flat(flow["limited_by"]).items() if time > 0}
        assert counted == pytest.approx(expected, abs=1e-6)


def test_a_timer_claims_the_silence_before_it(lte: retx.Result) -> None:
    timeouts = lte.episodes.filter(pl.col("kind") == "rto")
    assert len(timeouts) > 5
    for episode in timeouts.iter_rows(named=True):
        before = episode["start_s"] - 1e-6
        row = lte.limits.filter(pl.col("start_s") < before, pl.col("end_s") >= before)
        assert row["limit"].to_list() == [f"timeout.{episode['cause']}"]


def test_shares_of_a_column_are_those_of_its_time() -> None:
    limits = pl.DataFrame(
        {
            "start_s": [0.0, 1.0, 1.5, 3.0],
            "end_s": [1.0, 1.5, 3.0, 3.5],
            "limit": ["handshake", "pacing", "handshake", "nagle"],
        }
    )
    found = shares_over_time(limits, np.array([0.0, 2.0, 4.0]))
    assert found["handshake"] == pytest.approx([0.75, 0.5])
    assert found["pacing"] == pytest.approx([0.25, 0.0])
    assert found["nagle"] == pytest.approx([0.0, 0.25])


def test_the_figure_has_a_band_of_the_limits(lte: retx.Result) -> None:
    axes = lte.plot.why().axes[0]
    assert axes.get_ylim()[0] < 0
    assert min(axes.get_yticks()) == 0
    with_band = len(axes.collections)
    limits = {"download": lte.summary["flows"][0]["limited_by"]}
    from retx.plots.limits import why

    axes = why(lte.samples, lte.episodes, limits).axes[0]
    assert axes.get_ylim()[0] == 0
    assert with_band - len(axes.collections) == lte.limits["limit"].n_unique()


def test_the_page_of_why_shows_the_band(tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    retx.why(SCENARIOS / "why-satellite.toml", replications=1).save(page)
    assert "The band below it shows what limited the flow" in page.read_text()


def test_a_run_without_samples_says_how_to_record_the_limits() -> None:
    result = retx.run(SCENARIOS / "why-satellite.toml")
    with pytest.raises(retx.NotRecordedError, match="limits were not recorded: set the scenario's"):
        _ = result.limits


def test_a_sweep_keeps_the_limits_with_the_samples() -> None:
    swept = retx.sweep(
        SCENARIOS / "why-satellite.toml",
        grid={"seed": [1, 2]},
        replications=1,
        overrides={"sample_interval": "1 s"},
        tables=["samples"],
    )
    assert swept.limits.columns == ["seed", "replication", "flow", "start_s", "end_s", "limit"]
