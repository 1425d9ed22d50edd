"""Check whether this machine permits emulation, for tests that need it."""

from __future__ import annotations

from functools import cache

import pytest

import retx

TINY = """\
duration = "5 s"

[[link]]
name = "wire"
ends = ["server", "client"]
rate = "10 Mbit/s"
delay = "1 ms"

[[flow]]
name = "f"
from = "server"
to = "client"
tcp = "linux"
app = { kind = "transfer", bytes = 1000 }
"""

NOT_HERE = ("does not let", "does not allow", "there is no /dev/net/tun", "install iproute2")
"""Parts of messages about things that machines may lack or refuse; other messages are faults."""


@cache
def refusal() -> str | None:
    """Reason why this machine does not permit emulation; None if it does."""
    try:
        retx.emulate(TINY, progress=False)
    except retx.EmulationRefusedError as error:
        if any(reason in str(error) for reason in NOT_HERE):
            return str(error)
        raise
    return None


def need_emulation() -> None:
    """Skips the test, with the reason, where emulation is not possible."""
    if reason := refusal():
        pytest.skip(reason)
