"""`retx diagnose`: when a host has sent a packet, and what it had received until then."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from test_diagnose import judge

import retx
from retx.diagnosing.truth import Kinds, captured, random_cases


@pytest.mark.parametrize("draw", [16080, 16098])
def test_timestamps_show_the_kind_at_the_receiver(draw: int, tmp_path: Path) -> None:
    """A second copy before any answer to the first is a timeout's; a retransmission right after
    an acknowledgment is none, although the original was lost before the capture.
    """
    (case,) = random_cases(1, first=draw)
    result = case.run(tmp_path / "whole.pcapng")
    places = {place: (truth, path) for place, truth, path in captured(tmp_path, case)}
    kinds = Kinds(places["sender"][0], result)
    truth, path = places["receiver"]
    kinds.set(truth)
    module = judge()
    said, _ = module.said_by_retx(path)
    score = module.Score()
    for packet in truth:
        score.add(packet, said.get(packet.frame))
    assert sum(score.confusion.values()) > 20
    assert all(true == said for true, said in score.confusion)


@pytest.mark.parametrize("draw", [16000, 16010])
def test_a_host_that_answers_late_does_not_pace(draw: int, tmp_path: Path) -> None:
    """The host sends 0.5 ms after an acknowledgment, the SYN excepted."""
    (case,) = random_cases(1, first=draw)
    result = case.run(tmp_path / "whole.pcapng")
    _, _, path = next(captured(tmp_path, case))
    content, frames, at = path.read_bytes(), [], 24
    server = content[at + 16 + 20 :][:2]
    while at < len(content):
        seconds, ns, length, _ = struct.unpack_from("<IIII", content, at)
        packet = content[at + 16 : at + 16 + length]
        is_late = packet[20:22] == server and not packet[33] & 2
        frames.append((seconds * 10**9 + ns + 500_000 * is_late, packet))
        at += 16 + length
    frames.sort(key=lambda frame: frame[0])
    pieces = [
        struct.pack("<IIII", *divmod(time_ns, 10**9), len(packet), len(packet)) + packet
        for time_ns, packet in frames
    ]
    path.write_bytes(content[:24] + b"".join(pieces))
    flow = retx.diagnose(path).flows[0]
    assert flow["limited_by"]["pacing"] < 0.01 * flow["life_s"]
    assert judge().share_error(flow, result) <= 0.03
