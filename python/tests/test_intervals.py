"""Confidence intervals against tabulated quantiles of Student's t."""

from __future__ import annotations

import math

import polars as pl
import pytest

from retx.analysis.intervals import flow_means, half_width


@pytest.mark.parametrize(
    ("n", "confidence", "t"),
    [(2, 0.95, 12.706), (5, 0.95, 2.776), (30, 0.95, 2.045), (30, 0.99, 2.756), (121, 0.95, 1.980)],
)
def test_half_width(n: int, confidence: float, t: float) -> None:
    # Printed tables have three decimals.
    assert half_width(3.0, n, confidence) * math.sqrt(n) / 3.0 == pytest.approx(t, abs=5e-4)


def test_one_draw_has_no_interval() -> None:
    assert math.isnan(half_width(0.0, 1))
    with pytest.raises(ValueError, match="between 0 and 1"):
        half_width(1.0, 3, 95)


def test_flow_means() -> None:
    flows = pl.DataFrame(
        {
            "replication": [0, 1, 2, 0, 1, 2],
            "name": ["a", "a", "a", "b", "b", "b"],
            "response_time_s": [1.0, 2.0, 3.0, 5.0, None, None],
        }
    )
    means = flow_means(flows)
    assert means.columns == ["flow", "quantity", "n", "mean", "low", "high"]
    a, b = means.iter_rows(named=True)
    assert (a["flow"], a["n"], a["mean"]) == ("a", 3, 2.0)
    # s = 1, t(2) = 4.303
    assert a["high"] - 2.0 == pytest.approx(4.303 / math.sqrt(3), abs=5e-4)
    assert (b["n"], b["mean"], b["low"], b["high"]) == (1, 5.0, None, None)
