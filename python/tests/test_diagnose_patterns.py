"""Faults with a name that `retx diagnose` finds in simulated captures, and their words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

import retx
from retx.diagnosing.page import page
from retx.diagnosing.patterns import PATTERNS, sentences

ROOT = Path(__file__).parents[2]


def diagnosed(
    capture: Path, *, tcp: Mapping[str, Any], megabytes: int = 10, node: str = "server", **link: Any
) -> tuple[retx.Result, Mapping[str, Any]]:
    """Result of a download over one link, and its diagnosis from a capture at a node."""
    ends = {"name": "net", "ends": ["server", "client"], "rate": "50 Mbit/s", "delay": "20 ms"}
    flow = {"name": "download", "from": "server", "to": "client", "tcp": "tcp"}
    scenario = {
        "duration": "60 s",
        "tcp": {"tcp": tcp},
        "link": [ends | link],
        "flow": [flow | {"app": {"kind": "transfer", "bytes": megabytes * 1_000_000}}],
    }
    result = retx.run(scenario, seed=1, pcap=capture, pcap_at=[f"net@{node}"])
    return result, retx.diagnose(capture).flows[0]


def names(flow: Mapping[str, Any]) -> list[str]:
    """Names of its patterns."""
    return [pattern["name"] for pattern in flow["patterns"]]


def test_a_timeout_during_a_recovery_has_its_cause(tmp_path: Path) -> None:
    """Without SACK, the timer expires before many losses of a queue are repaired."""
    queue = {"discipline": "droptail", "packets": 60}
    result, flow = diagnosed(
        tmp_path / "a.pcapng",
        tcp={"like": "newreno", "min_rto": "2 s"},
        megabytes=2,
        rate="2 Mbit/s",
        delay="270 ms",
        queue=queue,
    )
    assert result.summary["flows"][0]["episodes"]["rto"]["spurious"] > 0
    window = flow["limited_by"]["window"]
    assert window["congestion"] > 0.3 * flow["life_s"]
    assert window["spurious"] == 0


@pytest.mark.parametrize(
    ("preset", "node"),
    [*((it, "server") for it in ("linux", "linux_reno", "linux_bbr", "sack")),
     *((it, "client") for it in ("linux", "linux_bbr"))],
)  # fmt: skip
def test_a_policer_is_named_with_its_rate(preset: str, node: str, tmp_path: Path) -> None:
    channel = {"model": "policer", "rate": "5 Mbit/s", "bucket_bytes": 50_000}
    queue = {"discipline": "droptail", "packets": 1000}
    _, flow = diagnosed(
        tmp_path / "a.pcapng",
        tcp={"like": preset},
        node=node,
        forward={"channel": channel},
        queue=queue,
    )
    (found,) = (it for it in flow["patterns"] if it["name"] == "policer")
    rates = re.search(r"bucket of ([\d.]+)(?: to ([\d.]+))? Mbit/s", found["evidence"])
    assert rates
    least, most = float(rates[1]), float(rates[2] or rates[1])
    assert least <= 5 * 1.15
    assert most >= 5 / 1.15
    causes = {it["cause"] for it in flow["episodes"]}
    assert causes <= {"congestion", "spurious"}


def test_losses_before_the_sender_can_react_show_no_policer(tmp_path: Path) -> None:
    """The ACKs wait for 0.3 s behind a capture at the receiver, which shows an RTT of 44 ms."""
    queues = [{"discipline": "droptail", "packets": packets} for packets in (50, 100)]
    rates = ("20 Mbit/s", "200 kbit/s")
    ways = [{"rate": rate, "queue": queue} for rate, queue in zip(rates, queues, strict=True)]
    ends = {"name": "net", "ends": ["server", "client"], "delay": "20 ms"}
    scenario = {
        "duration": "20 s",
        "link": [ends | {"forward": ways[0], "reverse": ways[1]}],
        "flow": [{"name": "f", "from": "server", "to": "client", "tcp": "linux", "app": "bulk"}],
    }
    capture = tmp_path / "receiver.pcapng"
    retx.run(scenario, seed=1, pcap=capture, pcap_at=["net@client"])
    (flow,) = retx.diagnose(capture).flows
    assert len(flow["episodes"]) > 0
    assert "policer" not in names(flow)


@pytest.mark.parametrize("preset", ["linux", "linux_bbr", "newreno"])
@pytest.mark.parametrize(
    "link",
    [
        {"forward": {"channel": {"model": "bernoulli", "p": 0.005}}},
        {"forward": {"channel": {"model": "gilbert_elliott", "p": 0.002, "r": 0.2, "h": 0.2}}},
        {"rate": "5 Mbit/s", "queue": {"discipline": "droptail", "packets": 20}},
        {"rate": "5 Mbit/s", "queue": {"discipline": "droptail", "packets": 4}},
        {
            "rate": "30 Mbit/s",
            "delay": "50 ms",
            "queue": {"discipline": "droptail", "packets": 50},
            "forward": {"channel": {"model": "bernoulli", "p": 0.002}},
        },
    ],
    ids=["random", "bursts", "queue", "short queue", "overflow in slow start"],
)
def test_other_losses_are_no_policer(preset: str, link: Mapping[str, Any], tmp_path: Path) -> None:
    _, flow = diagnosed(tmp_path / "a.pcapng", tcp={"like": preset}, megabytes=5, **link)
    assert "policer" not in names(flow)


@pytest.mark.parametrize("preset", ["linux", "linux_bbr"])
def test_frequent_random_losses_are_not_regular(preset: str, tmp_path: Path) -> None:
    """A loss during a recovery begins no new one, so frequent losses seem to come at intervals."""
    link = {
        "rate": "30 Mbit/s",
        "delay": "50 ms",
        "queue": {"discipline": "droptail", "packets": 175},
        "forward": {"channel": {"model": "bernoulli", "p": 0.01}},
    }
    _, flow = diagnosed(tmp_path / "a.pcapng", tcp={"like": preset}, megabytes=40, **link)
    causes = [it["cause"] for it in flow["episodes"]]
    assert len(causes) > 20
    assert causes.count("wireless") > 0.9 * len(causes)


def test_windows_reduced_by_ecn_count_as_in_the_simulation(tmp_path: Path) -> None:
    link = {"rate": "10 Mbit/s", "delay": "50 ms", "queue": {"discipline": "codel", "ecn": True}}
    tcp = {"like": "linux", "ecn": True}
    result, flow = diagnosed(tmp_path / "a.pcapng", tcp=tcp, megabytes=15, **link)
    (row,) = result.flows.to_dicts()
    assert row["ecn_reductions"] > 3
    true_s = row["limited_window_congestion_s"]
    assert flow["limited_by"]["window"]["congestion"] == pytest.approx(true_s, rel=0.01)
    assert "ecn" in names(flow)


def test_a_standing_queue_is_named(tmp_path: Path) -> None:
    link = {"rate": "5 Mbit/s", "queue": {"discipline": "droptail", "packets": 300}}
    _, flow = diagnosed(tmp_path / "a.pcapng", tcp={"like": "linux"}, **link)
    assert "standing_queue" in names(flow)


SLOW = {"rate": "200 kbit/s", "queue": {"discipline": "droptail", "packets": 60}}
FAST = {"rate": "20 Mbit/s", "queue": {"discipline": "droptail", "packets": 50}}
LONG = {"rate": "2 Mbit/s", "queue": {"discipline": "droptail", "packets": 60}}


@pytest.mark.parametrize(
    ("forward", "reverse", "timestamps", "waiting"),
    [
        (FAST, SLOW, True, "acknowledgments"),
        (LONG, FAST, True, "data"),
        (FAST, SLOW, False, "unknown"),
        (LONG, FAST, False, "unknown"),
    ],
)
def test_a_standing_queue_has_its_direction(
    forward: Mapping[str, Any],
    reverse: Mapping[str, Any],
    timestamps: bool,
    waiting: str,
    tmp_path: Path,
) -> None:
    """Acknowledgments of a fast download fill the slow link that they pass."""
    link = {"forward": forward, "reverse": reverse}
    tcp = {"like": "linux", "timestamps": timestamps}
    capture = tmp_path / "sender.pcapng"
    result, flow = diagnosed(capture, tcp=tcp, rate="20 Mbit/s", **link)
    (found,) = (it for it in flow["patterns"] if it["name"] == "standing_queue")
    assert found["waiting"] == waiting
    mean = {it["direction"]: it["queue_mean_packets"] for it in result.summary["links"]}
    assert (mean["reverse"] > mean["forward"]) == (reverse is SLOW)
    (sentence,) = (it for it in sentences(flow) if it.startswith("Standing queue"))
    assert ("BBR" in sentence) == (waiting != "acknowledgments")
    assert ("CAKE" in sentence) == (waiting != "data")


@pytest.mark.parametrize(("forward", "reverse"), [(FAST, SLOW), (LONG, FAST)])
def test_two_captures_show_which_packets_wait(
    forward: Mapping[str, Any], reverse: Mapping[str, Any], tmp_path: Path
) -> None:
    tcp = {"like": "linux", "timestamps": False}
    ends = {"name": "net", "ends": ["server", "client"], "delay": "20 ms"}
    scenario = {
        "duration": "20 s",
        "tcp": {"tcp": tcp},
        "link": [ends | {"rate": "20 Mbit/s", "forward": forward, "reverse": reverse}],
        "flow": [{"name": "f", "from": "server", "to": "client", "tcp": "tcp", "app": "bulk"}],
    }
    captures = [tmp_path / "sender.pcapng", tmp_path / "receiver.pcapng"]
    for capture, node in zip(captures, ("server", "client"), strict=True):
        retx.run(scenario, seed=1, pcap=capture, pcap_at=[f"net@{node}"])
    (flow,) = retx.diagnose(*captures).flows
    (found,) = (it for it in flow["patterns"] if it["name"] == "standing_queue")
    assert found["waiting"] == ("acknowledgments" if reverse is SLOW else "data")


def test_a_small_receive_window_is_named_with_the_window_needed(tmp_path: Path) -> None:
    """A window of 30 kB at 40 ms allows 6 Mbit/s; 50 Mbit/s need more than 250 kB."""
    tcp = {"like": "linux", "advertised_window": 30_000}
    result, flow = diagnosed(tmp_path / "a.pcapng", tcp=tcp)
    assert result.summary["flows"][0]["limited_by"]["receive_window"] > 0.9 * flow["life_s"]
    (found,) = (it for it in flow["patterns"] if it["name"] == "small_receive_window")
    numbers = re.fullmatch(
        r"the largest receive window is 30 kB, which, at an RTT of ([\d.]+) ms, allow at most "
        r"([\d.]+) Mbit/s; the bottleneck seems to pass ([\d.]+) Mbit/s, which take (\d+) kB .*",
        found["evidence"],
    )
    assert numbers
    rtt_ms, most, rate, needed = map(float, numbers.groups())
    assert rtt_ms == pytest.approx(40, rel=0.02)
    assert most == pytest.approx(30 * 8 / rtt_ms, rel=0.01)
    assert rate == pytest.approx(50 * 1448 / 1538, rel=0.03)
    assert needed == pytest.approx(rate * rtt_ms / 8, rel=0.03)
    assert any("tcp_rmem" in sentence for sentence in sentences(flow))


def test_a_small_send_buffer_is_named(tmp_path: Path) -> None:
    """Twenty segments in flight at 40 ms are 6 Mbit/s, although the windows allow more."""
    tcp = {"like": "sack", "send_buffer": 20 * 1460}
    result, flow = diagnosed(tmp_path / "a.pcapng", tcp=tcp)
    assert result.summary["flows"][0]["limited_by"]["send_buffer"] > 0.9 * flow["life_s"]
    (found,) = (it for it in flow["patterns"] if it["name"].startswith("small_"))
    assert found["name"] == "small_send_buffer"
    assert "no more data are in flight than 29 kB" in found["evidence"]
    assert any("tcp_wmem" in sentence for sentence in sentences(flow))


@pytest.mark.parametrize("node", ["server", "client"])
def test_a_send_buffer_shows_in_the_data_in_flight_when_it_is_written_again(
    node: str, tmp_path: Path
) -> None:
    """The data in flight grow to 1.5 MB, but 230 kB are left whenever the program writes again."""
    scenario = {
        "duration": "20 s",
        "tcp": {"tcp": {"like": "linux", "send_buffer": 200_000}},
        "link": [
            {"name": "net", "ends": ["server", "client"], "rate": "50 Mbit/s", "delay": "40 ms"}
        ],
        "flow": [
            {
                "name": "f",
                "from": "server",
                "to": "client",
                "tcp": "tcp",
                "app": {"kind": "transfer", "bytes": 20_000_000},
            }
        ],
    }
    capture = tmp_path / "a.pcapng"
    result = retx.run(scenario, seed=1, pcap=capture, pcap_at=[f"net@{node}"])
    truth = result.summary["flows"][0]["limited_by"]
    (flow,) = retx.diagnose(capture).flows
    assert truth["send_buffer"] > 0.2 * flow["life_s"]
    for limit in ("send_buffer", "slow_start", "application", "bottleneck"):
        assert flow["limited_by"][limit] == pytest.approx(truth[limit], abs=0.03 * flow["life_s"])
    (found,) = (it for it in flow["patterns"] if it["name"].startswith("small_"))
    assert found["name"] == "small_send_buffer"
    assert "Linux wakes it when a third of the buffer is free" in found["evidence"]


def test_a_large_receive_window_is_not_small(tmp_path: Path) -> None:
    _, flow = diagnosed(tmp_path / "a.pcapng", tcp={"like": "linux"})
    assert "small_receive_window" not in names(flow)


def test_every_pattern_has_words() -> None:
    sources = (ROOT / "crates/diagnose/src/flow").rglob("*.rs")
    text = "".join(source.read_text(encoding="utf-8") for source in sources)
    direct = re.findall(r'\bPattern(?:::new\(\s*| \{\s*name: )"(\w+)"', text)
    pauses = re.findall(r'\.pattern\("(\w+)"', text)
    buffers = re.findall(r'\("(small_\w+)", ', text)
    assert set(direct) | set(pauses) | set(buffers) == set(PATTERNS)


@pytest.mark.parametrize(("bucket_bytes", "gains"), [(15_000, True), (100_000, False)])
def test_the_remedies_for_a_policer_gain(bucket_bytes: int, gains: bool) -> None:
    """BBR and pacing help against a small bucket; with a large one the flow has the whole rate."""
    channel = {"model": "policer", "rate": "5 Mbit/s", "bucket_bytes": bucket_bytes}
    link = {"name": "net", "ends": ["server", "client"], "rate": "50 Mbit/s", "delay": "20 ms"}
    flow = {"name": "f", "from": "server", "to": "client", "app": "bulk"}

    def goodput(tcp: Mapping[str, Any]) -> float:
        scenario = {
            "duration": "20 s",
            "tcp": {"tcp": tcp},
            "link": [link | {"forward": {"channel": channel}}],
            "flow": [flow | {"tcp": "tcp"}],
        }
        return float(retx.run(scenario, seed=1).summary["flows"][0]["goodput_bit_s"])

    before = goodput({"like": "linux"})
    best = max(goodput({"like": "linux_bbr"}), goodput({"like": "linux", "pacing": True}))
    assert (best > 1.2 * before) == gains
    assert (before > 0.9 * 5e6) != gains
    remedy = PATTERNS["policer"].remedy
    assert "near this rate, only a higher rate" in remedy
    assert "Otherwise the bucket is too small for the bursts of the sender: BBR, pacing" in remedy


def test_patterns_are_in_the_text_and_the_page(cli: Cli, tmp_path: Path) -> None:
    channel = {"model": "policer", "rate": "5 Mbit/s", "bucket_bytes": 50_000}
    capture = tmp_path / "a.pcapng"
    _, flow = diagnosed(capture, tcp={"like": "linux"}, forward={"channel": channel})
    (sentence,) = (it for it in sentences(flow) if it.startswith("Policer"))
    shown = " ".join(cli("diagnose", str(capture)).stdout.split())
    assert sentence in shown
    assert "Episodes" in shown
    assert sentence in page(retx.diagnose(capture))


@pytest.mark.parametrize(
    ("waits", "said"),
    [
        ((1.0, 2.0, 4.0, 8.0, 8.0), "waits twice as long after each timeout: a lower cap"),
        ((4.6, 9.2, 10.0, 10.0, 10.0), "waits up to 10 s after each timeout: a lower cap"),
    ],
)
def test_waits_that_do_not_grow_are_not_said_to_double(waits: tuple[float, ...], said: str) -> None:
    timeouts = [{"number": number, "waited_s": it} for number, it in enumerate(waits, start=1)]
    outage = {"name": "outage", "evidence": "5 timeouts in a row", "confidence": 0.9}
    before = {"number": 1, "waited_s": 60.0}
    (text,) = sentences({"patterns": [outage], "timeouts": [before, *timeouts]})
    assert said in text
