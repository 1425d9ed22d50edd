"""Mean delay of jitter that keeps order, compared with its closed form."""

from __future__ import annotations

import math

import pytest

import retx

PROPAGATION_S, LONGEST_S = 0.010, 0.010
RUNS = 40


def mean_of_uniform(spacing_s: float) -> float:
    """Mean of max(D_k - k s) over k = 0, 1, ..., for independent D_k, uniform on [0, LONGEST_S]."""
    steps = 20_000
    total = 0.0
    for step in range(steps):
        x = LONGEST_S * (step + 0.5) / steps
        below, k = 1.0, 0
        while x + k * spacing_s < LONGEST_S and below > 1e-12:
            below *= (x + k * spacing_s) / LONGEST_S
            k += 1
        total += 1.0 - below
    return LONGEST_S * total / steps


@pytest.mark.parametrize("spacing_s", [0.0001, 0.001, 0.004, 0.02])
@pytest.mark.parametrize("reorder", [False, True])
def test_order_raises_the_mean_as_the_law_says(spacing_s: float, reorder: bool) -> None:
    jitter = {"model": "jitter", "min": "0 s", "max": f"{LONGEST_S} s", "reorder": reorder}
    scenario = {
        "duration": f"{2000 * spacing_s} s",
        "link": [
            {
                "name": "way",
                "ends": ["a", "b"],
                "delay": f"{PROPAGATION_S} s",
                "forward": {"channel": jitter},
            }
        ],
        "flow": [
            {
                "name": "probe",
                "from": "a",
                "to": "b",
                "udp": {"packet": 1000, "rate": f"{8000 / spacing_s} bit/s"},
                "app": "cbr",
            }
        ],
    }
    found = [retx.run(scenario, seed=seed).summary for seed in range(RUNS)]
    runs = [summary["flows"][0] for summary in found]
    means = [run["delay"]["mean_s"] - PROPAGATION_S for run in runs]
    mean = sum(means) / RUNS
    deviation = math.sqrt(sum((it - mean) ** 2 for it in means) / (RUNS - 1) / RUNS)
    expected = LONGEST_S / 2 if reorder else mean_of_uniform(spacing_s)
    # The last frames, which are still under way at the end, are not counted.
    slack = LONGEST_S * LONGEST_S / (2000 * spacing_s)
    assert abs(mean - expected) <= 4 * deviation + slack / 10
    # The summary says by how much the mean moves.
    links = [summary["links"][0] for summary in found]
    drawn = sum(link["channel_delay_mean_s"] for link in links) / RUNS
    waited = sum(link["order_wait_mean_s"] for link in links) / RUNS
    assert drawn == pytest.approx(LONGEST_S / 2, rel=0.02)
    assert drawn + waited == pytest.approx(mean, abs=4 * deviation + slack / 10)
    assert (waited == 0) == (reorder or spacing_s > LONGEST_S)
    assert found[0]["links"][1]["order_wait_mean_s"] is None
    if spacing_s <= LONGEST_S / 100 and not reorder:
        short_form = LONGEST_S - math.sqrt(math.pi * spacing_s * LONGEST_S / 2)
        assert mean == pytest.approx(short_form, rel=0.02)
