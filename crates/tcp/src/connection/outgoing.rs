//! What a connection has to send.

use retx_wire::{Ecn, PlainSegment, Segment};

/// A segment to send, and what it carries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transmit {
    /// The segment.
    pub segment: Segment,
    /// The ECN field of the IP header that it goes with.
    pub ecn: Ecn,
    /// Position of its first sequence number: SYN 0, first byte of data 1.
    pub position: u64,
    /// True when some of its sequence space has been sent before.
    pub retransmission: bool,
}

/// A segment to send of which none of the sequence space was sent before, that carries no options,
/// and goes without ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainTransmit {
    /// The segment.
    pub segment: PlainSegment,
    /// Position of its first sequence number.
    pub position: u64,
}

impl PlainTransmit {
    /// The same as any segment to send.
    pub fn transmit(&self) -> Transmit {
        Transmit {
            segment: self.segment.segment(),
            ecn: Ecn::NotEct,
            position: self.position,
            retransmission: false,
        }
    }
}

/// What there is to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polled {
    /// Nothing now.
    Nothing,
    /// A plain segment, which is not written down.
    Plain(PlainTransmit),
    /// A segment, which is written where the caller said.
    Written,
}
