//! Limits of a flow, and stretches of time under them.

use crate::reason::Cause;
use retx_units::Time;

/// Limit of a flow. The order is that of the shares in a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum FlowLimit {
    /// Connection not established yet.
    Handshake,
    /// No data to send.
    #[default]
    Application,
    /// Send buffer full, and all of it sent.
    SendBuffer,
    /// Peer's window full or closed.
    ReceiveWindow,
    /// Link: the data in flight kept its queue from emptying.
    Bottleneck,
    /// Congestion window that was never reduced.
    SlowStart,
    /// Congestion window after a reduction with this cause.
    Window(Cause),
    /// Fast recovery with this cause.
    Recovery(Cause),
    /// Silence until the retransmission timer, with this cause.
    Timeout(Cause),
    /// Pacing delay of the next segment.
    Pacing,
    /// Nagle's algorithm or a cork.
    Nagle,
    /// Acknowledgment delayed by the peer.
    DelayedAck,
}

/// Number of limits, with each cause counted.
pub(crate) const COUNT: usize = 18;

impl FlowLimit {
    /// Index in [`Self::KEYS`].
    pub const fn index(self) -> usize {
        match self {
            Self::Handshake => 0,
            Self::Application => 1,
            Self::SendBuffer => 2,
            Self::ReceiveWindow => 3,
            Self::Bottleneck => 4,
            Self::SlowStart => 5,
            Self::Window(cause) => 6 + cause as usize,
            Self::Recovery(cause) => 9 + cause as usize,
            Self::Timeout(cause) => 12 + cause as usize,
            Self::Pacing => 15,
            Self::Nagle => 16,
            Self::DelayedAck => 17,
        }
    }

    /// True for the congestion window, reduced or not, and in a recovery.
    pub(crate) const fn is_congestion_window(self) -> bool {
        matches!(self, Self::SlowStart | Self::Window(_) | Self::Recovery(_))
    }

    /// True if an acknowledgment can end it.
    pub(crate) const fn waits_for_ack(self) -> bool {
        matches!(self, Self::SlowStart | Self::Window(_) | Self::Recovery(_) | Self::Nagle)
    }
}

impl FlowLimit {
    /// Key in `limited_by`; a cause follows a full stop.
    pub const fn key(self) -> &'static str {
        Self::KEYS[self.index()]
    }

    /// Keys of all limits, in order.
    pub const KEYS: [&'static str; COUNT] = [
        "handshake",
        "application",
        "send_buffer",
        "receive_window",
        "bottleneck",
        "slow_start",
        "window.congestion",
        "window.wireless",
        "window.spurious",
        "recovery.congestion",
        "recovery.wireless",
        "recovery.spurious",
        "timeout.congestion",
        "timeout.wireless",
        "timeout.spurious",
        "pacing",
        "nagle",
        "delayed_ack",
    ];

    /// The limit with another cause, if it has the cause `from`.
    pub(crate) fn corrected(self, from: Cause, to: Cause) -> Self {
        match self {
            Self::Window(cause) if cause == from => Self::Window(to),
            Self::Recovery(cause) if cause == from => Self::Recovery(to),
            Self::Timeout(cause) if cause == from => Self::Timeout(to),
            other => other,
        }
    }
}

/// Stretch of time under one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitedSpan {
    /// Start of the stretch.
    pub start: Time,
    /// End of the stretch.
    pub end: Time,
    /// Limit in force.
    pub limit: FlowLimit,
}
