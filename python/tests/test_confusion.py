"""Causes said beside causes true."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from conftest import LOSSY, Cli

import retx

HEARING = LOSSY.replace('tcp = "newreno"', 'tcp = "hearing"\ncount = 2') + (
    '\n[tcp.hearing]\nlike = "newreno"\nloss_cause = { name = "spike", timeouts = true }\n'
)
TITLE = "by inferred and true cause"
KEYS = ["flow", "kind", "inferred_cause"]
CAUSES = ["congestion", "wireless", "spurious"]


@pytest.fixture(scope="module")
def result() -> retx.Result:
    return retx.run(HEARING)


def test_the_matrix_counts_the_episodes(result: retx.Result) -> None:
    matrix = result.confusion()
    assert matrix.columns == KEYS + CAUSES
    keys = [
        (flow, kind, said)
        for flow in ("download.0", "download.1")
        for kind in ("fast_retransmit", "rto")
        for said in ("congestion", "corruption")
    ]
    assert matrix.select(KEYS).rows() == keys
    texts = pl.col(*KEYS, "cause").cast(pl.String)
    counted = result.episodes.with_columns(texts).group_by(*KEYS, "cause").len().rows()
    expected = {tuple(row[:4]): row[4] for row in counted}
    for row in matrix.iter_rows(named=True):
        for cause in CAUSES:
            key = (row["flow"], row["kind"], row["inferred_cause"], cause)
            assert row[cause] == expected.pop(key, 0), key
    assert not expected
    said = matrix.group_by("inferred_cause").agg(pl.sum_horizontal(CAUSES).sum())
    assert (said[CAUSES[0]] > 0).all(), "both verdicts occur"


def test_the_summary_nests_it(result: retx.Result) -> None:
    for flow in result.summary["flows"]:
        for kind in ("fast_retransmit", "rto"):
            said = flow["inferred"][kind]
            assert list(said) == ["congestion", "corruption"]
            for cause in CAUSES:
                total = sum(said[each][cause] for each in said)
                assert total == flow["episodes"][kind][cause]


def test_replications_have_a_matrix_each(result: retx.Result) -> None:
    both = retx.replicate(HEARING, 2).confusion()
    assert both.columns == ["replication", *KEYS, *CAUSES]
    assert both.filter(pl.col("replication") == 0).drop("replication").equals(result.confusion())
    assert both.filter(pl.col("replication") == 1).height == 8


def test_it_is_printed_where_causes_are_told_apart(cli: Cli, tmp_path: Path) -> None:
    scenario = tmp_path / "hearing.toml"
    scenario.write_text(HEARING)
    for words in ([], ["--replications", "2"]):
        done = cli("run", scenario, *words)
        assert done.returncode == 0, done.stderr
        assert TITLE in done.stdout
        assert "corruption" in done.stdout
        plain = cli("run", scenario, "--set", "tcp.hearing.loss_cause=none", *words)
        assert plain.returncode == 0, plain.stderr
        assert TITLE not in plain.stdout
        assert "corruption" not in plain.stdout
