//! Types shared by all stages: packets, outcomes of their entry, and their departures.
//!
//! Between nodes, packets cross stages: one direction of a link ([`crate::pipe`]), or a cell of
//! stations ([`crate::wlan`]). All stages have the same methods: `handle_packet`, `poll_transmit`,
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
    /// True if the packet's ECN field is ECT or CE (RFC 3168 §5), so that a queue can mark the
    /// packet instead of dropping it.
    pub ecn_capable: bool,
}

/// Outcome of entering a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Entry {
    /// The packet was accepted.
    Accepted,
    /// The packet was accepted and duplicated; the caller must assign an id to the copy at once
    /// (`add_copy`).
    AcceptedTwice,
    /// The queue has dropped the packet.
    QueueFull,
}

/// Departure of a packet from a stage, or another event of a packet in the stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// The packet was delivered at the end of its path through the stage.
    Delivered {
        /// The caller's id of the packet.
        id: u32,
    },
    /// A channel has lost the packet, or the link has given it up.
    Lost {
        /// The caller's id of the packet.
        id: u32,
        /// End of the packet's transmission.
        at: Time,
        /// Reason of the loss.
        reason: Reason,
    },
    /// The queue has dropped the packet after it waited.
    Dropped {
        /// The caller's id of the packet.
        id: u32,
        /// Time of the drop.
        at: Time,
    },
    /// The queue has marked the packet (congestion experienced); the packet stays in the stage.
    Marked {
        /// The caller's id of the packet.
        id: u32,
    },
    /// The packet was duplicated. It stays in the stage, and the caller must assign an id to the
    /// copy at once (`add_copy`).
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

/// `time + by`, saturating at the largest time.
#[inline]
pub(crate) fn later(time: Time, by: Duration) -> Time {
    Time::from_nanos(time.as_nanos().saturating_add(by.as_nanos()))
}

/// `a + b`, saturating.
#[inline]
pub(crate) fn later_by(a: Duration, b: Duration) -> Duration {
    Duration::from_nanos(a.as_nanos().saturating_add(b.as_nanos()))
}
