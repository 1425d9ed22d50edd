//! Types shared by all stages: packets, and the outcome of entering and leaving.
//!
//! Packets cross stages on their way between nodes: a direction of a link ([`crate::pipe`]) or a
//! cell of stations ([`crate::wlan`]). All have the same methods: `handle_packet`, `poll_transmit`,
//! `poll_timeout`, `handle_timeout`. No stage calls another; the engine moves packets between them.

use crate::frame::{Frame, Reason};
use retx_units::{Duration, Time};

/// Packet as a stage sees it.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// The caller's id of the packet.
    pub id: u32,
    /// Properties visible to the channel; `bytes` is the length of the IP packet.
    pub frame: Frame,
    /// True if its ECN field is ECT or CE (RFC 3168 §5): a queue can mark it instead of dropping
    /// it.
    pub ecn_capable: bool,
}

/// Outcome of entering a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Entry {
    /// Accepted.
    Accepted,
    /// Accepted and duplicated: the caller must assign an id to the copy at once (`add_copy`).
    AcceptedTwice,
    /// Dropped by the queue.
    QueueFull,
}

/// Packet that leaves a stage, or another event that concerns a packet in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// Delivered at the end of its path through the stage.
    Delivered {
        /// The caller's id of the packet.
        id: u32,
    },
    /// Lost by a channel, or given up by a link.
    Lost {
        /// The caller's id of the packet.
        id: u32,
        /// End of its transmission.
        at: Time,
        /// Reason of the loss.
        reason: Reason,
    },
    /// Dropped by the queue after waiting.
    Dropped {
        /// The caller's id of the packet.
        id: u32,
        /// Time of the drop.
        at: Time,
    },
    /// Marked by the queue with congestion experienced; the packet stays in the stage.
    Marked {
        /// The caller's id of the packet.
        id: u32,
    },
    /// Duplicated; the packet stays in the stage, and the caller must assign an id to the copy at
    /// once (`add_copy`).
    Copied {
        /// The caller's id of the packet.
        id: u32,
    },
}

impl Departure {
    /// The caller's id of the packet.
    pub const fn id(&self) -> u32 {
        let (Self::Delivered { id }
        | Self::Lost { id, .. }
        | Self::Dropped { id, .. }
        | Self::Marked { id }
        | Self::Copied { id }) = *self;
        id
    }
}

/// `time + by`, saturating at the end of time.
#[inline]
pub(crate) fn later(time: Time, by: Duration) -> Time {
    Time::from_nanos(time.as_nanos().saturating_add(by.as_nanos()))
}

/// `a + b`, saturating.
#[inline]
pub(crate) fn later_by(a: Duration, b: Duration) -> Duration {
    Duration::from_nanos(a.as_nanos().saturating_add(b.as_nanos()))
}
