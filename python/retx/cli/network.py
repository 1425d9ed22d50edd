"""Tables of the wlans and relays of a run, printed as text."""

from __future__ import annotations

from typing import Any

from retx.cli.tables import Table, plain, shortened
from retx.terminal.quantities import count, share, size


def wlans_table(wlans: list[dict[str, Any]]) -> Table:
    """Table of the packets and frames of each station."""
    marks = any(wlan["packets_marked"] for wlan in wlans)
    columns = (
        "Wlan", "station", ">packets", ">lost: queue", ">retry limit",
        *([">marked"] if marks else []), ">frames", ">in error",
        ">collided", ">error burst", ">max", ">airtime",
    )  # fmt: skip
    made = Table("", *columns)
    rows = _stations(wlans)

    def add(row: tuple[str, str, dict[str, Any]]) -> None:
        name, station, counts = row
        frames = counts["frames_sent"]
        mean = counts["error_burst_mean"]
        made.add_row(
            plain(name),
            plain(station),
            count(counts["packets_in"]),
            count(counts["drops"]["queue"]),
            count(counts["drops"]["retry_limit"]),
            *([count(counts["packets_marked"])] if marks else []),
            count(frames),
            "" if frames == 0 else share(counts["frame_error_rate"]),
            "" if frames == 0 else share(counts["frames_collided"] / frames),
            "" if mean is None else f"{mean:.3g}",
            count(counts["error_burst_max"]),
            share(counts["airtime_share"]),
        )

    return shortened(made, rows, add)


def relays_table(relays: list[dict[str, Any]]) -> Table:
    """Table of the relays: segments resent, ACKs absorbed and marked, buffer."""
    columns = (
        "Relay", "kind", "node", ">resent", ">ACKs absorbed", ">marked", ">relayed",
        ">buffer mean", ">max",
    )  # fmt: skip
    made = Table("", *columns)

    def add(relay: dict[str, Any]) -> None:
        split = relay["kind"] == "split"
        resent = relay["retransmissions_by_acks"] + relay["retransmissions_by_timer"]
        counts = (resent, relay["acks_suppressed"], relay["acks_marked"])
        made.add_row(
            plain(relay["name"]),
            relay["kind"],
            plain(relay["node"]),
            *("" if split else count(it) for it in counts),
            size(relay["bytes_relayed"]) if split else "",
            size(relay["buffer_mean_bytes"]),
            size(relay["buffer_max_bytes"]),
        )

    return shortened(made, relays, add)


def _stations(wlans: list[dict[str, Any]]) -> list[tuple[str, str, dict[str, Any]]]:
    """Wlan, station and counters of each station; the totals of a wlan follow its stations."""
    rows = []
    for wlan in wlans:
        rows += [(wlan["name"], station["name"], station) for station in wlan["stations"]]
        rows.append((wlan["name"], "all", wlan))
    return rows


def airtime_table(wlans: list[dict[str, Any]]) -> Table:
    """Table of the shares of airtime by use."""
    kinds = ("data", "erroneous", "collided", "ack", "rts_cts")
    made = Table(
        "Time on the air", "Wlan", "station", ">attempts", ">max", ">lost burst", ">max",
        ">data", ">in error", ">collided", ">ACK", ">RTS, CTS", ">idle",
    )  # fmt: skip

    def add(row: tuple[str, str, dict[str, Any]]) -> None:
        name, station, counts = row
        mean = {key: counts[f"{key}_mean"] for key in ("attempts", "loss_burst")}
        text = {key: "" if value is None else f"{value:.3g}" for key, value in mean.items()}
        made.add_row(
            plain(name),
            plain(station),
            text["attempts"],
            count(counts["attempts_max"]),
            text["loss_burst"],
            count(counts["loss_burst_max"]),
            *(share(counts["airtime"][kind]) for kind in kinds),
            share(counts["idle_share"]) if "idle_share" in counts else "",
        )

    return shortened(made, _stations(wlans), add)
