"""A receiving program that reads as fast as the link delivers."""

from __future__ import annotations

from retx.explaining.remedy import Change, Remedy
from retx.explaining.situation import Situation
from retx.scenarios.units import rate_of
from retx.terminal.quantities import rate

ROOM = 2
"""Reading rate of a program that keeps up with the link, relative to the link's rate."""


def _propose(situation: Situation) -> list[Change]:
    now = situation.flow.get("read_rate")
    wanted = ROOM * situation.path.rate_bit_s
    if not now or not wanted or rate_of(now) >= wanted:
        return []
    return [
        Change(
            {f"{situation.flow_key}.read_rate": f"{wanted / 1e6:g} Mbit/s"},
            f"a receiving program that reads {rate(wanted)}",
            (
                "at the receiver: ss -tmi shows a Recv-Q near its limit while the program works; "
                "read in a thread of its own, or write to a faster disk",
                "to find what holds it up: strace -f -T -e trace=read,recvfrom,write -p PID",
            ),
        )
    ]


REMEDIES = (
    Remedy(
        "slow_reader",
        ("receive_window",),
        _propose,
        "Work on the program; no setting of TCP does it.",
        where="application",
    ),
)
