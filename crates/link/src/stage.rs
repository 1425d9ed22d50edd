//! What all stages share: a packet as they see it, and what they say of it.
//!
//! A stage is what packets pass between nodes: a direction of a link ([`crate::pipe`]), a cell of
//! stations ([`crate::wlan`]). All have the same verbs: `handle_packet`, `poll_transmit`,
//! `poll_timeout`, `handle_timeout`. None calls another; who drives them moves packets on.

use crate::frame::{Frame, Reason};
use retx_units::{Duration, Time};

/// A packet as a stage sees it.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// What the caller calls it.
    pub id: u32,
    /// What the channel may know of it; `bytes` are those of the IP packet.
    pub frame: Frame,
    /// A queue can mark it instead of dropping it: its ECN field says ECT or CE (RFC 3168 §5).
    pub ecn_capable: bool,
}

/// What became of a packet that wanted to enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Entry {
    /// It is in the stage.
    Accepted,
    /// It is in the stage, and so is a copy of it, for which the caller has to find a name at once
    /// (`add_copy`).
    AcceptedTwice,
    /// The queue turned it away.
    QueueFull,
}

/// A packet that leaves a stage, or to which something else happens in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// Where its way through the stage leads.
    Delivered {
        /// What the caller called it.
        id: u32,
    },
    /// Into nothing: a channel lost it, or a link gave it up.
    Lost {
        /// What the caller called it.
        id: u32,
        /// When its transmission ended.
        at: Time,
        /// What the loss counts as.
        reason: Reason,
    },
    /// Into nothing: it has waited, and the queue drops it.
    Dropped {
        /// What the caller called it.
        id: u32,
        /// When.
        at: Time,
    },
    /// It stays in the stage: the queue has marked it, congestion experienced.
    Marked {
        /// What the caller called it.
        id: u32,
    },
    /// It stays in the stage, and so does a copy of it, for which the caller has to find a name at
    /// once (`add_copy`).
    Copied {
        /// What the caller called it.
        id: u32,
    },
}

impl Departure {
    /// What the caller called the packet.
    pub const fn id(&self) -> u32 {
        let (Self::Delivered { id }
        | Self::Lost { id, .. }
        | Self::Dropped { id, .. }
        | Self::Marked { id }
        | Self::Copied { id }) = *self;
        id
    }
}

/// An instant that no delay can carry past the end of time.
#[inline]
pub(crate) fn later(time: Time, by: Duration) -> Time {
    Time::from_nanos(time.as_nanos().saturating_add(by.as_nanos()))
}

/// The sum of two delays, which may each be as long as they like.
#[inline]
pub(crate) fn later_by(a: Duration, b: Duration) -> Duration {
    Duration::from_nanos(a.as_nanos().saturating_add(b.as_nanos()))
}
