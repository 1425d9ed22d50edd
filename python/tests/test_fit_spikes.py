"""Fits of captures in which the path holds packets back, or reorders them, and loses none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from downloads import scenario

import retx
from retx.fitting.captures.capture import CaptureFit, fit_capture
from retx.fitting.captures.scenario import channels, is_reordered, spikes

ENDS = ["first@server", "last@client"]


def captured(
    folder: Path, channel: dict[str, Any], at: str, queue: int = 4000, tcp: str = "linux"
) -> tuple[retx.Result, CaptureFit]:
    """Run of a download with this channel, and the fit of its capture."""
    of = scenario(queue={"discipline": "droptail", "packets": queue}, forward={"channel": channel})
    of["flow"][0] |= {"tcp": tcp, "app": {"kind": "transfer", "bytes": 8_000_000}}
    file = folder / "download.pcapng"
    result = retx.run(of, pcap=file, pcap_at=at)
    return result, fit_capture(file)


@pytest.mark.parametrize("at", ENDS)
@pytest.mark.parametrize("share", [0.0004, 0.0008])
def test_spikes_without_loss_become_neither_losses_nor_reordering_nor_pauses(
    tmp_path: Path, share: float, at: str
) -> None:
    """Packets in order after a spurious timeout were taken for reordered ones at the sender's end,
    and the silence of a spike for a pause of the application at the receiver's end.
    """
    held = {"model": "random_delay", "share": share, "law": "exponential", "delay": "1 s"}
    result, fit = captured(tmp_path, held, at)
    flow = result.flows.row(0, named=True)
    assert flow["rto_count"] > 0
    assert flow["retransmissions_unnecessary"] == flow["segments_retransmitted"]
    assert [channel["model"] for channel in channels(fit)] == ["trace"]
    again = retx.run(fit.toml()).flows.row(0, named=True)
    assert again["response_time_s"] == pytest.approx(flow["response_time_s"], rel=0.1)
    assert again["rto_count"] > 0


@pytest.mark.parametrize("packets", [2, 12])
def test_reordering_is_measured_at_both_ends(tmp_path: Path, packets: int) -> None:
    channel = {"model": "reorder", "p": 0.02, "packets": packets}
    for at in ENDS:
        _, fit = captured(tmp_path, channel, at)
        assert is_reordered(fit.path)
        assert fit.path["reordered"]["value"] == pytest.approx(0.02, rel=0.35)
        assert fit.path["overtakers"] == pytest.approx(packets, abs=1)


def test_losses_beside_spikes_are_said_to_be_uncertain(tmp_path: Path) -> None:
    """Spikes hide the length of the queue, so that some of its losses seem to be the channel's."""
    held = {"model": "random_delay", "share": 0.0008, "law": "exponential", "delay": "1 s"}
    lost = {"model": "bernoulli", "p": 0.003}
    text = "some of these losses may be a queue's"
    for channel, warned in (([held, lost], True), ([lost], False)):
        _, fit = captured(tmp_path, channel, ENDS[0])  # type: ignore[arg-type]
        assert fit.losses is not None
        assert (text in spikes(fit)) == warned
        assert (text in " ".join(fit.toml().replace("\n#", "").split())) == warned
