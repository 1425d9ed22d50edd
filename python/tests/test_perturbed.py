"""Simulations of scenarios in which draws change nothing are perturbed."""

from __future__ import annotations

import pytest

import retx
from retx.comparing.perturbed import DELAY_S, START_S, duration_s, shifts, simulated
from retx.errors import UsageError

PATH = """\
duration = "20 s"
seed = 3

[[link]]
name = "path"
ends = ["server", "client"]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { discipline = "droptail", packets = 50 }
reverse.delay = "7 ms"

[[flow]]
name = "download"
from = "server"
to = "client"
initiator = "to"
start = "1 s"
tcp = "linux_reno"
app = { kind = "transfer", bytes = 400_000 }
"""
LOSS = {"link.path.forward.channel": {"model": "bernoulli", "p": 0.01}}


def times(found: retx.Replications) -> list[float]:
    return [result.summary["flows"][0]["response_time_s"] for result in found]


def test_without_draws_simulations_are_perturbed() -> None:
    runs, perturbed = simulated(PATH, 20)
    assert perturbed
    found = times(runs)
    assert len(set(found)) == 20
    alone = retx.run(PATH).flows["response_time_s"][0]
    # About 12 round trips, of which each gains at most 0.3 ms.
    assert all(alone < time < alone + 12 * 2 * DELAY_S for time in found)
    assert times(simulated(PATH, 20)[0]) == found
    assert times(simulated(PATH, 20, seed=4)[0]) != found


def test_draws_of_the_scenario_are_left_alone() -> None:
    runs, perturbed = simulated(PATH, 20, overrides=LOSS)
    assert not perturbed
    assert times(runs) == times(retx.replicate(PATH, 20, overrides=LOSS))


def test_each_direction_and_start_has_a_shift_of_its_own() -> None:
    shifted = [shifts(retx.resolve(PATH), number) for number in range(50)]
    for key, least, width in (
        ("link.path.forward.delay", 0.005, DELAY_S),
        ("link.path.reverse.delay", 0.007, DELAY_S),
        ("flow.download.start", 1.0, START_S),
    ):
        values = [duration_s(it[key]) for it in shifted]
        assert least <= min(values) < least + width / 5
        assert least + 4 * width / 5 < max(values) <= least + width
    assert all(retx.resolve(PATH, overrides=it) for it in shifted[:3])


def test_durations_are_read_as_resolved_scenarios_write_them() -> None:
    assert [duration_s(text) for text in ("2 min", "0 s", "0.5 ms", "7 us")] == [120, 0, 5e-4, 7e-6]
    with pytest.raises(UsageError, match="'soon' is no duration"):
        duration_s("soon")
