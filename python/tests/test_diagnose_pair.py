"""Two captures of one flow: what passed between them is known, because retx simulated it."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from conftest import Cli

import retx
from retx.diagnosing.truth import Case, Packet, captured
from retx.errors import UsageError
from retx.fitting.captures.capture import fit_capture

OFFSET_S, SKEW = 3.75, 50e-6


def pair(folder: Path, case: Case) -> dict[str, tuple[list[Packet], Path]]:
    """Packets and file of each place."""
    case.run(folder / "whole.pcapng")
    return {place: (packets, file) for place, packets, file in captured(folder, case)}


def shifted(file: Path) -> Path:
    """The capture by a clock that is ahead, and runs faster."""
    content = file.read_bytes()
    pieces, at = [content[:24]], 24
    while at < len(content):
        second, nano, length = struct.unpack_from("<III", content, at)
        time_ns = second * 10**9 + nano
        time_ns += round(OFFSET_S * 1e9 + SKEW * time_ns)
        pieces.append(struct.pack("<II", *divmod(time_ns, 10**9)) + content[at + 8 : at + 16])
        pieces.append(content[at + 16 : at + 16 + length])
        at += 16 + length
    other = file.with_name("shifted.pcap")
    other.write_bytes(b"".join(pieces))
    return other


def lost_frames(places: dict[str, tuple[list[Packet], Path]]) -> set[int]:
    """Frames of data at the sender's end that have not reached the receiver's."""
    there = {packet.identity for packet in places["receiver"][0]}
    return {packet.frame for packet in places["sender"][0] if packet.identity not in there}


def arrived_before(places: dict[str, tuple[list[Packet], Path]]) -> dict[int, bool]:
    """True, by frame, for retransmissions of which an earlier copy has reached the receiver."""
    there = {packet.identity for packet in places["receiver"][0]}
    found, arrived = {}, set()
    for packet in places["sender"][0]:
        if packet.is_retransmission:
            found[packet.frame] = packet.seq in arrived
        if packet.identity in there:
            arrived.add(packet.seq)
    return found


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("timestamps", [True, False])
@pytest.mark.parametrize("channel", ["bernoulli-heavy", "reordering-and-loss", "queue"])
def test_losses_and_needless_are_exact(
    tmp_path: Path, channel: str, timestamps: bool, ids: bool
) -> None:
    places = pair(tmp_path, Case("linux", channel, timestamps, 0, ids))
    sent, file = places["sender"]
    [flow] = retx.diagnose(places["receiver"][1], shifted(file)).flows
    between = flow["between"]
    assert Path(between["file"]).name == "shifted.pcap"
    data = {packet.frame for packet in sent}
    found, true = set(between["forward"]["lost_frames"]) & data, lost_frames(places)
    assert len(true) > 10
    if ids or timestamps:
        assert found == true
    else:
        # Copies that are alike can only be told apart by their time.
        assert abs(len(found) - len(true)) <= 2
        assert len(found & true) >= 0.9 * len(true)
    needless = arrived_before(places)
    said = {it["packet"]: it["needless"] == "yes" for it in flow["retransmissions"]}
    assert set(said) >= set(needless)
    wrong = [frame for frame in needless if said[frame] != needless[frame]]
    assert len(wrong) <= (0 if ids or timestamps else 0.1 * len(needless))


def test_the_clocks_are_compared(tmp_path: Path) -> None:
    places = pair(tmp_path, Case("linux", "bernoulli", True, 0))
    ends = [places["sender"][1], places["receiver"][1]]
    [before] = retx.diagnose(*ends).flows
    [after] = retx.diagnose(ends[0], shifted(ends[1])).flows
    then, now = before["between"], after["between"]
    assert abs(then["offset_s"]) <= then["offset_error_s"]
    assert abs(now["offset_s"] - OFFSET_S) <= now["offset_error_s"] + 1e-4
    assert now["skew_ppm"] == pytest.approx(SKEW * 1e6, abs=5)
    for way in ("forward", "backward"):
        assert now[way]["lost_frames"] == then[way]["lost_frames"]
        assert now[way]["queueing_p95_s"] == pytest.approx(then[way]["queueing_p95_s"], abs=1e-3)


def test_reordering_is_counted(tmp_path: Path) -> None:
    places = pair(tmp_path, Case("linux", "reordering", True, 0))
    sent, arrived = places["sender"][0], places["receiver"][0]
    order = {packet.identity: index for index, packet in enumerate(sent)}
    highest, late = -1, 0
    for packet in arrived:
        late += order[packet.identity] < highest
        highest = max(highest, order[packet.identity])
    assert late > 5
    [flow] = retx.diagnose(places["sender"][1], places["receiver"][1]).flows
    assert flow["between"]["forward"]["reordered"] == late


def test_the_command_takes_two_captures(tmp_path: Path, cli: Cli) -> None:
    places = pair(tmp_path, Case("linux", "bernoulli", True, 0))
    shown = cli("diagnose", str(places["sender"][1]), str(places["receiver"][1])).stdout
    assert "Towards the receiver" in shown
    assert "packets were lost" in shown


def test_captures_without_a_common_flow_are_told_apart(tmp_path: Path, cli: Cli) -> None:
    places = pair(tmp_path, Case("linux", "bernoulli", True, 0))
    sender, receiver = places["sender"][1], places["receiver"][1]
    content = receiver.read_bytes()
    # Both hosts of the other capture have other addresses, so its flow is another one.
    receiver.write_bytes(content.replace(content[52:56], b"\x0a\x07\x07\x07"))
    shown = " ".join(cli("diagnose", str(sender), str(receiver)).stdout.split())
    assert f"no flow was found in both captures: the diagnosis is of {sender} alone." in shown
    for options, said in (
        ([], "the two captures have no flow in common"),
        (["--flow", "1"], "flow 1 is in the first of the two captures only"),
    ):
        refused = cli("fit", str(sender), str(receiver), *options)
        assert refused.returncode == 2
        assert refused.stderr == f"error: {sender} and {receiver}: {said}\n"


def test_one_capture_is_not_taken_for_two(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = pair(tmp_path, Case("linux", "bernoulli", True, 0))["sender"][1]
    monkeypatch.chdir(file.parent)
    for function in (retx.diagnose, fit_capture):
        with pytest.raises(UsageError, match=r"is named twice: name captures from two points"):
            function(file, file.name)
    for command in ("diagnose", "fit"):
        done = cli(command, str(file), str(file))
        assert done.returncode == 2
        assert "is named twice" in done.stderr
