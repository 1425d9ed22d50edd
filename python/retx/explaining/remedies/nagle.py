"""Small segments that are sent immediately, without Nagle's algorithm."""

from __future__ import annotations

from retx.explaining.remedy import Change, Remedy
from retx.explaining.situation import NIL, Situation


def _propose(situation: Situation) -> list[Change]:
    if not situation.tcp["nagle"]:
        return []
    # After a delay, `limited_by` counts the wait for a small segment as a spurious timeout. A flow
    # that sends all its data at once has at most one small segment.
    at_once = situation.flow["app"]["kind"] in ("bulk", "transfer")
    if at_once and situation.share(*HELD) < NIL:
        return []
    return [
        Change(
            {f"{situation.tcp_key}.nagle": False},
            "Nagle's algorithm switched off",
            ("at the sender: setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, 1)",),
        )
    ]


HELD = ("nagle", "delayed_ack")
REMEDIES = (Remedy("no_delay", (*HELD, "timeout.spurious"), _propose, "More small segments."),)
