"""Fits of captures that retx made: what they measure is known."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from downloads import QUEUE, RATE, ROUND_TRIP, scenario

import retx
from retx.errors import UsageError
from retx.fitting.captures.capture import CaptureFit, fit_capture
from retx.fitting.captures.check import Figure, _draw_losses, check, draws
from retx.fitting.captures.reproduction import reproduction
from retx.fitting.captures.scenario import queue_packets
from retx.fitting.captures.wording import rows
from retx.fitting.scenario import time_text

NOISY = {"forward": {"channel": {"model": "bernoulli", "p": 0.002}}}


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, retx.Result]:
    """A download with losses of both kinds, captured at both ends."""
    folder = tmp_path_factory.mktemp("noisy")
    files = folder / "sender.pcapng", folder / "receiver.pcapng"
    for file, at in zip(files, ("first@server", "last@client"), strict=True):
        result = retx.run(scenario(**NOISY), pcap=file, pcap_at=at)
    return *files, result


@pytest.fixture(scope="module")
def fitted(noisy: tuple[Path, Path, retx.Result]) -> CaptureFit:
    return fit_capture(noisy[0])


def near(fit: CaptureFit) -> None:
    path = fit.path
    assert path["rate_bit_s"]["value"] == pytest.approx(RATE, rel=0.02)
    assert path["round_trip_s"]["value"] == pytest.approx(ROUND_TRIP, rel=0.01)
    assert path["queue"]["packets"] == pytest.approx(QUEUE, rel=0.1)
    assert path["queue"]["kind"] == "tail_drop"


def test_the_senders_end_shows_rate_delay_and_queue(fitted: CaptureFit) -> None:
    near(fitted)
    ends = fitted.path["endpoints"]
    assert (ends["initial_window"], ends["mss"], ends["sack"]) == (10, 1460, True)
    assert ends["sender_opened"] is False
    assert "halves" not in fitted.content["path"]


def test_so_does_the_receivers_end_with_timestamps(
    noisy: tuple[Path, Path, retx.Result],
) -> None:
    near(fit_capture(noisy[1]))


def test_both_ends_show_every_loss(noisy: tuple[Path, Path, retx.Result]) -> None:
    sender, receiver, result = noisy
    fit = fit_capture(sender, receiver)
    near(fit)
    last = next(link for link in result.summary["links"] if link["drops"]["queue"])
    copies = fit.path["copies"]
    of_queue = sum(
        1 for lost, queue in zip(copies["lost"], copies["by_queue"], strict=True)
        if lost and queue > 0.5
    )  # fmt: skip
    assert (
        sum(it or 0 for it in copies["lost"]) == last["drops"]["queue"] + last["drops"]["channel"]
    )
    assert of_queue == pytest.approx(last["drops"]["queue"], abs=1)
    # Losses of the other way are counted, too.
    assert fit.path["acks_lost"]["value"] == 0.0


def test_the_first_data_may_complete_the_handshake(tmp_path: Path) -> None:
    """The server opens, and its acknowledgment of the SYN/ACK is lost."""
    file = tmp_path / "lost.pcapng"
    lossy = {"channel": {"model": "bernoulli", "p": 0.01772}}
    given = scenario(rate="1.245 Mbit/s", delay="12.55 ms", forward=lossy)
    given["seed"], given["duration"] = 7247, "600 s"
    given["tcp"] = {"bare": {"like": "sack", "receive_buffer": 8_000_000}}
    given["flow"][0] |= {"tcp": "bare", "initiator": "from"}
    given["flow"][0]["app"]["bytes"] = 2_520_290
    retx.run(given, pcap=file, pcap_at="last@client")
    assert fit_capture(file).path["round_trip_s"]["value"] == pytest.approx(0.0253, rel=0.01)


def test_a_queue_that_never_overflows_cannot_be_known(tmp_path: Path) -> None:
    file = tmp_path / "small.pcapng"
    queue = {"discipline": "droptail", "packets": 400}
    losses = {"channel": {"model": "bernoulli", "p": 0.01}}
    retx.run(scenario(queue=queue, forward=losses), pcap=file, pcap_at="first@server")
    found = fit_capture(file).path["queue"]
    assert found["packets"] is None
    assert found["bytes"]["low"] > 0
    assert "never seen full" in found["bytes"]["evidence"]


def test_a_policer_is_told_from_a_queue_and_a_channel(tmp_path: Path, fitted: CaptureFit) -> None:
    file = tmp_path / "policed.pcapng"
    policer = {"model": "policer", "rate": "4 Mbit/s", "bucket_bytes": 20_000}
    policed = scenario(rate="40 Mbit/s", forward={"channel": policer})
    policed["flow"][0]["app"]["bytes"] = 8_000_000
    captured = retx.run(policed, pcap=file, pcap_at="first@server").summary["flows"][0]
    fit = fit_capture(file)
    assert fit.policer is not None
    assert fit.policer.rate_bit_s == pytest.approx(4e6, rel=0.01)
    assert fit.policer.bucket_bytes == pytest.approx(20_000, rel=0.1)
    # Without the policer a sender that ignores losses is promised the link's 40 Mbit/s.
    bbr = retx.run(fit.toml(), overrides={"flow.fitted.tcp": "linux_bbr"}).summary["flows"][0]
    assert bbr["response_time_s"] == pytest.approx(captured["response_time_s"], rel=0.15)
    # A drop-tail queue and random losses are none.
    assert fitted.policer is None


def test_a_bound_of_the_window_is_fitted(tmp_path: Path, fitted: CaptureFit) -> None:
    bounds = {
        "clamp": {"like": "linux", "max_cwnd": "4 mss"},
        "buffer": {"like": "cubic", "timestamps": True, "send_buffer": 4 * 1448},
    }
    for name, tcp in bounds.items():
        file = tmp_path / f"{name}.pcapng"
        bound = scenario()
        bound["tcp"] = {"bound": tcp}
        bound["flow"][0]["tcp"] = "bound"
        retx.run(bound, pcap=file, pcap_at="first@server")
        fit = fit_capture(file)
        assert fit.flow["limited_by"]["send_buffer"] > 0.9 * fit.flow["life_s"], name
        found = reproduction(fit)
        assert found is not None
        assert found.factor == pytest.approx(1, abs=0.1), name
    assert fitted.flow["limited_by"]["send_buffer"] == 0


def test_a_scenario_faster_than_its_capture_is_said_to_be(
    tmp_path: Path, fitted: CaptureFit
) -> None:
    file = tmp_path / "paused.pcapng"
    paused = scenario()
    paused["flow"][0]["app"] = {
        "kind": "request_response",
        "request": 100,
        "response": 500_000,
        "think": "5 s",
        "exchanges": 2,
    }
    retx.run(paused, pcap=file, pcap_at="first@server")
    measured = json.loads(json.dumps(fit_capture(file).measured))
    measured["path"]["bursts"] = [{"pause_s": 0.0, "bytes": 1_000_000}]
    found = reproduction(CaptureFit((file,), measured))
    assert found is not None
    assert found.factor > 3
    assert found.warning
    assert "pausing program" in found.warning
    again = reproduction(fitted)
    assert again is not None
    assert again.warning is None


def test_captures_of_different_runs_are_refused(tmp_path: Path) -> None:
    files = [tmp_path / "one.pcapng", tmp_path / "other.pcapng"]
    for file, delay in zip(files, ("20 ms", "30 ms"), strict=True):
        # Sequence numbers are equal, and the second run falls behind by 20 ms per round trip.
        given = scenario(delay=delay)
        given["tcp"] = {"bare": {"like": "linux", "timestamps": False}}
        given["flow"][0]["tcp"] = "bare"
        retx.run(given, pcap=file, pcap_at="first@server")
    for read in (retx.diagnose, fit_capture):
        with pytest.raises(UsageError, match="do not hold the same run: a round trip of flow 1"):
            read(*files)


def test_early_drops_are_told_from_a_full_queue(tmp_path: Path) -> None:
    file = tmp_path / "codel.pcapng"
    given = scenario(queue="codel")
    given["flow"][0]["app"]["bytes"] = 10_000_000
    retx.run(given, pcap=file, pcap_at="first@server")
    fit = fit_capture(file)
    assert fit.path["queue"]["kind"] == "early_drops"
    assert retx.resolve(fit.toml())["link"][1]["queue"]["discipline"] == "codel"


def test_without_timestamps_the_receivers_end_shows_the_queue_by_gaps(tmp_path: Path) -> None:
    file = tmp_path / "bare.pcapng"
    given = scenario()
    given["tcp"] = {"bare": {"like": "linux", "timestamps": False}}
    given["flow"][0]["tcp"] = "bare"
    retx.run(given, pcap=file, pcap_at="last@client")
    path = fit_capture(file).path
    assert path["rate_bit_s"]["value"] == pytest.approx(RATE, rel=0.02)
    assert path["queue"]["packets"] == pytest.approx(QUEUE, abs=1.5)
    assert "left no gap" in path["queue"]["bytes"]["evidence"]


def test_other_traffic_shows_with_both_ends(tmp_path: Path) -> None:
    given = scenario()
    given["link"].append({"name": "side", "ends": ["other", "router"], "delay": "1 ms"})
    given["flow"].append(
        {
            "name": "others",
            "from": "other",
            "to": "client",
            "udp": {"packet": 1500, "rate": "2 Mbit/s"},
            "app": "poisson",
        }
    )
    files = tmp_path / "sender.pcapng", tmp_path / "receiver.pcapng"
    for file, at in zip(files, ("first@server", "last@client"), strict=True):
        retx.run(given, pcap=file, pcap_at=at)
    fit = fit_capture(*files)
    assert fit.path["rate_bit_s"]["value"] == pytest.approx(RATE, rel=0.02)
    assert fit.path["cross_bit_s"]["value"] == pytest.approx(2e6 * 1538 / 1500, rel=0.1)
    written = retx.resolve(fit.toml())
    assert [flow["name"] for flow in written["flow"]] == ["fitted", "others"]


def test_the_scenario_behaves_as_the_capture(fitted: CaptureFit) -> None:
    found = check(fitted, 12)
    assert found.holds, found.content
    assert [figure.name for figure in found.figures][:2] == ["goodput", "retransmissions"]
    assert found.content["simulations"] == 12


def test_a_check_repeats_itself_and_leaves_the_fit_unchanged(fitted: CaptureFit) -> None:
    before = fitted.toml()
    first = check(fitted, 6)
    assert fitted.toml() == before
    assert check(fitted, 6).content == first.content


def test_a_wrong_scenario_lies_outside_with_a_reason(
    fitted: CaptureFit, noisy: tuple[Path, Path, retx.Result], tmp_path: Path
) -> None:
    slow = tmp_path / "slow.pcapng"
    retx.run(scenario(rate="2 Mbit/s", **NOISY), pcap=slow, pcap_at="first@server")
    wrong = json.loads(json.dumps(fitted.measured))
    wrong["path"]["rate_bit_s"] = fit_capture(slow).path["rate_bit_s"]
    found = check(CaptureFit(fitted.files, wrong), 4)
    assert not found.holds
    assert found.reasons


def test_the_interval_of_counts_has_no_fractions() -> None:
    figure = Figure("timeouts", "", 1.0, [0.0] * 10 + [1.0])
    assert figure.interval == (0, 1)
    assert figure.is_inside


def test_no_round_trip_is_shorter_than_the_propagation_delay() -> None:
    """A few long round trips widened the interval to 42 ms, with a propagation delay of 50 ms."""
    simulated = [0.0521] * 15 + [0.078] * 15
    assert Figure("RTT, 95 %", "s", 0.0775, simulated).interval[0] < 0.05
    figure = Figure("RTT, 95 %", "s", 0.0775, simulated, least=0.0504)
    assert figure.interval[0] == 0.0504
    assert figure.is_inside


def test_two_ends_are_not_called_one(noisy: tuple[Path, Path, retx.Result]) -> None:
    sender, receiver, _ = noisy
    fit = fit_capture(sender, receiver)
    assert "from one end" not in fit.toml()
    # A difference of 1e-9 bit/s is left for others.
    (row,) = [row for row in rows(fit) if row[0] == "traffic of others"]
    assert row[1:3] == ("none", "less than 2 % of the rate")


def test_a_replay_loses_the_same_segments(
    fitted: CaptureFit, noisy: tuple[Path, Path, retx.Result]
) -> None:
    lost = noisy[2].drops.filter(noisy[2].drops["reason"] == "channel").height
    channel = retx.resolve(fitted.toml(replay=True))["link"][1]["forward"]["channel"]
    [script] = channel if isinstance(channel, list) else [channel]
    assert script["model"] == "script"
    assert len(script["drop_seq"]) == pytest.approx(lost, abs=2)


def test_pauses_of_the_application_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "pauses.pcapng"
    given = scenario()
    given["flow"][0]["app"] = {
        "kind": "request_response",
        "request": 100,
        "response": 60_000,
        "think": {"law": "exponential", "mean": "1 s"},
        "exchanges": 20,
    }
    retx.run(given, pcap=file, pcap_at="first@server")
    fit = fit_capture(file)
    app = retx.resolve(fit.toml())["flow"][0]["app"]
    assert (app["kind"], app["exchanges"], app["response"]) == ("request_response", 20, 60_000)
    found = reproduction(fit)
    assert found is not None
    assert found.factor == pytest.approx(1, abs=0.02)
    # A simulation of the check draws another sample of the pauses.
    service = draws(fit, 1)["flow.fitted.app.service"]
    assert len(service) == 20
    assert set(service) <= {time_text(it["pause_s"]) for it in fit.path["bursts"]}
    assert service != [time_text(it["pause_s"]) for it in fit.path["bursts"]]


def test_the_pause_before_the_first_data_is_kept(tmp_path: Path) -> None:
    given = scenario()
    given["flow"][0]["app"] = {
        "kind": "request_response",
        "request": 100,
        "response": 1_000_000,
        "service": "2 s",
        "exchanges": 1,
    }
    for at in ("first@server", "last@client"):
        file = tmp_path / f"{at}.pcapng"
        retx.run(given, pcap=file, pcap_at=at)
        fit = fit_capture(file)
        found = reproduction(fit)
        assert found is not None
        assert found.factor == pytest.approx(1, abs=0.02), at
        assert fit.path["bursts"][0]["pause_s"] == pytest.approx(2, abs=0.01), at


def test_drops_of_a_short_queue_are_no_losses_of_the_channel(tmp_path: Path) -> None:
    file = tmp_path / "short.pcapng"
    short = scenario(rate="50 Mbit/s", queue={"discipline": "droptail", "packets": 20})
    short["flow"][0] |= {"tcp": "linux_bbr", "app": {"kind": "transfer", "bytes": 40_000_000}}
    retx.run(short, pcap=file, pcap_at="first@server")
    fit = fit_capture(file)
    assert fit.path["queue"]["packets"] == pytest.approx(20, rel=0.1)
    assert fit.losses is None


def test_a_flow_without_losses_has_a_queue_for_its_window(tmp_path: Path) -> None:
    file = tmp_path / "lossless.pcapng"
    queue = {"discipline": "droptail", "packets": 2000}
    retx.run(scenario(queue=queue), pcap=file, pcap_at="first@server")
    fit = fit_capture(file)
    assert all(figure.is_inside for figure in check(fit, 4).figures[:2])


def test_large_segments_have_links_for_them(tmp_path: Path) -> None:
    file = tmp_path / "jumbo.pcapng"
    jumbo = scenario(mtu=9000)
    jumbo["link"][0]["mtu"] = 9000
    jumbo["tcp"] = {"jumbo": {"like": "linux", "mss": 8960}}
    jumbo["flow"][0]["tcp"] = "jumbo"
    retx.run(jumbo, pcap=file, pcap_at="first@server")
    found = reproduction(fit_capture(file))
    assert found is not None
    assert found.factor == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(("measured", "packets"), [(5.5, 5), (19.76, 20), (29.76, 30), (0.5, 1)])
def test_the_packet_in_transmission_is_not_in_the_queue(measured: float, packets: int) -> None:
    assert queue_packets({"queue": {"packets": measured}}) == packets


def test_rates_of_loss_models_are_drawn_as_rates() -> None:
    channel = {"model": "policer", "rate": "4 Mbit/s", "bucket_bytes": 20_000}
    rate = {"name": "rate", "value": 4e6, "low": 3.9e6, "high": 4.1e6, "unit": "bit/s"}
    _draw_losses(channel, [rate], Random(1))
    assert channel["rate"].endswith(" bit/s")


def test_what_cannot_be_fitted_is_said(noisy: tuple[Path, Path, retx.Result]) -> None:
    with pytest.raises(UsageError, match="there is no flow 7 in it"):
        fit_capture(noisy[0], flow=7)
    with pytest.raises(UsageError, match=r"test_fit_capture\.py"):
        fit_capture(__file__)


def test_without_sack_and_timestamps_queue_drops_are_no_channel_losses(tmp_path: Path) -> None:
    """The receiver's end shows no delays, but drops leave no gap between arrivals."""
    for channel, lost in ({}, False), (NOISY, True):
        tcp = {"flow.download.tcp": "newreno"}
        file = tmp_path / "receiver.pcapng"
        result = retx.run(scenario(**channel), overrides=tcp, pcap=file, pcap_at="last@client")
        drops = result.summary["links"][2]["drops"]
        fit = fit_capture(file)
        assert fit.path["queue"]["packets"] == pytest.approx(QUEUE, abs=1.5)
        assert fit.path["queue"]["full"][0] == pytest.approx(drops["queue"], abs=2)
        assert fit.path["queue"]["elsewhere"][0] == pytest.approx(drops["channel"], abs=2)
        assert (fit.losses is not None) is lost
