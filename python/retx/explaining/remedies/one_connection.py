"""One connection for all requests, instead of one for each."""

from __future__ import annotations

from retx.explaining.remedy import LOSSES, Change, Remedy
from retx.explaining.situation import Situation


def _propose(situation: Situation) -> list[Change]:
    app = situation.flow["app"]
    if app["kind"] != "request_response" or app.get("connection") != "each":
        return []
    return [
        Change(
            {f"{situation.flow_key}.app.connection": "one"},
            "one connection that is kept for all requests",
            (
                "in the application: HTTP keep-alive (at the server, nginx: keepalive_timeout 65s; "
                "at a client: a pool of connections), or HTTP/2",
            ),
        )
    ]


REMEDIES = (
    Remedy(
        "one_connection",
        ("handshake", "slow_start", *LOSSES),
        _propose,
        "A connection held open at the server for each client.",
        where="application",
    ),
)
