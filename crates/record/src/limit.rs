//! Limits of a flow, and spans of time under them.

use crate::reason::Cause;
use retx_units::Time;

/// Limit of a flow: the reason why it does not send more. The variants are in the order of the keys
/// of `limited_by`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum FlowLimit {
    /// The connection is not established yet.
    Handshake,
    /// The application has no data to send.
    #[default]
    Application,
    /// The send buffer is full, and all data in it have been sent.
    SendBuffer,
    /// The peer's advertised window is full or closed.
    ReceiveWindow,
    /// The bottleneck link: the data in flight keep it busy.
    Bottleneck,
    /// Congestion window that has not been reduced yet.
    SlowStart,
    /// Congestion window after a reduction with this cause.
    Window(Cause),
    /// Fast recovery with this cause.
    Recovery(Cause),
    /// Wait for the retransmission timer, with this cause.
    Timeout(Cause),
    /// Pacing delay of the next segment.
    Pacing,
    /// Nagle's algorithm or a cork.
    Nagle,
    /// Acknowledgment delayed by the peer.
    DelayedAck,
}

/// Number of limits; a limit with a cause is counted once for each cause.
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

    /// True for limits by the congestion window, whether reduced or not, and for fast recovery.
    pub(crate) const fn is_congestion_window(self) -> bool {
        matches!(self, Self::SlowStart | Self::Window(_) | Self::Recovery(_))
    }

    /// True if an acknowledgment can end this limit.
    pub(crate) const fn waits_for_ack(self) -> bool {
        matches!(self, Self::SlowStart | Self::Window(_) | Self::Recovery(_) | Self::Nagle)
    }
}

impl FlowLimit {
    /// Key in `limited_by`; a cause follows after a full stop.
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

    /// The limit with the cause `to` if its cause is `from`; otherwise unchanged.
    pub(crate) fn with_corrected_cause(self, from: Cause, to: Cause) -> Self {
        match self {
            Self::Window(cause) if cause == from => Self::Window(to),
            Self::Recovery(cause) if cause == from => Self::Recovery(to),
            Self::Timeout(cause) if cause == from => Self::Timeout(to),
            other => other,
        }
    }
}

/// Span of time under one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitedSpan {
    /// Start of the span.
    pub start: Time,
    /// End of the span.
    pub end: Time,
    /// Limit in force.
    pub limit: FlowLimit,
}
