"""Base classes for your own decisions: congestion control and the cause of losses.

A scenario names a class by its file, `{ name = "python", file = "aimd.py", class = "Aimd" }`; in
Python the class itself may be given. Each end of a connection that sends data gets its own
instance. The other keys of the table in the scenario are arguments of the constructor. Bytes are
whole numbers, times are in seconds. The Rust traits with the same names have the same methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

from retx._native import Ack, Loss, Sent, UnexplainedLoss, Window
from retx.errors.renamed import accept_attribute

accept_attribute(UnexplainedLoss, "noticed", "notified")


class CongestionControl(ABC):
    """Decides how fast a sender sends, by setting `window.cwnd` and `window.ssthresh`.

    A class need not inherit from this one: `on_ack`, `on_loss` and `on_timeout` are sufficient.
    Loss detection chooses the segments to retransmit. The sender itself inflates the window in fast
    recovery. After each call `cwnd` is clamped to the range from one SMSS to `max_cwnd` (by default
    2^30 bytes), and after a loss or a timeout `ssthresh` to at least two SMSS.
    """

    @abstractmethod
    def on_ack(self, window: Window, ack: Ack) -> None:
        """Handles an acknowledgment of new data outside fast recovery; the window may grow.

        An increase takes effect only if the window limits the sender (`ack.cwnd_limited`,
        `cwnd_validation`).
        """

    @abstractmethod
    def on_loss(self, window: Window, loss: Loss) -> None:
        """Handles a loss found by duplicate or selective ACKs.

        Sets `ssthresh`, and `cwnd` for the time after recovery.
        """

    @abstractmethod
    def on_timeout(self, window: Window, loss: Loss, repeated: bool) -> None:
        """Handles the expiry of the retransmission timer.

        `repeated` is true if the previous timeout was for the same segment; `ssthresh` has then
        been set already (RFC 5681 §3.1).
        """

    def observe(self, ack: Ack, smss: int) -> None:  # noqa: B027
        """Handles every acknowledgment, including those in recovery, before the other methods."""

    def on_sent(self, sent: Sent) -> None:  # noqa: B027
        """Handles transmitted data."""

    def on_recovery_end(self, window: Window, now: float) -> None:  # noqa: B027
        """Handles the end of fast recovery; `cwnd` already has its value for the time after."""

    def on_undo(self, window: Window) -> None:  # noqa: B027
        """Handles the undo of the last reduction, which has turned out to be unnecessary."""

    def pacing_rate(self, window: Window, srtt: float | None) -> float | None:
        """Pacing rate in bit/s.

        A sender whose class has this method paces its segments. A result of None stands for 2 ·
        cwnd/SRTT in slow start and 1.2 · cwnd/SRTT later, as with `pacing = true`.
        """
        return None

    def bandwidth_delay_bytes(self) -> float | None:
        """Bandwidth-delay product for the backoff `reset_if_bdp`; None without an estimate."""
        return None

    def is_overdue(self, now: float) -> bool:
        """Returns true on a duplicate ACK if the first segment in flight is overdue (Vegas)."""
        return False

    def repeats_window(self) -> bool:
        """Returns true after a loss to retransmit all unacknowledged data (bulk repeat)."""
        return False

    def holds_rto(self) -> bool:
        """Returns true at a timeout to suppress the backoff of the timer (Westwood)."""
        return False


class LossCause(ABC):
    """Decides why a segment was lost.

    After "corruption", the segment is retransmitted without a reduction of the window.

    A class need not inherit from this one: `cause` is sufficient.
    """

    @abstractmethod
    def cause(self, loss: UnexplainedLoss) -> Literal["congestion", "corruption"]:
        """Cause of a loss."""

    def on_ack(self, ack: Ack, window: Window) -> None:  # noqa: B027
        """Handles every acknowledgment, including duplicates; `window` is the current one."""

    def on_sent(self, sent: Sent) -> None:  # noqa: B027
        """Handles transmitted data."""
