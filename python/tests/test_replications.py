"""Tables of many runs: made at once, as if each run's had been made and joined."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from conftest import LOSSY, Cli
from polars.testing import assert_frame_equal

import retx
from retx.files.earlier import TABLES

SCENARIOS = Path(__file__).parents[2] / "scenarios"
UDP_ALONE = """
duration = "1 s"
[[link]]
name = "cloud"
ends = ["server", "client"]
rate = "1 Mbit/s"
delay = "10 ms"
channel = { model = "bernoulli", p = 0.1 }
[[flow]]
name = "voice"
from = "server"
to = "client"
udp = { packet = 200, rate = "80 kbit/s" }
app = "cbr"
"""


def joined(runs: retx.Replications, name: str) -> pl.DataFrame:
    number = [pl.lit(number, dtype=pl.UInt32).alias("replication") for number in range(len(runs))]
    pairs = zip(runs, number, strict=True)
    return pl.concat(getattr(run, name).select(first, pl.all()) for run, first in pairs)


def kept(run: retx.Result) -> set[str]:
    return set(run.tables) | {"flows"}


@pytest.mark.parametrize("scenario", [LOSSY, UDP_ALONE, "cross-traffic", "wifi", "last-hop-snoop"])
def test_tables_made_at_once_are_those_of_each_run(scenario: str) -> None:
    text = scenario if "\n" in scenario else SCENARIOS / f"{scenario}.toml"
    overrides = {"duration": "2 s", "warmup": "0 s", "sample_interval": "0.5 s"}
    arguments = {"overrides": overrides, "segments": True, "threads": 1}
    runs, others = (retx.replicate(text, 3, **arguments) for _ in range(2))
    assert kept(runs[0]) >= {"flows", "drops"}
    for name in TABLES:
        if name in kept(runs[0]):
            assert_frame_equal(getattr(runs, name), joined(others, name))
            # Tables of a run can still be read, and tables already read are still joined.
            assert_frame_equal(getattr(runs[1], name), getattr(others[1], name))
    assert runs.flows.columns[0] == "replication"


def test_a_table_without_rows_has_none() -> None:
    runs = retx.replicate(LOSSY, 2, threads=1)
    assert runs.wlans.shape == (0, 1)
    assert runs.relays.schema == {"replication": pl.UInt32}
    with pytest.raises(retx.NotRecordedError, match="segments=True"):
        _ = runs.segments


def test_a_table_that_a_run_was_asked_for_is_joined_all_the_same() -> None:
    runs, others = (retx.replicate(LOSSY, 2, threads=1) for _ in range(2))
    assert runs[1].drops.height > 0
    assert_frame_equal(runs.drops, others.drops)


def test_runs_without_random_draws_are_called_equal(cli: Cli, lossy: Path) -> None:
    without = ["--set", "link.cloud.forward.channel=[]"]
    said = "All 3 runs are equal"
    assert said in cli("run", lossy, "--replications", 3, *without).stdout
    assert said not in cli("run", lossy, "--replications", 3).stdout
    # A single run has no other to be equal to.
    assert "equal" not in cli("run", lossy, "--replications", 1, *without).stdout
    assert retx.replicate(UDP_ALONE, 2, overrides={"link.cloud.channel": []}).are_equal
    assert not retx.replicate(UDP_ALONE, 2).are_equal
