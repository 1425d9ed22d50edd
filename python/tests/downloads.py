"""A download over a path with known properties, for tests of fits."""

from __future__ import annotations

from typing import Any

RATE, ROUND_TRIP, QUEUE = 8e6, 0.0402, 40


def scenario(**last: Any) -> dict[str, Any]:
    return {
        "duration": "100 s",
        "seed": 3,
        "link": [
            {
                "name": "first",
                "ends": ["server", "router"],
                "rate": "1 Gbit/s",
                "delay": "0.1 ms",
            },
            {
                "name": "last",
                "ends": ["router", "client"],
                "rate": "8 Mbit/s",
                "delay": "20 ms",
                "queue": {"discipline": "droptail", "packets": QUEUE},
                **last,
            },
        ],
        "flow": [
            {
                "name": "download",
                "from": "server",
                "to": "client",
                "tcp": "linux",
                "app": {"kind": "transfer", "bytes": 3_000_000},
            }
        ],
    }
