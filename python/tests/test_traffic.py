"""Flows of UDP in tables, summaries and captures."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

import retx

BESIDE = """
duration = "10 s"
[[link]]
name = "wire"
ends = ["a", "b"]
rate = "2 Mbit/s"
delay = "10 ms"
queue = { discipline = "droptail", packets = 5 }
[[flow]]
name = "call"
from = "a"
to = "b"
udp = { packet = 200, rate = "80 kbit/s" }
app = "cbr"
[[flow]]
name = "download"
from = "a"
to = "b"
tcp = "newreno"
app = "bulk"
"""


def test_flows_stand_in_their_order_with_all_keys() -> None:
    result = retx.run(BESIDE)
    call, download = result.summary["flows"]
    assert (call["name"], call["tcp"], download["tcp"]) == ("call", None, "newreno")
    assert set(call) == set(download)
    assert call["rto_count"] is None
    assert call["episodes"]["fast_retransmit"]["congestion"] is None
    assert download["jitter_s"] is None
    assert download["datagrams"]["sent"] is None
    packets = call["datagrams"]
    assert packets["sent"] == 500
    assert packets["lost"] > 0
    row = result.flows.row(0, named=True)
    assert row["datagrams_lost"] == packets["lost"]
    assert row["delay_p95_s"] == call["delay"]["p95_s"]
    # Places and names of drops are those of the flow, whatever its number.
    drops = result.drops.filter(pl.col("flow") == "call")
    assert drops.height == packets["lost"]
    assert drops["retransmission"].any() is False
    assert result.confusion()["flow"].unique().to_list() == ["download"]
    assert "call" in result._repr_html_()


def test_a_run_of_udp_alone_has_the_same_columns(tmp_path: Path) -> None:
    text = BESIDE[: BESIDE.rindex("[[flow]]")]
    alone, beside = retx.run(text), retx.run(BESIDE)
    assert alone.flows.columns == beside.flows.columns
    alone.save(tmp_path / "out")
    assert (tmp_path / "out" / "flows.parquet").exists()
    assert retx.run(alone.scenario_toml()).flows.equals(alone.flows)
    means = retx.replicate(text, 2).mean("delay_mean_s")
    assert means["n"].to_list() == [2]


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_reads_the_packets(tmp_path: Path) -> None:
    capture = tmp_path / "call.pcapng"
    result = retx.run(BESIDE, pcap=capture)
    fields = ["frame.time_epoch", "ip.len", "udp.length", "udp.checksum.status", "frame.comment"]
    options = [word for field in fields for word in ("-e", field)]
    read = subprocess.run(
        ["tshark", "-r", str(capture), "-Y", "udp", "-T", "fields", "-E", "occurrence=f",
         "-o", "udp.check_checksum:TRUE", *options],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = [line.split("\t") for line in read.stdout.splitlines()]
    packets = result.summary["flows"][0]["datagrams"]
    assert len(rows) == packets["sent"]
    assert all(row[1:4] == ["200", "180", "1"] for row in rows)
    times = [float(row[0]) for row in rows]
    assert times == pytest.approx([0.02 * number for number in range(500)], abs=1e-9)
    assert sum("dropped by queue" in row[4] for row in rows) == packets["lost"]
