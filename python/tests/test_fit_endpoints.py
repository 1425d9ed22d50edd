"""Settings of TCP that a fit finds in a capture: congestion control, timers, windows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from downloads import scenario

import retx
from retx.fitting.captures.capture import CaptureFit, fit_capture
from retx.fitting.captures.endpoints import preset
from retx.fitting.captures.reproduction import reproduction


def fitted(folder: Path, tcp: dict[str, Any], at: str = "first@server") -> CaptureFit:
    """Fit of a download with this TCP, captured at `at`."""
    file = folder / "download.pcapng"
    of = scenario()
    of["tcp"] = {"own": tcp}
    of["flow"][0]["tcp"] = "own"
    retx.run(of, pcap=file, pcap_at=at)
    return fit_capture(file)


@pytest.mark.parametrize("at", ["first@server", "last@client"])
@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_a_first_ssthresh_is_fitted(tmp_path: Path, control: str, at: str) -> None:
    tcp = {"like": "linux", "congestion_control": control, "initial_ssthresh": "12 mss"}
    fit = fitted(tmp_path, tcp, at)
    segments = fit.path["endpoints"]["first_ssthresh"] / fit.path["endpoints"]["segment_bytes"]
    assert segments == pytest.approx(12, abs=2)
    found = reproduction(fit)
    assert found is not None
    assert found.factor == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("at", ["first@server", "last@client"])
@pytest.mark.parametrize(
    "tcp",
    [
        {"like": "linux"},
        {"like": "linux_bbr"},
        {"like": "newreno"},
        {"like": "sack", "initial_window": "2 mss"},
        {"like": "linux", "max_cwnd": "8 mss"},
        {"like": "linux", "advertised_window": 12_000},
        {"like": "linux", "initial_ssthresh": "30 mss"},
    ],
    ids=str,
)
def test_other_limits_are_no_first_ssthresh(tmp_path: Path, tcp: dict[str, Any], at: str) -> None:
    assert fitted(tmp_path, tcp, at).path["endpoints"]["first_ssthresh"] is None


@pytest.mark.parametrize("at", ["first@server", "last@client"])
def test_a_sender_that_ignores_losses_is_simulated_as_one(tmp_path: Path, at: str) -> None:
    for name, control in (("linux_bbr", "bbr"), ("linux", "cubic")):
        file = tmp_path / f"{name}.pcapng"
        lossy = scenario(forward={"channel": {"model": "bernoulli", "p": 0.01}})
        lossy["flow"][0] |= {"tcp": name}
        retx.run(lossy, pcap=file, pcap_at=at)
        fit = fit_capture(file)
        assert (fit.path["endpoints"]["congestion_control"] == "bbr") == (control == "bbr")
        found = reproduction(fit)
        assert found is not None
        assert found.factor == pytest.approx(1, abs=0.3 if control == "cubic" else 0.05)


def test_a_linux_sender_without_sack_is_like_linux(tmp_path: Path) -> None:
    fit = fitted(tmp_path, {"like": "linux", "sack": False})
    written = retx.resolve(fit.toml())["tcp"]["fitted"]
    assert written["sack"] is False
    assert written["rto"] == retx.resolve(scenario())["tcp"]["linux"]["rto"]


@pytest.mark.parametrize(
    ("like", "sack", "at"),
    [
        ("linux", False, "first@server"),
        ("linux", False, "last@client"),
        ("linux", True, "first@server"),
        ("newreno", False, "first@server"),
        ("newreno", False, "last@client"),
    ],
)
def test_early_timeouts_are_those_of_linux(tmp_path: Path, like: str, sack: bool, at: str) -> None:
    """Without timestamps, a sender is known by the wait before its timeouts, from either end."""
    file = tmp_path / "lossy.pcapng"
    lossy = scenario(forward={"channel": {"model": "bernoulli", "p": 0.06}})
    tcp = {"like": like, "sack": sack, "timestamps": False, "congestion_control": "reno"}
    lossy["tcp"] = {"own": tcp}
    lossy["flow"][0]["tcp"] = "own"
    retx.run(lossy, pcap=file, pcap_at=at)
    fit = fit_capture(file)
    assert any(it["waited_s"] > 0.1 for it in fit.flow["timeouts"])
    assert preset(fit)[0] == like


def test_a_slow_reader_is_fitted(tmp_path: Path) -> None:
    file = tmp_path / "reader.pcapng"
    slow = scenario()
    slow["tcp"] = {
        "small": {"like": "linux", "receive_buffer": 65536, "receive_autotuning": "none"}
    }
    slow["flow"][0] |= {"tcp": "small", "read_rate": "2 Mbit/s"}
    retx.run(slow, pcap=file, pcap_at="first@server")
    fit = fit_capture(file)
    found = reproduction(fit)
    assert "read_rate" in fit.toml()
    assert found is not None
    assert found.factor == pytest.approx(1, abs=0.1)


def test_timeouts_later_than_the_standards_are_simulated_as_a_least_rto(tmp_path: Path) -> None:
    file = tmp_path / "late.pcapng"
    late = scenario(forward={"channel": {"model": "bernoulli", "p": 0.05}})
    late["tcp"] = {"late": {"like": "sack", "min_rto": "3 s"}}
    late["flow"][0]["tcp"] = "late"
    retx.run(late, pcap=file, pcap_at="first@server")
    written = retx.resolve(fit_capture(file).toml())["tcp"]["fitted"]
    assert float(written["min_rto"].removesuffix(" s")) == pytest.approx(3, abs=0.3)


@pytest.mark.parametrize("at", ["first@server", "last@client"])
@pytest.mark.parametrize(("largest", "limits"), [(40_000, True), (1_000_000, False)])
def test_a_window_that_grows_is_simulated_as_one(
    tmp_path: Path, largest: int, limits: bool, at: str
) -> None:
    """Without Linux's timestamps, the largest window was offered from the start, without a word."""
    sender = {"like": "sack", "receive_buffer": 16_000, "receive_autotuning": 2 * largest}
    fit = fitted(tmp_path, sender, at)
    offered = fit.path["endpoints"]["receive_window"]
    assert offered[0] < offered[1] / 2
    assert (fit.flow["limited_by"]["receive_window"] > 0.3 * fit.flow["life_s"]) == limits
    assert "How it grew cannot be known" in " ".join(fit.toml().replace("#", "").split())
    file = tmp_path / "again.pcapng"
    where = "access@sender" if at == "first@server" else "bottleneck@receiver"
    retx.run(fit.toml(), pcap=file, pcap_at=where)
    again = fit_capture(file).path["endpoints"]["receive_window"]
    assert again == pytest.approx(offered, rel=0.1)
