"""A congestion window without a clamp, and without an initial ssthresh from a cache."""

from __future__ import annotations

from retx.explaining.remedy import Change, Remedy
from retx.explaining.situation import Situation


def _clamp(situation: Situation) -> list[Change]:
    if situation.window("max_cwnd") is None:
        return []
    return [
        Change(
            {f"{situation.tcp_key}.max_cwnd": "none"},
            "a congestion window without a clamp",
            (
                "at the sender: ip route show, and where a route has cwnd lock: ip route change "
                "PREFIX via GATEWAY, without cwnd",
                "for one program: no TCP_WINDOW_CLAMP at the receiver, and no BPF program that "
                "sets TCP_BPF_SNDCWND_CLAMP at the sender",
            ),
        )
    ]


def _ssthresh(situation: Situation) -> list[Change]:
    if situation.window("initial_ssthresh") is None:
        return []
    return [
        Change(
            {f"{situation.tcp_key}.initial_ssthresh": "none"},
            "slow start without a first ssthresh",
            (
                "at the sender, where Linux keeps the ssthresh of an earlier connection: ip "
                "tcp_metrics flush; sysctl -w net.ipv4.tcp_no_ssthresh_metrics_save=1",
                "where a route has ssthresh: ip route change PREFIX via GATEWAY, without ssthresh",
            ),
        )
    ]


REMEDIES = (
    Remedy(
        "no_clamp",
        ("slow_start", "window", "bottleneck"),
        _clamp,
        "A window larger than the path's product fills the queue.",
        undoes=True,
    ),
    Remedy(
        "no_ssthresh",
        ("slow_start", "window"),
        _ssthresh,
        "Slow start ends by losses where the queue is short.",
        undoes=True,
    ),
)
