"""`retx diagnose` on a capture in which this machine's kernel sends."""

from __future__ import annotations

from pathlib import Path

from emulating import need_emulation

import retx
from retx.diagnosing.truth import Kinds, Packet, captured, kernel_cases


def test_retransmissions_of_the_kernel(tmp_path: Path) -> None:
    need_emulation()
    (case,) = kernel_cases(1, first=7002)
    result = case.run(tmp_path / "whole.pcapng")
    kinds: Kinds | None = None
    for place, packets, path in captured(tmp_path, case):
        kinds = kinds or Kinds(packets, result)
        kinds.set(packets)
        true: dict[int, Packet] = {it.frame: it for it in packets if it.is_retransmission}
        assert len(true) > 10, "the channel loses packets"
        found = {it["packet"]: it for it in retx.diagnose(path).flows[0]["retransmissions"]}
        # At the receiver's end an original that was lost before looks like new data.
        assert found.keys() <= true.keys(), place
        least = 0.95 if place == "receiver" else 1.0
        assert len(found) >= least * len(true), place
        words = {"rto": {"timeout"}, "fast_retransmit": {"fast", "recovery"}}
        right = sum(
            found[frame]["kind"] in words.get(str(packet.kind), {"tail_loss_probe"})
            for frame, packet in true.items()
            if frame in found
        )
        assert right >= 0.95 * len(found), place
