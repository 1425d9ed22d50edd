"""Several connections in parallel."""

from __future__ import annotations

from typing import Any

from retx.explaining.remedy import LOSSES, Change, Remedy
from retx.explaining.situation import Situation
from retx.scenarios.units import rate_of

CONNECTIONS = (2, 4)
KINDS = ("bulk", "transfer")


def _propose(situation: Situation) -> list[Change]:
    app = situation.flow["app"]
    if app["kind"] not in KINDS or situation.flow["count"] != 1:
        return []
    changes = []
    for count in CONNECTIONS:
        overrides: dict[str, Any] = {f"{situation.flow_key}.count": count}
        if app["kind"] == "transfer":
            whole = app["bytes"]
            if not isinstance(whole, int) or whole < count * situation.mss:
                continue
            overrides[f"{situation.flow_key}.app.bytes"] = -(-whole // count)
        read = situation.flow.get("read_rate")
        if read:
            # One program reads from all connections, so they share its rate.
            overrides[f"{situation.flow_key}.read_rate"] = f"{rate_of(read) / count:.0f} bit/s"
        changes.append(
            Change(
                overrides,
                f"{count} connections at once, each with its part",
                (
                    f"in the application: {count} connections with ranges of the data, such as "
                    f"aria2c -x {count}, lftp pget -n {count}, iperf3 -P {count}",
                ),
                str(count),
            )
        )
    return changes


REMEDIES = (
    Remedy(
        "parallel",
        ("receive_window", "send_buffer", "slow_start", *LOSSES),
        _propose,
        "Takes from other flows what they would have had.",
        where="application",
    ),
)
