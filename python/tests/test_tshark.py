"""A capture of a run with 1 % loss: tshark and the record tell the same story."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from conftest import LOSSY

import retx

pytestmark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark is not installed: apt-get install tshark"
)

BYTES = 3_000_000
SENDER = "10.0.0.1"
"""The first of the link's `ends`."""

REPEATED = (
    "tcp.analysis.retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
)
"""Names by tshark of a segment that starts below the highest sequence number seen. Its choice is a
guess from timing; at the sender nothing is reordered yet, so each of them is a retransmission."""


class Packet(NamedTuple):
    """A packet that the sender of the data sends."""

    seq: int
    length: int
    comment: str
    repeated: bool


def tshark(capture: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["tshark", "-r", capture, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def sent_packets(capture: Path) -> list[Packet]:
    fields = [
        "frame.interface_name",
        "ip.src",
        "tcp.seq_raw",
        "tcp.len",
        "frame.comment",
        *REPEATED,
    ]
    columns = [option for field in fields for option in ("-e", field)]
    packets = []
    for line in tshark(capture, "-T", "fields", "-E", "separator=|", *columns).splitlines():
        place, source, seq, length, comment, *repeated = line.split("|")
        assert place == "cloud at server"
        if source == SENDER:
            packets.append(Packet(int(seq), int(length), comment, any(repeated)))
    return packets


class Run(NamedTuple):
    """A run and what the data sender sent in it."""

    result: retx.Result
    flow: dict[str, object]
    capture: Path
    packets: list[Packet]

    @property
    def data(self) -> list[Packet]:
        return [packet for packet in self.packets if packet.length]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    directory = tmp_path_factory.mktemp("tshark")
    capture = directory / "capture.pcapng"
    overrides = {"link.cloud.forward.channel.p": 0.01, "flow.download.app.bytes": BYTES}
    result = retx.run(LOSSY, overrides=overrides, pcap=capture)
    return Run(result, result.flows.row(0, named=True), capture, sent_packets(capture))


def stream_ranges(data: list[Packet]) -> list[tuple[int, int]]:
    """First and last-plus-one position of each segment, with the wrap at 2^32 undone."""
    highest = data[0].seq
    ranges = []
    for packet in data:
        ahead = (packet.seq - highest + 2**31) % 2**32 - 2**31
        start = highest + ahead
        ranges.append((start, start + packet.length))
        highest = max(highest, start + packet.length)
    return ranges


def test_the_run_is_worth_looking_at(run: Run) -> None:
    assert run.flow["bytes_delivered"] == BYTES
    assert run.flow["segments_retransmitted"] >= 10


def test_segments(run: Run) -> None:
    assert len(run.packets) == run.flow["frames_sent"]
    assert len(run.data) == run.flow["segments_sent"]
    lengths = [packet.length for packet in run.data]
    assert (
        lengths == run.result.segments.filter(pl.col("length_bytes") > 0)["length_bytes"].to_list()
    )


def test_retransmissions(run: Run) -> None:
    highest = -1
    retransmitted = []
    for packet, (start, end) in zip(run.data, stream_ranges(run.data), strict=True):
        if start < highest:
            retransmitted.append(packet)
        highest = max(highest, end)
    assert len(retransmitted) == run.flow["segments_retransmitted"]
    assert [packet for packet in run.data if packet.repeated] == retransmitted
    commented = [packet for packet in run.data if "; retransmission, " in packet.comment]
    assert commented == retransmitted
    unnecessary = sum("retransmission, unnecessary" in packet.comment for packet in run.data)
    assert unnecessary == run.flow["retransmissions_unnecessary"]


def test_bytes(run: Run) -> None:
    ranges = stream_ranges(run.data)
    first = ranges[0][0]
    covered = bytearray(BYTES)
    for start, end in ranges:
        assert 0 <= start - first < end - first <= BYTES
        covered[start - first : end - first] = bytes([1]) * (end - start)
    assert all(covered)
    arrived = sum(
        packet.length for packet in run.data if packet.comment.startswith("delivered at ")
    )
    lost = sum(packet.length for packet in run.data if packet.comment.startswith("dropped by "))
    assert arrived + lost == sum(packet.length for packet in run.data)
    assert arrived >= BYTES


def test_losses(run: Run) -> None:
    drops = run.result.drops
    assert drops.height > 0
    for reason in ("queue", "channel", "retry_limit", "script"):
        said = sum(
            packet.comment.startswith(f"dropped by {reason} at cloud forward")
            for packet in run.packets
        )
        assert said == drops.filter(pl.col("reason") == reason).height


def test_nothing_is_malformed(run: Run) -> None:
    complaint = "_ws.malformed || tcp.checksum.status == 0 || ip.checksum.status == 0"
    checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    assert tshark(run.capture, *checks, "-Y", complaint) == ""


@pytest.mark.parametrize(
    ("app", "streams"),
    [
        ({"kind": "request_response", "response": 20_000, "connection": "each"}, 5),
        ({"kind": "request_response", "response": 20_000, "connection": "one"}, 1),
        ({"kind": "ftp", "files": [20_000, 10_000]}, 2),
    ],
)
def test_each_connection_is_a_stream(app: dict[str, object], streams: int, tmp_path: Path) -> None:
    """All connections of a flow had the same ports, so that tools took them for one."""
    exchanges = {"request": 300, "exchanges": 5} if app["kind"] == "request_response" else {}
    flow = {"from": "server", "to": "client", "tcp": "linux", "app": app | exchanges}
    scenario = {
        "duration": "60 s",
        "link": [{"name": "l", "ends": ["server", "client"], "rate": "5 Mbit/s", "delay": "9 ms"}],
        "flow": [flow | {"name": "a"}, flow | {"name": "b"}],
    }
    capture = tmp_path / "each.pcapng"
    retx.run(scenario, pcap=capture)
    columns = ("tcp.stream", "tcp.port", "frame.comment")
    fields = [option for column in columns for option in ("-e", column)]
    lines = tshark(capture, "-T", "fields", "-E", "separator=|", *fields).splitlines()
    rows = {tuple(line.split("|")[:2]) for line in lines}
    ports = {frozenset(pair.split(",")) for _, pair in rows}
    assert len(ports) == len({stream for stream, _ in rows}) == 2 * streams
    flows = {(line.split("|")[0], line.split("flow ")[1]) for line in lines}
    assert sorted(name for _, name in flows) == ["a"] * streams + ["b"] * streams
    assert len(retx.diagnose(capture).flows) == 2 * streams
