"""`retx diagnose` on captures that retx makes, whose truth is known; the command and its answer."""

from __future__ import annotations

import importlib.util
import json
import re
import struct
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from conftest import LOSSY, Cli

import retx
from retx.diagnosing.page import round_ticks
from retx.diagnosing.tables import table_of_all
from retx.diagnosing.truth import PLACES, Case, Kinds, captured, cases, random_cases
from retx.diagnosing.wording import EVIDENCE, listed, paragraph, resent, rto, timeouts
from retx.errors import UsageError

ROOT = Path(__file__).parents[2]
LEAST_AREA = 0.9
"""Area under the curve of congestion against losses of the channel, at each place."""
QUICK = [
    Case(preset, channel, timestamps, 0)
    for preset, channel in [
        ("linux", "bernoulli"), ("linux_bbr", "delays"), ("sack", "reordering-and-loss"),
        ("newreno", "bursts"), ("reno", "queue"),
    ]
    for timestamps in (True, False)
]  # fmt: skip


def judge() -> ModuleType:
    """The tool that judges, which is no module of the package."""
    spec = importlib.util.spec_from_file_location("judge", ROOT / "tools" / "diagnose_truth.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["judge"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    """Counts by place."""
    module, counts = judge(), defaultdict(lambda: defaultdict(int))
    for case in QUICK:
        folder = tmp_path_factory.mktemp("captures")
        for place, _, score, _ in module.judged(case, folder, tshark=False):
            for name, count in score.counts.items():
                counts[place][name] += count
            for (true, said), count in score.confusion.items():
                counts[place]["kinds"] += count
                counts[place]["right kinds"] += count * (true == said)
    return counts


@pytest.mark.parametrize("place", PLACES)
def test_retransmissions_are_recognised(scores: dict[str, dict[str, int]], place: str) -> None:
    """All are recognised at ends that see them; losses before a capture hide some elsewhere."""
    here = scores[place]
    assert here["retransmissions"] > 100
    least = 0.99 if place == "receiver" else 1.0
    assert here["recognised"] >= least * here["retransmissions"]
    assert here["falsely marked"] <= 0.01 * here["retransmissions"]


@pytest.mark.parametrize(
    ("place", "recall"), [("sender", 0.7), ("middle", 0.7), ("receiver", 0.98)]
)
def test_needless_is_proved(scores: dict[str, dict[str, int]], place: str, recall: float) -> None:
    here = scores[place]
    assert here["needless"] > 50
    assert here["rightly needless"] >= 0.98 * here["said needless"]
    assert here["rightly needless"] >= recall * here["needless"]


def test_kinds_at_the_sender(scores: dict[str, dict[str, int]]) -> None:
    here = scores["sender"]
    assert here["right kinds"] >= 0.98 * here["kinds"]


@pytest.mark.parametrize(
    ("draw", "place"),
    [
        (8036, "sender"),
        (8102, "sender"),
        (9188, "sender"),
        (13088, "sender"),
        (13164, "sender"),
        (13122, "receiver"),
        (13171, "middle"),
        (13196, "receiver"),
        (13121, "receiver"),
        (13015, "receiver"),
        (16100, "middle"),
        (16157, "sender"),
        (16166, "sender"),
        (16184, "receiver"),
        (16053, "receiver"),
        (16101, "receiver"),
        (16088, "receiver"),
        (16124, "receiver"),
        (16012, "sender"),
        (16174, "receiver"),
        (16024, "receiver"),
        (13210, "sender"),
        (30013, "sender"),
        (30194, "sender"),
        (30033, "sender"),
        (30143, "sender"),
        (30373, "sender"),
        (30063, "sender"),
        (30366, "sender"),
        (30352, "sender"),
        (30034, "middle"),
        (30333, "middle"),
        (30086, "receiver"),
        (30232, "receiver"),
        (30045, "receiver"),
        (30009, "receiver"),
        (30359, "receiver"),
        (21069, "receiver"),
        (21131, "receiver"),
        (20131, "receiver"),
        (25031, "receiver"),
        (23065, "middle"),
        (30226, "middle"),
        (20068, "sender"),
        (22026, "sender"),
        (33051, "sender"),
    ],
)
def test_time_belongs_to_the_limit_that_had_it(draw: int, place: str, tmp_path: Path) -> None:
    """Each was once off: an ACK that filled a gap counted as delayed (21 points), the tail loss
    probe of a single segment as a timeout (13), half of a timeout as Nagle's (32), a full window
    that kept the bottleneck busy as the limit (64), a receiver that delays ACKs as one that does
    not (4), the round trip of a SYN as that of a full segment (12), pacing as slow start (18 and
    32), data that waited before the capture as missing from the application (15), a timeout during
    a delay spike as the application's (18), a recovery as lasting although an ACK had shown it to
    be needless (17), a window as reduced although DSACK had undone the reduction (24), the
    bottleneck as slow start behind a queue that hid the tick of timestamps (59), the application's
    time and Nagle's as the bottleneck's without timestamps (16 and 25), data that Nagle's algorithm
    held back until a tail loss probe as limited by the bottleneck (37), the bottleneck as recovery
    because retransmissions had left the receiver's end but not the sender's account (17), a full
    window as slow start although echoed timestamps show what the sender had received (5), two
    timeouts after silences shorter than the smoothed RTT as recovery (9 and 14), a window of 11
    segments as full although two were free (11), a delay of the path as one of the acknowledgment
    (27), a partial segment that waited for the one before as the bottleneck's (17), one that filled
    the peer's window as Nagle's (14), 10 segments as the bandwidth-delay product of a receiver that
    delays few acknowledgments (8), acknowledgments held back together as the rate of the bottleneck
    (83), an undone reduction as lasting behind a small receive window (21), pacing in a recovery as
    recovery (10), an acknowledgment of two segments as delayed (13), a full window as Nagle's (4),
    timeouts whose retransmissions were lost before the capture as a window (75), a recovery as over
    because acknowledgments counted too early (8), pacing as slow start behind a queue (5), a window
    of nine segments as full (15), data that NewReno counts as in flight as arrived (7), the time of
    an outage as the bottleneck's (22), a slow start without end as ended by HyStart (27), a large
    initial window as a small one behind a small peer's window (17), data in flight before a
    recovery as only those that had not arrived (4), an undone reduction as lasting (28), a full
    window of the peer and a busy bottleneck during delay spikes as slow start and a delayed
    acknowledgment (51 and 15), an acknowledgment that waits for lost data as delayed (12), Nagle's
    time as a recovery that a rescue retransmission began (6), Nagle's time after a timeout as the
    bottleneck's (4), and data that only pacing delayed in a recovery as limited by it (5).
    """
    (case,) = random_cases(1, first=draw)
    result = case.run(tmp_path / "whole.pcapng")
    ((_, _, path),) = [it for it in captured(tmp_path, case) if it[0] == place]
    assert judge().share_error(retx.diagnose(path).flows[0], result) <= 0.03


def test_data_sent_after_a_timeout_do_not_prove_it_needless(tmp_path: Path) -> None:
    """F-RTO sends new data after a timeout; 233 retransmissions were called fast ones."""
    (case,) = random_cases(1, first=8020)
    result = case.run(tmp_path / "whole.pcapng")
    ((_, truth, path),) = [it for it in captured(tmp_path, case) if it[0] == "sender"]
    Kinds(truth, result).set(truth)
    module = judge()
    said, _ = module.said_by_retx(path)
    score = module.Score()
    for packet in truth:
        score.add(packet, said.get(packet.frame))
    assert score.confusion["rto", "rto"] > 200
    assert score.confusion["rto", "fast_retransmit"] == 0


def test_shares_are_those_of_the_simulator(tmp_path: Path) -> None:
    """Within 3 points in 39, 35 and 36 of these 40 flows; causes are told apart at all places."""
    module, good = judge(), dict.fromkeys(PLACES, 0)
    scores = {place: module.Score() for place in PLACES}
    for case in random_cases(40):
        result = case.run(tmp_path / "whole.pcapng")
        kinds: Kinds | None = None
        for place, truth, path in captured(tmp_path, case):
            flow = retx.diagnose(path).flows[0]
            good[place] += module.share_error(flow, result) <= 0.03
            # The life is divided completely.
            assert abs(total(flow["limited_by"]) - flow["life_s"]) < 1e-6
            # The sender's end comes first: it sees every packet.
            kinds = kinds or Kinds(truth, result)
            module.judge_causes(scores[place], flow, truth, kinds)
    assert good["sender"] >= 38
    assert good["middle"] >= 34
    assert good["receiver"] >= 34
    for score in scores.values():
        named = [it for it in score.named if it[0] != "unknown"]
        right = sum(said == true for said, _, true in named)
        assert len(score.causes) > 50
        assert module.area(score.causes) >= LEAST_AREA
        assert right >= 0.93 * len(named)


@pytest.mark.parametrize(
    ("draw", "place"),
    [(20031, "sender"), (20126, "sender"), (20128, "receiver"), (20142, "receiver")],
)
def test_recoveries_are_those_of_the_simulator(draw: int, place: str, tmp_path: Path) -> None:
    """With SACK blocks, one recovery also repairs later losses (4 and 2 instead of 3 and 1).

    Behind a queue, the first packet after a partial acknowledgment may be older than this
    acknowledgment; each retransmission of NewReno became a recovery (64 and 14 instead of 6 and 2).
    """
    (case,) = random_cases(1, first=draw)
    result = case.run(tmp_path / "whole.pcapng")
    ((_, _, path),) = [it for it in captured(tmp_path, case) if it[0] == place]
    said = [it["kind"] for it in retx.diagnose(path).flows[0]["episodes"]]
    assert said == result.episodes.filter(pl.col("retransmitted") > 0)["kind"].to_list()


UPLOAD = """
duration = "5 s"

[[link]]
name = "link"
ends = ["client", "server"]
rate = "10 Mbit/s"
delay = "25 ms"

[[flow]]
name = "upload"
from = "client"
to = "server"
initiator = "from"
tcp = "linux"
app = { kind = "transfer", bytes = 100_000 }
"""


def test_a_handshake_is_seen_at_the_end_that_answers_it(tmp_path: Path) -> None:
    """The SYN and its answer pass at the same time (before, the handshake was the application)."""
    scenario, capture = tmp_path / "s.toml", tmp_path / "c.pcapng"
    scenario.write_text(UPLOAD)
    result = retx.run(scenario, pcap=capture, pcap_at="link@server")
    flow = retx.diagnose(capture).flows[0]
    assert judge().share_error(flow, result) <= 0.03
    assert not flow["stalls"]


def test_an_undone_reduction_ends(tmp_path: Path) -> None:
    """Linux undoes its only reduction, and slow start continues."""
    (case,) = random_cases(1, first=1154)
    result = case.run(tmp_path / "whole.pcapng")
    _, _, path = next(captured(tmp_path, case))
    flow = retx.diagnose(path).flows[0]
    assert any(it["cause"] == "spurious" for it in flow["episodes"])
    assert flow["limited_by"]["slow_start"] > 0.4 * flow["life_s"]
    assert judge().share_error(flow, result) < 0.01


def total(limits: Mapping[str, Any]) -> float:
    """Sum of all limits, in seconds."""
    return sum(total(it) if isinstance(it, Mapping) else it for it in limits.values())


def test_an_unfinished_flow_is_divided_completely(tmp_path: Path) -> None:
    """At the receiver's end, acknowledgments are on their way when the capture ends."""
    scenario = POLICED.replace("20 ms", "200 ms")
    retx.run(scenario, pcap=tmp_path / "cut.pcapng", pcap_at=["net@client"])
    flow = retx.diagnose(tmp_path / "cut.pcapng").flows[0]
    assert abs(total(flow["limited_by"]) - flow["life_s"]) < 1e-6


def test_goodput_leaves_out_data_that_wait_in_the_queue(tmp_path: Path) -> None:
    """At the sender's end, the queue holds a second of data when the capture ends."""
    scenario = POLICED.replace("50 Mbit/s", "1 Mbit/s").replace("30 s", "8 s")
    run = retx.run(scenario, pcap=tmp_path / "cut.pcapng")
    flow = retx.diagnose(tmp_path / "cut.pcapng").flows[0]
    assert flow["bytes"] > 1.1 * flow["acknowledged_bytes"]
    delivered = run.summary["flows"][0]["bytes_delivered"]
    assert delivered - 3 * 1460 < flow["acknowledged_bytes"] <= delivered
    assert flow["goodput_bit_s"] < 1e6
    assert next(paragraph(flow)).startswith(
        f"{flow['acknowledged_bytes']} acknowledged of {flow['bytes']} bytes in "
    )


POLICED = """
duration = "30 s"

[[link]]
name = "net"
ends = ["server", "client"]
rate = "50 Mbit/s"
delay = "20 ms"
queue = { discipline = "droptail", packets = 200 }
forward.channel = { model = "policer", rate = "5 Mbit/s", bucket_bytes = 30_000 }

[[flow]]
name = "f"
from = "server"
to = "client"
tcp = "linux"
app = "bulk"
"""


@pytest.mark.parametrize("place", ["server", "client"])
def test_a_policer_is_no_lossy_channel(tmp_path: Path, place: str) -> None:
    """No RTT tells its losses from those of a channel, but they come at regular intervals."""
    retx.run(POLICED, pcap=tmp_path / "policed.pcapng", pcap_at=[f"net@{place}"])
    episodes = retx.diagnose(tmp_path / "policed.pcapng").flows[0]["episodes"]
    assert len(episodes) > 20
    assert all(episode["cause"] != "wireless" for episode in episodes)


@pytest.mark.parametrize("keeps_data", [True, False])
def test_one_direction_tells_no_limit(tmp_path: Path, *, keeps_data: bool) -> None:
    """Without acknowledgments, or without data, all is unknown, and a finding says so."""
    whole = tmp_path / "whole.pcapng"
    Case("linux", "queue", timestamps=True, draw=0).run(whole)
    _, _, path = next(captured(tmp_path, Case("linux", "queue", timestamps=True, draw=0)))
    rewrite(path, lambda packet: packet if (packet[20:22] == PORT) == keeps_data else None)
    diagnosis = retx.diagnose(path)
    (flow,) = diagnosis.flows
    assert flow["limited_by"]["unknown"] == pytest.approx(flow["life_s"])
    assert flow["certainty"] == pytest.approx(0.0)
    assert any("one direction" in finding for finding in diagnosis.findings)


def test_cut_options_tell_no_window(tmp_path: Path) -> None:
    """A snap length of 54 bytes cuts the window scale from the SYN."""
    Case("linux", "bernoulli", timestamps=True, draw=0).run(tmp_path / "whole.pcapng")
    _, _, path = next(captured(tmp_path, Case("linux", "bernoulli", timestamps=True, draw=0)))
    full = retx.diagnose(path).flows[0]
    rewrite(path, lambda packet: packet[:54])
    diagnosis = retx.diagnose(path)
    assert diagnosis.flows[0]["limited_by"]["receive_window"] == 0
    assert full["limited_by"]["receive_window"] < 0.1 * full["life_s"]
    assert any("options of a SYN" in finding for finding in diagnosis.findings)


PORT = (5001).to_bytes(2, "big")


def rewrite(path: Path, change: Callable[[bytes], bytes | None]) -> None:
    """Changes or removes each packet of a pcap file."""
    content, pieces, at = path.read_bytes(), [], 24
    while at < len(content):
        *time, length, original = struct.unpack_from("<IIII", content, at)
        packet = change(content[at + 16 : at + 16 + length])
        if packet is not None:
            pieces.append(struct.pack("<IIII", *time, len(packet), original) + packet)
        at += 16 + length
    path.write_bytes(content[:24] + b"".join(pieces))


def test_thinned_acks_prove_nothing(tmp_path: Path) -> None:
    """A slow way back with a short queue drops most acknowledgments."""
    slow = POLICED.replace('"50 Mbit/s"', '"20 Mbit/s"').replace(
        'forward.channel = { model = "policer", rate = "5 Mbit/s", bucket_bytes = 30_000 }',
        'reverse = { rate = "50 kbit/s", queue = { discipline = "droptail", packets = 20 } }',
    )
    slow = slow.replace("packets = 200", "packets = 100")
    result = retx.run(slow, pcap=tmp_path / "slow.pcapng", pcap_at=["net@server"])
    flow = retx.diagnose(tmp_path / "slow.pcapng").flows[0]
    said = sum(it["needless"] == "yes" for it in flow["retransmissions"])
    assert len(flow["retransmissions"]) > 20
    assert said <= result.flows["retransmissions_unnecessary"][0]


def test_cases_have_names_of_their_own() -> None:
    names = [case.name for case in cases(2)]
    assert len(names) == len(set(names))


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("capture") / "capture.pcapng"
    QUICK[0].run(file)
    return file


def test_the_answer_has_the_form_of_the_contract(capture: Path) -> None:
    content = retx.diagnose(capture).content
    assert set(content) == {"capture", "flows"}
    assert set(content["capture"]) == {"files", "packets", "findings"}
    [flow] = content["flows"]
    wanted = "name place life_s limited_by certainty episodes stalls retransmissions"
    assert set(wanted.split()) <= set(flow)
    wanted = "packet time_s seq length_bytes kind needless confidence proof"
    for retransmission in flow["retransmissions"]:
        assert set(wanted.split()) <= set(retransmission)
        assert retransmission["proof"]["evidence"] in EVIDENCE
    summary = retx.run(QUICK[0].scenario(), seed=1).summary
    # The capture is of three places, whose packets are copies of each other.
    assert len(flow["retransmissions"]) == summary["flows"][0]["segments_retransmitted"]
    assert set(summary["flows"][0]["limited_by"]) | {"unknown"} == set(flow["limited_by"])
    sums = sum(
        sum(value.values()) if isinstance(value, dict) else value
        for value in flow["limited_by"].values()
    )
    assert sums == pytest.approx(flow["life_s"])


def test_the_command_says_a_sentence_with_frames(capture: Path, cli: Cli) -> None:
    shown = cli("diagnose", str(capture)).stdout
    assert "It was limited" in shown
    assert "The shares have a certainty of" in " ".join(shown.split())
    assert "retransmissions, the first in frame" in shown
    said = cli("diagnose", str(capture), "--json", "--flow", "1").stdout
    [flow] = json.loads(said)["flows"]
    assert list(paragraph(flow))


PROBES = [{"kind": kind, "needless": "yes", "packet": 7} for kind in ["keep_alive"] * 6]
FIN = {
    "kind": "fin", "needless": "yes", "packet": 9, "length_bytes": 0, "from": "b:2",
    "proof": {"evidence": "acknowledged_before"},
}  # fmt: skip


def test_keep_alives_are_no_retransmissions(capture: Path) -> None:
    [flow] = retx.diagnose(capture).flows
    silent = dict(flow, retransmissions=PROBES, timeouts=[], stalls=[], life_s=1.0)
    text = " ".join(paragraph(silent))
    assert "6 keep-alives, the first in frame 7." in text
    assert "retransmission" not in text.replace("retransmission timer", "")
    (row,) = table_of_all([silent | {"retransmissions": [*PROBES, FIN]}], "flows").to_dicts()
    assert row["retransmissions_count"] == 1
    text = " ".join(paragraph(silent | {"retransmissions": [*PROBES, FIN]}))
    assert "1 retransmission, in frame 9; needless: it had been acknowledged." in text


def test_listed_shares_are_complete() -> None:
    limits = dict.fromkeys(("handshake", "application", "bottleneck", "slow_start", "pacing"), 0.15)
    flow = {"life_s": 1.0, "limited_by": limits | {"nagle": 0.14, "receive_window": 0.11}}
    *_, last = listed(flow, 5)
    assert last == ("by others", pytest.approx(0.25))
    assert len(listed(flow)) == 7


def test_no_rto_is_longer_than_linux_has() -> None:
    assert rto({"rto_s": 1014.5}) == "120 s"
    assert rto({"rto_s": 3.963}) == "3.963 s"


def test_the_table_tells_the_side_that_sent(tmp_path: Path, capture: Path, cli: Cli) -> None:
    shown = cli("diagnose", str(capture)).stdout
    assert re.search(r"Frame +time +by +seq", shown)
    assert re.search(r"Frame +sent \(estimated\)", shown)
    assert re.search(r"\d  sender ", shown)


def test_what_is_no_capture_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text("no capture")
    with pytest.raises(UsageError, match=r"text.*pcap or pcapng"):
        retx.diagnose(file)
    with pytest.raises(FileNotFoundError):
        retx.diagnose(tmp_path / "nowhere")


def test_a_flow_that_is_not_there(capture: Path) -> None:
    with pytest.raises(UsageError, match="flows 1 to 1"):
        retx.diagnose(capture, flow=7)


def test_the_page_needs_no_other_file(capture: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    diagnosis = retx.diagnose(capture)
    diagnosis.save(page)
    text = page.read_text(encoding="utf-8")
    assert "http" not in text
    assert "src=" not in text
    sender = [it for it in resent(diagnosis.flows[0]) if it["length_bytes"]]
    assert text.count("<circle") == len(sender) > 10
    assert str(capture) in text
    assert "fast_retransmit" not in text
    assert "fast retransmit" in text


@pytest.mark.parametrize(
    ("last", "ticks"),
    [
        (120.1, [0, 20, 40, 60, 80, 100, 120]),
        (275_000, [0, 50_000, 100_000, 150_000, 200_000, 250_000]),
        (0.097, [0, 0.02, 0.04, 0.06, 0.08]),
        (1.0, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
    ],
)
def test_ticks_are_round(last: float, ticks: list[float]) -> None:
    assert round_ticks(last) == pytest.approx(ticks)


@pytest.mark.parametrize("name", ["nothing.pcap", "folder"])
def test_a_file_that_cannot_be_read_is_named(name: str, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "folder").mkdir()
    for files in ([name], [__file__, name]):
        done = cli("diagnose", *(str(tmp_path / file) for file in files))
        assert done.returncode == 2
        assert done.stderr.startswith(f"error: {tmp_path / name}: ")


def test_a_wait_of_many_timeouts_is_commented() -> None:
    """A wait of 14 RTOs needs another explanation than the timer."""
    timeout = {"packet": 164, "number": 1, "waited_s": 4.27, "rto_s": 0.308}
    flow: dict[str, Any] = {"timeouts": [timeout], "timer": "RFC 6298"}
    assert "This wait is 14 times the RTO" in timeouts(flow)
    flow["timeouts"] = [{**timeout, "rto_s": 4.0}]
    assert "times the RTO" not in timeouts(flow)


def test_data_that_stop_are_not_the_end_of_a_write(tmp_path: Path) -> None:
    """At the receiver's end, nothing of what the sender does during an outage is known."""
    for times, stops in (([], False), ([["0.3 s", "100 s"]], True)):
        scenario: dict[str, Any] = retx.resolve(LOSSY)
        scenario["link"][0]["forward"] = {"channel": {"model": "outage", "times": times}}
        if not times:
            scenario["link"][0].pop("forward")
        retx.run(scenario, pcap=tmp_path / "a.pcapng", pcap_at=["cloud@client"])
        (flow,) = retx.diagnose(tmp_path / "a.pcapng").flows
        assert flow["ends_in_mid_write"] == stops
        assert ("nothing passed any more" in " ".join(paragraph(flow))) == stops


@pytest.mark.parametrize("place", ["cloud@server", "cloud@client"])
@pytest.mark.parametrize("has_upload", [False, True])
def test_shares_are_less_certain_if_acknowledgments_wait(
    place: str, has_upload: bool, tmp_path: Path
) -> None:
    scenario: dict[str, Any] = retx.resolve(LOSSY)
    (link,), (flow,) = scenario["link"], scenario["flow"]
    link.pop("forward")
    flow |= {"tcp": "linux", "app": {"kind": "transfer", "bytes": 2_000_000}}
    link["reverse"] = {"rate": "2 Mbit/s", "queue": {"discipline": "droptail", "packets": 50}}
    if has_upload:
        ends = {"from": flow["to"], "to": flow["from"]}
        scenario["flow"].append({"name": "upload", "tcp": "linux", "app": "bulk", **ends})
    retx.run(scenario, pcap=tmp_path / "a.pcapng", pcap_at=[place])
    flows = retx.diagnose(tmp_path / "a.pcapng").flows
    (found,) = (it for it in flows if it["name"].startswith("10.0.0.1:"))
    assert found["acks_wait"] == has_upload
    assert (found["certainty"] < 0.3) == has_upload


def test_the_shares_of_small_flows_are_less_certain(tmp_path: Path) -> None:
    scenario = retx.resolve(LOSSY)
    scenario["link"][0].pop("forward")
    for size, least, most in ((5_000, 0.85, 0.95), (400_000, 0.95, 1.0)):
        scenario["flow"][0]["app"]["bytes"] = size
        retx.run(scenario, pcap=tmp_path / "a.pcapng")
        assert least < retx.diagnose(tmp_path / "a.pcapng").flows[0]["certainty"] < most


def test_the_overview_says_by_whom_most_was_lost(tmp_path: Path, cli: Cli) -> None:
    """Without losses, the flow with most bytes comes first."""
    scenario: dict[str, Any] = retx.resolve(LOSSY)
    (link,), (flow,) = scenario["link"], scenario["flow"]
    small = flow | {"name": "small", "app": {"kind": "transfer", "bytes": 20_000}}
    scenario["flow"] = [small, flow]
    capture = tmp_path / "a.pcapng"
    retx.run(scenario, pcap=capture, pcap_at=["cloud@server"])
    assert "\nMost was lost by flow 2;" in cli("diagnose", str(capture)).stdout
    link["forward"] = {"queue": {"discipline": "droptail", "packets": 1000}}
    retx.run(scenario, pcap=capture, pcap_at=["cloud@server"])
    shown = cli("diagnose", str(capture)).stdout
    assert "\nNothing was lost; most bytes were sent by flow 2;" in shown


def test_a_single_packet_has_no_rate(tmp_path: Path, cli: Cli) -> None:
    retx.run(LOSSY, seed=1, pcap=tmp_path / "a.pcapng", pcap_at=["cloud@server"])
    whole = (tmp_path / "a.pcapng").read_bytes()
    at, blocks = 0, []
    while at < len(whole):
        length = int.from_bytes(whole[at + 4 : at + 8], "little")
        blocks.append(whole[at : at + length])
        at += length
    head = [block for block in blocks if block[0] != 6]
    (tmp_path / "a.pcapng").write_bytes(b"".join([*head, blocks[len(head)]]))
    shown = cli("diagnose", str(tmp_path / "a.pcapng")).stdout
    assert ": 1 frame, 1 flow" in shown
    assert "bytes at one time; captured" in shown


def test_outputs_are_not_the_captures_nor_each_other(tmp_path: Path, cli: Cli) -> None:
    here = tmp_path / "cwd"
    captures = [here / "a.pcapng", here / "b.csv"]
    for number, file in enumerate(captures, 1):
        retx.run(LOSSY, seed=number, pcap=file)
    before = [file.read_bytes() for file in captures]
    for arguments, words in [
        (["--html", "a.pcapng"], "a.pcapng: is also a capture that is read: write to another file"),
        (["--html", "../cwd/a.pcapng"], "is also a capture that is read"),
        (["b.csv", "--plot", "cwnd=b.csv"], "b.csv: is also a capture that is read"),
        (["--plot", "cwnd=x.png", "--plot", "rtt=x.png"], "is also written by another option"),
        (["--out", "."], ".: holds a capture that is read: name another directory"),
        (["--out", "o", "--html", "o/a.html"], "o/a.html: lies in o, which is written as a whole"),
    ]:
        done = cli("diagnose", "a.pcapng", *arguments)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
    assert [file.read_bytes() for file in captures] == before
    assert sorted(here.iterdir()) == captures
