"""`retx fit` for series: readers, laws of delay and counts, the scenario, conversions."""

from __future__ import annotations

import json

import numpy as np
import pytest

import retx
from retx import _native
from retx.errors import UsageError
from retx.fitting.conversion import convert
from retx.fitting.counts import fit_counts
from retx.fitting.delays import fit_delays
from retx.fitting.fit import fit
from retx.fitting.inputs import iperf3, mahimahi, ping, trace
from retx.fitting.losses import fit_losses
from retx.fitting.series import Counts
from retx.models import gilbert_elliott as ge

LINUX = """PING h (10.0.0.1) 56(84) bytes of data.
[1700000000.012000] 64 bytes from 10.0.0.1: icmp_seq=65534 ttl=57 time=12.0 ms
[1700000001.900000] no answer yet for icmp_seq=65535
[1700000002.013000] 64 bytes from 10.0.0.1: icmp_seq=0 ttl=57 time=13.0 ms
[1700000002.014000] 64 bytes from 10.0.0.1: icmp_seq=0 ttl=57 time=14.0 ms (DUP!)
[1700000003.900000] no answer yet for icmp_seq=1
[1700000004.012000] 64 bytes from 10.0.0.1: icmp_seq=2 ttl=57 time=12.0 ms
[1700000004.500000] 64 bytes from 10.0.0.1: icmp_seq=1 ttl=57 time=1500 ms
[1700000005.004000] From 10.0.0.254 icmp_seq=3 Destination Host Unreachable

--- h ping statistics ---
7 packets transmitted, 4 received, +1 duplicates, 42% packet loss, time 6005ms
"""
MACOS = """PING 10.0.0.1 (10.0.0.1): 56 data bytes
64 bytes from 10.0.0.1: icmp_seq=0 ttl=57 time=12.345 ms
Request timeout for icmp_seq 1
64 bytes from 10.0.0.1: icmp_seq=2 ttl=57 time=11.345 ms
"""
WINDOWS = """
Pinging 10.0.0.1 with 32 bytes of data:
Reply from 10.0.0.1: bytes=32 time=14ms TTL=57
Reply from 10.0.0.1: bytes=32 time<1ms TTL=57
Request timed out.
Reply from 10.0.0.1: bytes=32 time=15ms TTL=57
"""


def test_a_log_of_linux_with_wrap_duplicate_late_reply_and_error():
    series = ping.read(LINUX, "log")
    packets = series.packets
    np.testing.assert_allclose(packets.times_s, np.arange(7), atol=1.1)
    # The last request has no reply yet.
    np.testing.assert_array_equal(packets.lost, [0, 1, 0, 0, 0, 1, np.nan])
    np.testing.assert_allclose(packets.delays_s[[0, 2, 3, 4]], [0.012, 0.013, 1.5, 0.012])
    assert packets.sizes_bytes[0] == 84
    said = " ".join(series.findings)
    for word in ("duplicate", "later request", "error of a router", "under way"):
        assert word in said


def test_logs_of_macos_and_windows():
    packets = ping.read(MACOS, "log").packets
    np.testing.assert_array_equal(packets.lost, [0, 1, 0])
    np.testing.assert_array_equal(packets.times_s, [0, 1, 2])
    packets = ping.read(WINDOWS, "log").packets
    np.testing.assert_array_equal(packets.lost, [0, 0, 1, 0])
    np.testing.assert_array_equal(packets.times_s, [0, 1, 2, 7])
    assert packets.sizes_bytes[0] == 60
    with pytest.raises(ValueError, match="no reply"):
        ping.read("nothing", "log")


GERMAN = """PING h (10.0.0.1) 56(84) Bytes Daten.
[1700000000.012] 64 Bytes von 10.0.0.1: icmp_seq=1 ttl=57 Zeit=12,0 ms
[1700000001.900] noch keine Antwort auf icmp_seq=2
[1700000002.013] 64 Bytes von 10.0.0.1: icmp_seq=3 ttl=57 Zeit=13.0 ms
"""
WINDOWS_GERMAN = """
Ping wird ausgeführt für 10.0.0.1 mit 32 Bytes Daten:
Antwort von 10.0.0.1: Bytes=32 Zeit=14ms TTL=57
Zeitüberschreitung der Anforderung.
Antwort von 10.0.0.1: Bytes=32 Zeit<1ms TTL=57

Ping-Statistik für 10.0.0.1:
    Pakete: Gesendet = 3, Empfangen = 2, Verloren = 1
"""


