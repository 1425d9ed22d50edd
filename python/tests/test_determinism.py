"""Same seed, same bytes: two runs, one thread or many, today and in another process."""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl
import pytest
from conftest import LOSSY, Cli

import retx


def digest(directory: Path) -> dict[str, str]:
    files = sorted(path for path in directory.iterdir())
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_two_runs_write_the_same_bytes(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    digests = []
    for name in ("one", "two"):
        done = cli("run", lossy, "--out", tmp_path / name, "--plot", "cwnd", "--plot", "sequence")
        assert done.returncode == 0, done.stderr
        digests.append(digest(tmp_path / name))
    assert digests[0] == digests[1]
    assert digests[0].keys() == {
        "summary.json", "scenario.toml", "flows.parquet", "links.parquet", "samples.parquet",
        "link_samples.parquet", "limits.parquet",
        "segments.parquet", "acks.parquet", "drops.parquet", "episodes.parquet", "cwnd.png",
        "sequence.png",
    }  # fmt: skip
    assert "wall_s" not in (tmp_path / "one" / "summary.json").read_text()


def test_captures_are_the_same_bytes(tmp_path: Path) -> None:
    contents = set()
    for name in ("one.pcapng", "two.pcapng"):
        retx.run(LOSSY, pcap=tmp_path / name)
        contents.add((tmp_path / name).read_bytes())
    assert len(contents) == 1


def test_the_number_of_threads_changes_nothing(tmp_path: Path) -> None:
    for threads in (1, 4):
        retx.replicate(LOSSY, 6, threads=threads, segments=True, out=tmp_path / str(threads))
    assert digest(tmp_path / "1") == digest(tmp_path / "4")


def test_a_saved_scenario_gives_the_same_bytes(tmp_path: Path) -> None:
    retx.run(LOSSY, out=tmp_path / "one")
    retx.run(tmp_path / "one" / "scenario.toml", out=tmp_path / "two")
    assert digest(tmp_path / "one") == digest(tmp_path / "two")


def test_replications_differ_and_the_first_is_the_run() -> None:
    many = retx.replicate(LOSSY, 3, segments=True)
    assert many[0].segments.equals(retx.run(LOSSY).segments)
    assert many[2].segments.equals(retx.run(LOSSY, replication=2).segments)
    assert not many[0].segments.equals(many[1].segments)
    assert many.flows["replication"].to_list() == [0, 1, 2]
    assert many.flows["response_time_s"].to_list() == [
        result.flows["response_time_s"][0] for result in many
    ]
    assert many.segments.schema["flow"] == pl.Enum(["download"])
    (row,) = many.mean("response_time_s").iter_rows(named=True)
    times = many.flows["response_time_s"]
    assert row["mean"] == times.mean()
    assert row["low"] < row["mean"] < row["high"]
    assert row["n"] == 3
    with pytest.raises(ValueError, match="response_time_s"):
        many.mean("response_time")
