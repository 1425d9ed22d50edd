"""Decisions of your own: how fast to send (`CongestionControl`), why was it lost (`LossCause`).

A scenario names a class by its file, `{ name = "python", file = "aimd.py", class = "Aimd" }`; from
Python the class itself may stand there. Each end of a connection that sends data gets an instance;
further keys of the scenario's table are arguments of the constructor. Bytes are whole numbers,
times are seconds. The methods are those of the Rust traits of the same names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal, TypeVar

from retx._native import Ack, Loss, Sent, UnexplainedLoss, Window

Class = TypeVar("Class", bound="type[Any]")


class CongestionControl(ABC):
    """Decides how fast to send: sets `window.cwnd` and `window.ssthresh`.

    A class need not inherit from this one to be used: `on_ack`, `on_loss` and `on_timeout` will do.
    Which segments are sent again, and what fast recovery adds to the window, is decided elsewhere.
    After each call `cwnd` is held to one SMSS … `max_cwnd` (2^30 bytes without one), and after a
    loss or a timeout `ssthresh` to two SMSS or more.
    """

    @abstractmethod
    def on_ack(self, window: Window, ack: Ack) -> None:
        """New data were acknowledged, outside fast recovery: the window may grow.

        It does so only while it limits (`ack.cwnd_limited`, `cwnd_validation`), whatever is set.
        """

    @abstractmethod
    def on_loss(self, window: Window, loss: Loss) -> None:
        """Duplicate or selective ACKs found a loss.

        Sets `ssthresh`, and `cwnd` for the time after recovery.
        """

    @abstractmethod
    def on_timeout(self, window: Window, loss: Loss, repeated: bool) -> None:
        """The retransmission timer expired.

        `repeated`: for the same segment as the time before, in which case `ssthresh` has been set
        already (RFC 5681 §3.1).
        """

    def observe(self, ack: Ack, smss: int) -> None:  # noqa: B027
        """Any acknowledgment, duplicates and those during recovery too, before what follows."""

    def on_sent(self, sent: Sent) -> None:  # noqa: B027
        """Data were sent."""

    def on_recovery_end(self, window: Window, now: float) -> None:  # noqa: B027
        """Fast recovery is over; `cwnd` is as it will go on."""

    def on_undo(self, window: Window) -> None:  # noqa: B027
        """The last reduction was wrong and has been taken back."""

    def pacing_rate(self, window: Window, srtt: float | None) -> float | None:
        """The rate at which segments are to leave, in bit/s.

        A class that has this method paces. None: at twice, later 1.2 times, cwnd/SRTT, as with
        `pacing = true`.
        """
        return None

    def bandwidth_delay_bytes(self) -> float | None:
        """Bandwidth-delay product, where it is estimated (for the backoff `reset_if_bdp`)."""
        return None

    def is_overdue(self, now: float) -> bool:
        """On a duplicate ACK: the first segment in flight has been out too long (as in Vegas)."""
        return False

    def repeats_window(self) -> bool:
        """After a loss: send everything unacknowledged once more (as Westwood's bulk repeat)."""
        return False

    def holds_rto(self) -> bool:
        """At a timeout: do not back the timer off (as Westwood's fixed RTO)."""
        return False


class LossCause(ABC):
    """Decides why a segment was lost. "corruption" means: retransmit, and leave the window alone.

    A class need not inherit from this one to be used: `cause` will do.
    """

    @abstractmethod
    def cause(self, loss: UnexplainedLoss) -> Literal["congestion", "corruption"]:
        """The verdict on a loss."""

    def on_ack(self, ack: Ack, window: Window) -> None:  # noqa: B027
        """Any acknowledgment, duplicates too, with the window as it was when it came."""

    def on_sent(self, sent: Sent) -> None:  # noqa: B027
        """Data were sent."""


def congestion_control(cls: Class) -> Class:
    """Checks a class, and lets scenarios of this process name it without its file.

    Raises:
        UsageError: It lacks a method, or one takes other arguments.
    """
    return _registered("congestion_control", cls)


def loss_cause(cls: Class) -> Class:
    """Checks a class, and lets scenarios of this process name it without its file.

    Raises:
        UsageError: It lacks a method, or one takes other arguments.
    """
    return _registered("loss_cause", cls)


def _registered(kind: str, cls: Class) -> Class:
    from retx.errors import UsageError
    from retx.user_code import fault_of, register

    fault = fault_of(kind, cls)
    if fault:
        raise UsageError(fault)
    register(cls)
    return cls
