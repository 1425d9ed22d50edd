"""Current Linux at the sender: its loss detection, timers and undo, or its whole TCP."""

from __future__ import annotations

from functools import cache
from typing import Any

from retx.explaining.remedies.congestion_control import use_command
from retx.explaining.remedy import LOSSES, Change, Propose, Remedy
from retx.explaining.situation import Situation

TIMERS = (
    "loss_detection", "rto", "backoff", "spurious", "limited_transmit", "sack", "timestamps",
    "initial_rto", "min_rto", "max_rto", "rtt_samples", "lost_syn",
)  # fmt: skip
WHOLE = (
    *TIMERS, "congestion_control", "initial_window", "slow_start_after_idle", "idle_restart",
    "cwnd_validation", "pacing", "delayed_ack",
)  # fmt: skip
"""Keys of a whole stack, except its buffers, for which there is a separate remedy."""
DEFAULTS = (
    "sysctl -w net.ipv4.tcp_sack=1 net.ipv4.tcp_timestamps=1 net.ipv4.tcp_recovery=1 "
    "net.ipv4.tcp_early_retrans=3 net.ipv4.tcp_frto=2"
)


@cache
def _preset(name: str) -> dict[str, Any]:
    """All values of a preset."""
    from retx.scenarios.parsed import resolve

    link = {"name": "l", "ends": ["a", "b"], "rate": "1 Mbit/s", "delay": "1 ms"}
    flow = {"name": "f", "from": "a", "to": "b", "tcp": name, "app": "bulk"}
    resolved = resolve({"duration": "1 s", "link": [link], "flow": [flow]})
    found: dict[str, Any] = resolved["tcp"][name]
    return found


def _propose(preset: str, keys: tuple[str, ...], text: str, apply: tuple[str, ...]) -> Propose:
    def changes(situation: Situation) -> list[Change]:
        wanted = _preset(preset)
        differing = {
            f"{situation.tcp_key}.{key}": wanted[key]
            for key in keys
            if situation.tcp.get(key) != wanted.get(key) and key in wanted
        }
        # A change of only the congestion control is a remedy of its own.
        alone = {f"{situation.tcp_key}.{key}" for key in ("congestion_control", "pacing")}
        return [Change(differing, text, apply)] if differing.keys() - alone else []

    return changes


def _control(module: str) -> tuple[str, ...]:
    return (
        f"at the sender, a Linux kernel: {use_command(module)}",
        f"with its default settings: {DEFAULTS}",
    )


REMEDIES = (
    Remedy(
        "linux_timers",
        (*LOSSES, "handshake"),
        _propose(
            "linux",
            TIMERS,
            "loss detection, timers and undo of Linux 6.18, with the same congestion control",
            (f"at the sender, a Linux kernel with its default settings: {DEFAULTS}",),
        ),
        "None that is known.",
    ),
    Remedy(
        "linux",
        (*LOSSES, "slow_start", "handshake"),
        _propose("linux", WHOLE, "the TCP of Linux 6.18 with CUBIC", _control("cubic")),
        "Other flows may lose or win.",
    ),
    Remedy(
        "linux_bbr",
        (*LOSSES, "slow_start", "handshake"),
        _propose("linux_bbr", WHOLE, "the TCP of Linux 6.18 with BBR", _control("bbr")),
        "Retransmits much in a short queue, and takes more than its share there.",
    ),
)
