"""One connection for all requests, instead of one connection for each request."""

from __future__ import annotations

from retx.explaining.remedy import LOSSES, Change, Remedy
from retx.explaining.situation import Situation
from retx.scenarios.units import seconds_of


def _propose(situation: Situation) -> list[Change]:
    app = situation.flow["app"]
    if app["kind"] == "ftp":
        return _one_transfer(situation)
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


def _one_transfer(situation: Situation) -> list[Change]:
    """All files over one connection; no change if there are pauses or if sizes are drawn."""
    app = situation.flow["app"]
    files, length = app.get("files"), app.get("bytes")
    if not isinstance(files, int) or not isinstance(length, int) or files < 2:
        return []
    if seconds_of(str(app.get("pause", "0 s"))) > 0:
        return []
    return [
        Change(
            {f"{situation.flow_key}.app": {"kind": "transfer", "bytes": files * length}},
            f"one connection for all {files} files",
            (
                "in the application: one archive or stream, such as tar cf - DIR | ssh HOST tar xf "
                "-, or a protocol that keeps its connection (rsync, sftp, HTTP keep-alive)",
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
