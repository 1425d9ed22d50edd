"""Arguments of the wrong kind are refused by one sentence; those that can be meant are taken."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import LOSSY, Cli

import retx
from retx.errors import UsageError
from retx.models import dcf, repair

LOSS = "link.cloud.forward.channel.p"
GRID = {LOSS: [0.01, 0.02]}
VARY: Mapping[str, Any] = {LOSS: retx.Range(0.01, 0.1)}


def swept(**options: Any) -> retx.Sweep:
    return retx.sweep(LOSSY, **{"grid": GRID, "replications": 1, "progress": False, **options})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: retx.run(LOSSY, pcap_at=["cloud@server"]), "pcap_at says where .* add pcap"),
        (lambda: retx.run(LOSSY, pcap="x", pcap_at=[1]), "--pcap-at.*: 1: write LINK@NODE"),
        (
            lambda: retx.run(LOSSY, pcap=""),
            "pcap is empty: name a file or directory, or leave it out",
        ),
        (lambda: retx.run(LOSSY, out=""), "out is empty: name a file or directory"),
        (lambda: retx.run(LOSSY, out=3), "out is 3: it must be a path"),
        (lambda: retx.replicate(LOSSY, 1, out=""), "out is empty"),
        (lambda: swept(out=""), "out is empty"),
        (lambda: retx.run(LOSSY).save(""), "directory is empty"),
        (lambda: retx.replicate(LOSSY, 1).save(""), "directory is empty"),
        (lambda: retx.run(LOSSY, replication=-1), "replication is -1: it must be at least 0"),
        (lambda: retx.run(LOSSY, replication=2**64), "replication is .* at most"),
        (lambda: retx.run(LOSSY, overrides=[("seed", 4)]), "overrides is .* a dict of values"),
        (lambda: retx.run(LOSSY, overrides={1: 4}), "overrides: the key 1 is no text"),
        (lambda: swept(overrides=[("seed", 4)]), "overrides is .* a dict of values"),
        (lambda: retx.replicate(LOSSY, "2"), "replications is '2': it must be a whole number"),
        (lambda: retx.replicate(LOSSY, 2.0), "replications is 2.0: it must be a whole number"),
        (lambda: retx.replicate(LOSSY, True), "replications is True: it must be a whole number"),
        (lambda: retx.replicate(LOSSY, 0), "replications is 0: it must be at least 1"),
        (
            lambda: retx.replicate(LOSSY, 2, threads="2"),
            "threads is '2': it must be a whole number",
        ),
        (lambda: swept(threads="2"), "threads is '2': it must be a whole number"),
        (lambda: retx.tune(LOSSY, VARY, maximise=["goodput"], trials="3"), "trials is '3'"),
        (lambda: retx.tune(LOSSY, VARY, maximise=["goodput"], overrides=[1]), "overrides is"),
        (lambda: retx.tune(LOSSY, VARY, maximise=["goodput"], storage=""), "storage is empty"),
        (lambda: repair.fec_residual(0.1, 4.5, 6), "k is 4.5: it must be a whole number, 1 or"),
        (lambda: repair.fec_residual(0.1, 4, [6, 6.5]), "n is 6.5: it must be a whole number"),
        (lambda: repair.arq_residual(0.1, 1.5), "transmissions is 1.5: it must be a whole"),
        (lambda: repair.arq_transmissions(0.1, 0), "transmissions is 0: it must be a whole"),
        (lambda: dcf.bit_s(1.5), "stations is 1.5: it must be a whole number, 1 or above"),
        (lambda: dcf.bit_s(2, stages=1.5), "stages is 1.5: it must be a whole number, 0"),
        (lambda: dcf.bit_s(2, attempts=0), "attempts is 0: it must be a whole number, 1"),
    ],
)
def test_arguments_that_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.array([0.01, 0.02]), "expected a number; found a list"),
        (None, 'None is not a TOML value: leave the key out, or unset .* by "none"'),
        ({0.1}, "set is not a TOML value"),
    ],
)
def test_values_that_are_refused_with_their_key(value: object, message: str) -> None:
    with pytest.raises(retx.ScenarioError, match=f"{LOSS}.*: .*{message}"):
        retx.run(LOSSY, overrides={LOSS: value})


def test_a_grid_that_is_no_list_is_refused_with_its_key() -> None:
    with pytest.raises(retx.ScenarioError, match=f"sweep\\.{LOSS}: .* set is not a TOML value"):
        swept(grid={LOSS: {0.1}})


@pytest.mark.parametrize(
    ("place", "message"), [("air@a", 'no link "air"'), ("cloud@a", '"a" is no end of cloud')]
)
def test_an_unknown_place_of_a_capture_names_the_option(
    place: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(retx.ScenarioError, match=f"--pcap-at, in Python pcap_at.*: {message}"):
        retx.run(LOSSY, pcap=tmp_path / "x", pcap_at=place)


def test_what_can_be_meant_is_taken(tmp_path: Path) -> None:
    retx.run(LOSSY, pcap=tmp_path / "x.pcapng", pcap_at="cloud@server")
    assert (tmp_path / "x.pcapng").stat().st_size > 1000
    assert retx.run(LOSSY, overrides={LOSS: np.float64(0.01)}).flows.height == 1
    assert len(retx.replicate(LOSSY, np.int64(2))) == 2
    assert repair.arq_transmissions(0.5, float("inf")) == 2
    expected = swept().flows
    for values in (pl.Series(GRID[LOSS]), np.array(GRID[LOSS])):
        assert swept(grid={LOSS: values}).flows.equals(expected)


def test_a_derivation_that_returns_no_dict_is_reported() -> None:
    message = (
        r"replication 0: TypeError: it returned \[1\]: it must return a dict of numbers by name"
    )
    with pytest.raises(retx.UserCodeError, match=message):
        swept(derive=lambda _: [1])


NAMED = """
duration = "2 s"
[[link]]
name = "a=b"
ends = ["x", "y"]
rate = "1 Mbit/s"
delay = "1 ms"
[[flow]]
name = "f=1"
from = "x"
to = "y"
tcp = "reno"
app = { kind = "transfer", bytes = 10_000 }
"""


def test_names_with_an_equals_sign_can_be_set_and_varied(cli: Cli, tmp_path: Path) -> None:
    path, out = tmp_path / "s.toml", tmp_path / "out"
    path.write_text(NAMED)
    for key in ('link."a=b".delay', "link.'a=b'.delay"):
        done = cli("run", path, "--json", "--set", f'{key}="7 ms"')
        link = json.loads(done.stdout)["scenario"]["link"][0]
        assert link["delay"] == "7 ms"
        vary = f'{key}=["1 ms", "2 ms"]'
        varied = cli("sweep", path, "--vary", vary, "--replications", 2, "--out", out, "--force")
        assert varied.returncode == 0, varied.stderr
    for drawing in (
        ("metric=means.csv", "--where", f"{key}=2 ms"),
        ("paired=pairs.csv", "--paired", f"{key}=1 ms,2 ms"),
    ):
        done = cli("plot", out, *drawing)
        assert done.returncode == 0, done.stderr
    done = cli("run", path, "--json", "--set", 'flow."f=1".tcp="newreno"')
    assert json.loads(done.stdout)["flows"][0]["tcp"] == "newreno"
    assert "write KEY=VALUE" in cli("run", path, "--set", '"a=b"').stderr
