"""Receive and send buffers as large as the path's bandwidth-delay product."""

from __future__ import annotations

from math import ceil
from typing import Any

from retx.explaining.remedy import Change, Remedy
from retx.explaining.situation import Situation
from retx.scenarios.units import power_of_two
from retx.terminal.quantities import size

LEAST = 1 << 18
RECEIVE_DEFAULT, SEND_DEFAULT = 33_554_432, 4_194_304
"""Default maximum sizes of buffers in Linux 6.18. A remedy does not set lower maxima, because these
would restrict other connections.
"""
ROOM = 4
"""Size of a larger buffer, as a multiple of the bandwidth-delay product. It leaves room for a queue
and retransmissions.
"""


def _sizes(situation: Situation) -> list[int]:
    product = situation.path.product_bytes
    sizes = {max(power_of_two(product), LEAST), max(power_of_two(ROOM * product), LEAST)}
    return sorted(sizes)


def _receive(situation: Situation) -> list[Change]:
    tcp, key = situation.tcp, situation.tcp_key
    changes = []
    for wanted in _sizes(situation):
        overrides: dict[str, Any] = {f"{key}.receive_buffer": wanted}
        if situation.window("receive_autotuning") is not None:
            overrides[f"{key}.receive_autotuning"] = 2 * wanted
        if situation.window("advertised_window") is not None:
            overrides[f"{key}.advertised_window"] = "none"
        if not tcp["window_scaling"]:
            overrides[f"{key}.window_scaling"] = True
        if (situation.window("receive_buffer") or 0) >= wanted and len(overrides) == 1:
            continue
        text = f"a receive buffer of {size(wanted)} at the receiver"
        apply = (
            f"at the receiver: sysctl -w net.ipv4.tcp_rmem="
            f'"4096 131072 {max(2 * wanted, RECEIVE_DEFAULT)}", and no SO_RCVBUF in the program',
            f"for programs that keep SO_RCVBUF: setsockopt(fd, SOL_SOCKET, SO_RCVBUF, {wanted}) "
            f"before connect() or listen(), with at least sysctl -w net.core.rmem_max={wanted}",
            "sysctl -w net.ipv4.tcp_window_scaling=1, which is the default",
        )
        changes.append(Change(overrides, text, apply, size(wanted)))
    return changes


def _send(situation: Situation) -> list[Change]:
    key = situation.tcp_key
    changes = []
    for wanted in _sizes(situation):
        overrides: dict[str, Any] = {f"{key}.send_buffer": wanted}
        if situation.window("send_autotuning") is not None:
            overrides[f"{key}.send_autotuning"] = 2 * wanted
        elif (situation.window("send_buffer") or 0) >= wanted:
            continue
        text = f"a send buffer of {size(wanted)} at the sender"
        apply = (
            f"at the sender: sysctl -w net.ipv4.tcp_wmem="
            f'"4096 16384 {max(2 * wanted, SEND_DEFAULT)}", and no SO_SNDBUF in the program',
            f"for programs that keep SO_SNDBUF: setsockopt(fd, SOL_SOCKET, SO_SNDBUF, {wanted}), "
            f"with at least sysctl -w net.core.wmem_max={wanted}",
        )
        changes.append(Change(overrides, text, apply, size(wanted)))
    return changes


def _exact_receive(situation: Situation) -> list[Change]:
    """Receive buffer of one bandwidth-delay product; a larger window would overflow the queue."""
    wanted, key = ceil(situation.path.product_bytes), situation.tcp_key
    now = situation.window("receive_buffer")
    if now is None or not 0 < now < wanted < LEAST:
        return []
    if any(
        situation.window(name) is not None for name in ("receive_autotuning", "advertised_window")
    ):
        return []
    return [
        Change(
            {f"{key}.receive_buffer": wanted},
            f"a receive buffer of {size(wanted)} (one bandwidth-delay product) at the receiver",
            (
                f"in the receiving program: setsockopt(fd, SOL_SOCKET, SO_RCVBUF, {wanted}) before "
                f"connect() or listen(), with at least sysctl -w net.core.rmem_max={wanted}",
            ),
            size(wanted),
        )
    ]


def _both(situation: Situation) -> list[Change]:
    """Both buffers together, if enlarging one of them would leave the other as the limit."""
    send, receive = situation.window("send_buffer"), situation.window("receive_buffer")
    product = situation.path.product_bytes
    if send is None or receive is None or max(send, receive) >= product:
        return []
    of_send = {change.tag: change for change in _send(situation)}
    return [
        Change(
            {**change.overrides, **of_send[change.tag].overrides},
            f"receive and send buffers of {change.tag}",
            (
                f"{change.apply[0]}; {of_send[change.tag].apply[0]}",
                *change.apply[1:],
                *of_send[change.tag].apply[1:],
            ),
            change.tag,
        )
        for change in _receive(situation)
        if change.tag in of_send
    ]


REMEDIES = (
    Remedy(
        "receive_buffer",
        ("receive_window",),
        lambda situation: [*_receive(situation), *_exact_receive(situation)],
        "Memory at the receiver; a window larger than the path's product fills the queue.",
    ),
    Remedy(
        "send_buffer",
        ("send_buffer",),
        _send,
        "Memory at the sender; data wait longer in the socket.",
    ),
    Remedy(
        "both_buffers",
        ("receive_window", "send_buffer"),
        _both,
        "Memory at both ends; a window larger than the path's product fills the queue.",
    ),
)