def test_logs_of_other_languages_are_understood_or_their_lines_named(tmp_path):
    packets = ping.read(GERMAN, "log").packets
    np.testing.assert_array_equal(packets.lost, [0, 1, 0])
    np.testing.assert_allclose(packets.delays_s[[0, 2]], [0.012, 0.013])
    log = tmp_path / "de.log"
    log.write_bytes(WINDOWS_GERMAN.encode("cp850"))
    np.testing.assert_array_equal(fit(ping=log).series.packets.lost, [0, 1, 0])
    # An unknown sentence about a request is neither a loss nor nothing.
    series = ping.read(WINDOWS.replace("Request timed out.", "Aikakatkaisu."), "log")
    np.testing.assert_array_equal(series.packets.lost, [0, 0, np.nan, 0])
    assert any("lines not understood: 1," in it and "Aikakatk" in it for it in series.findings)
    unknown = "".join(f"64 bytes: icmp_seq={k} aika 12 x\n" for k in range(9))
    with pytest.raises(ValueError, match="lines not understood: 9, understood: 0"):
        ping.read(unknown, "log")


def test_logs_of_powershell_and_of_windows_over_ipv6(tmp_path):
    log = tmp_path / "ping.log"
    log.write_bytes(WINDOWS.encode("utf-16"))
    np.testing.assert_array_equal(fit(ping=log).series.packets.lost, [0, 0, 1, 0])
    text = "Pinging ::1 with 32 bytes of data:\n" + "Reply from ::1: time<1ms\n" * 3
    packets = ping.read(text, "log").packets
    np.testing.assert_array_equal(packets.lost, [0, 0, 0])
    assert packets.sizes_bytes[0] == 32 + 8 + 40


def test_a_report_of_iperf3_tells_bursts_by_the_variation_of_counts():
    times = np.arange(40_000) / 400
    lost = losses([{"model": "gilbert_elliott", "loss": 0.03, "mean_burst": 5}], times)
    rows = [
        {"sum": {"start": k, "end": k + 1, "seconds": 1, "packets": 400, "lost_packets": int(it)}}
        for k, it in enumerate(lost.reshape(100, 400).sum(1))
    ]
    report = {"start": {"test_start": {"protocol": "UDP"}}, "intervals": rows, "end": {}}
    found = fit_counts(iperf3.read(json.dumps(report), "r").counts).content
    assert found["chosen"] == "gilbert"
    assert found["mean_burst"]["low"] < 5 < found["mean_burst"]["high"]
    even = Counts(np.ones(9), np.full(9, 100.0), np.array([3.0] * 9))
    assert fit_counts(even).content["chosen"] == "bernoulli"
    with pytest.raises(ValueError, match="iperf3 with --json"):
        iperf3.read("Connecting to host", "r")


def test_iperf3_over_tcp_gives_the_rate_of_the_link_and_its_queue(tmp_path):
    row = {"start": 0, "end": 1, "seconds": 1, "bytes": 2_500_000, "bits_per_second": 20e6}
    interval = {"streams": [{**row, "rtt": 42_000}], "sum": {**row, "retransmits": 3}}
    ends = {"sender": {"min_rtt": 40_500, "max_rtt": 60_000}}
    report = {
        "start": {"test_start": {"protocol": "TCP"}, "tcp_mss_default": 1448},
        "intervals": [interval] * 10,
        "end": {"streams": [ends]},
    }
    file, target = tmp_path / "r.json", tmp_path / "path.toml"
    file.write_text(json.dumps(report))
    fit(iperf3=file).save(target)
    link = retx.resolve(target)["link"][0]
    assert link["rate"] == f"{20 * 1538 / 1448:.6f} Mbit/s"
    assert link["delay"] == "20.25 ms"
    assert link["queue"]["packets"] == round(0.0195 * 20e6 * 1538 / 1448 / 8 / 1538)
    # The payload arrives as iperf3 has seen it.
    summary = retx.run(target, overrides={"duration": "10 s"}).summary
    assert summary["flows"][0]["goodput_bit_s"] == pytest.approx(20e6, rel=0.04)


def test_negative_delays_are_refused():
    with pytest.raises(ValueError, match=r"row 2, column delay_s: -0.01 is negative.*\(2 rows"):
        trace.read("time_s,delay_s\n0,0.01\n1,-0.01\n2,-0.02\n", "t")


def test_a_table_and_a_mahimahi_trace():
    text = "time_s;lost;rtt_ms\n2;1;\n1;0;20\n3;;21\n"
    series = trace.read(text, "t")
    assert series.is_round_trip
    np.testing.assert_array_equal(series.packets.lost, [0, 1, np.nan])
    assert "sorted" in series.findings[0]
    with pytest.raises(ValueError, match="row 2, column lost: “x”"):
        trace.read("time_s,lost\n1,0\n2,x\n", "t")
    with pytest.raises(ValueError, match="line 2: 3 is earlier than the previous line, 5"):
        mahimahi.read("5\n3\n", "m")
    rates = mahimahi.read("0\n500\n1000\n", "m").rates
    assert rates.opportunities_ms == (0, 500, 1000)


