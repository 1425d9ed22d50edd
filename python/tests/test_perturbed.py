"""Simulations of scenarios in which draws change nothing are perturbed."""

from __future__ import annotations

import retx
from retx.comparing.perturbed import LATE, begun_between_ticks, late, simulated

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
BERNOULLI = {"model": "bernoulli", "p": 0.01}
LOSS = {"link.path.forward.channel": BERNOULLI}


def times(found: retx.Replications) -> list[float]:
    return [result.summary["flows"][0]["response_time_s"] for result in found]


def test_without_draws_simulations_are_perturbed() -> None:
    runs, perturbed = simulated(PATH, 20)
    assert perturbed
    found = times(runs)
    assert len(set(found)) == 20
    alone = retx.run(PATH).flows["response_time_s"][0]
    # About 10 round trips, of which each gains at most 0.2 ms.
    assert all(alone < time < alone + 10 * 0.2e-3 for time in found)
    assert times(simulated(PATH, 20)[0]) == found
    assert times(simulated(PATH, 20, seed=4)[0]) != found


def test_draws_of_the_scenario_are_left_alone() -> None:
    runs, perturbed = simulated(PATH, 20, overrides=LOSS)
    assert not perturbed
    assert times(runs) == times(retx.replicate(PATH, 20, overrides=LOSS))


def test_channels_stay_and_packets_are_late_after_them() -> None:
    # A tenth of this loss: none in the first runs, which are as good as equal.
    few = {"link.path.channel": BERNOULLI | {"p": 1e-6}}
    resolved = retx.resolve(PATH, overrides=few)
    changed = late(resolved)
    assert set(changed) == {"link.path.forward.channel", "link.path.reverse.channel"}
    perturbed = retx.resolve(PATH, overrides=few | changed)["link"][0]
    for direction in ("forward", "reverse"):
        channel = perturbed.get(direction, {}).get("channel") or perturbed["channel"]
        assert [stage["model"] for stage in channel] == ["bernoulli", "jitter"]
    assert simulated(PATH, 5, overrides=few)[1]


def test_links_that_repair_are_left_as_they_are() -> None:
    arq = {"link.path.forward.arq": {"mode": "selective_repeat", "retries": 3}}
    changed = late(retx.resolve(PATH, overrides=arq))
    assert changed == {"link.path.reverse.channel": [LATE]}
    assert simulated(PATH, 5, overrides=arq)[1]


def test_flows_begin_between_ticks() -> None:
    two = PATH + PATH[PATH.index("[[flow]]") :].replace("download", "second").replace("1 s", "3 s")
    resolved = retx.resolve(two)
    delays = []
    for number in range(20):
        changed = begun_between_ticks(resolved, number)
        starts = retx.run(two, overrides=changed, segments=False).flows["start_s"]
        assert abs(starts[1] - starts[0] - 2) < 1e-8, "all flows by the same time"
        delays.append(starts[0] - 1)
    assert len(set(delays)) == 20
    assert min(delays) >= 0
    assert 0.003 < max(delays) < 0.004