def losses(channels, times, seed=1):
    sizes = np.full(len(times), 1500.0)
    return _native.channel_losses(json.dumps(channels), times, sizes, seed=seed)


def test_the_scenario_runs_and_its_losses_are_those_of_the_series(tmp_path):
    random = np.random.default_rng(1)
    times = np.cumsum(random.exponential(0.002, 8000))
    lost = losses([{"model": "gilbert_elliott", "p": 0.01, "r": 0.4}], times)
    delays = np.where(lost, np.nan, 0.02 + random.gamma(2, 0.001, 8000).round(4))
    lines = [f"{t:.6f},{int(gone)},{d:.6f}" for t, gone, d in zip(times, lost, delays, strict=True)]
    file, target = tmp_path / "packets.csv", tmp_path / "path.toml"
    file.write_text("\n".join(["time_s,lost,delay_s", *lines]))
    found = fit(trace=file)
    assert found.losses.chosen["name"] == "gilbert"
    found.save(target)
    assert (tmp_path / "path.trace.csv").exists()
    assert "[0.0" in target.read_text()  # intervals stand beside the values
    result = retx.run(target, overrides={"duration": "2 s"})
    assert result.summary["links"]
    found.save(target, replay=True)
    assert "loss" in (tmp_path / "path.trace.csv").read_text().splitlines()[0]
    retx.resolve(target)


def test_the_command_prints_a_summary_and_json(tmp_path, cli):
    log = tmp_path / "ping.log"
    log.write_text(LINUX)
    shown = cli("fit", "--ping", str(log)).stdout
    assert "cannot tell" in shown
    assert "too few" in shown
    content = json.loads(cli("fit", "--ping", str(log), "--json").stdout)
    assert content["loss"]["chosen"] is None
    assert cli("fit", "--ping", str(log), "-o", str(tmp_path / "s.toml")).returncode == 0
    with pytest.raises(UsageError, match="name a capture, or one series"):
        fit()


@pytest.mark.parametrize("law", ["gamma", "lognormal", "weibull"])
def test_the_law_of_delays_is_recognised(law):
    random = np.random.default_rng(4)
    drawn = {
        "gamma": lambda: random.gamma(3, 0.002, 1500),
        "lognormal": lambda: random.lognormal(-5, 0.9, 1500),
        "weibull": lambda: 0.005 * random.weibull(2.5, 1500),
    }[law]()
    found = fit_delays(0.02 + drawn).content
    assert found["chosen"] == law, found["families"]
    assert abs(found["least_s"] - 0.02) < 0.002


def test_conversions_agree_with_closed_forms_and_simulation():
    times = np.arange(200_000) * 0.001
    cases = (
        "loss 5%",
        "loss random 3 %",
        "loss gemodel 2% 20% 60% 0.5%",
        "loss=3% burst_ratio=2.5",
        "loss state 1% 30% 20% 5% 1%",
    )
    for text in cases:
        found = convert(text)
        lost = losses([found["channel"]], times, seed=3)
        starts = np.count_nonzero(lost[1:] & ~lost[:-1])
        assert lost.mean() == pytest.approx(found["loss"], rel=0.06), text
        assert lost.sum() / starts == pytest.approx(found["mean_burst"], rel=0.04), text
        again = convert(found["netem"])
        assert again["loss"] == pytest.approx(found["loss"])
    # The complement: netem's third number is the loss probability of the bad state.
    assert convert("loss gemodel 1% 10% 70% 0.1%")["channel"]["h"] == pytest.approx(0.3)
    share, ratio = ge.itu(*ge.from_itu(0.02, 3)[:2])
    assert (share, ratio) == (pytest.approx(0.02), pytest.approx(3))
    with pytest.raises(UsageError, match="no notation"):
        convert("bogus")


def test_fits_of_lists_that_do_not_belong_together_are_refused():
    with pytest.raises(UsageError, match="entries"):
        fit_losses([0.0, 1.0], [0.0])
    with pytest.raises(UsageError, match="there is no model x"):
        fit_losses([0.0, 1.0], [0.0, 1.0], laws=["x"])


def test_few_losses_are_simulated_as_independent():
    """Two lost pairs suggest bursts, but with five losses in all these may be chance."""
    times = np.repeat(np.arange(12.0), 2) + np.tile([0.0, 1e-5], 12)
    lost = np.zeros(24)
    lost[[0, 4, 5, 14, 15]] = 1.0
    found = fit_losses(times, lost)
    assert found.chosen is None
    assert found.used["name"] == "bernoulli"
