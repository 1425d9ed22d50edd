//! Drops: place, time and reason of a packet's removal from the network.

use retx_link::channel::Reason;
use retx_record::capture::DropReason;
use retx_record::reason::Cause;
use retx_units::Time;

/// Drop of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketDrop {
    /// Time at which the packet was removed.
    pub at: Time,
    /// Place of the drop: the index of a pipe, or the number of pipes plus the place of another
    /// stage.
    pub place: u32,
    /// Reason of the drop, as written in tables.
    pub reason: DropReason,
    /// Cause of an episode (recovery of the sender) that this drop triggers.
    pub cause: Cause,
}

impl PacketDrop {
    /// Drop by a full queue.
    pub const fn by_queue(at: Time, place: u32) -> Self {
        Self { at, place, reason: DropReason::Queue, cause: Cause::Congestion }
    }

    /// Acknowledgment absorbed by a relay.
    pub const fn by_relay(at: Time, place: u32) -> Self {
        Self { at, place, reason: DropReason::Suppressed, cause: Cause::Wireless }
    }

    /// Loss by a channel, or drop by a link after the last retry.
    pub const fn by_channel(at: Time, place: u32, reason: Reason) -> Self {
        let (reason, cause) = match reason {
            Reason::RetryLimit => (DropReason::RetryLimit, Cause::Wireless),
            Reason::Channel => (DropReason::Channel, Cause::Wireless),
            Reason::Policer => (DropReason::Channel, Cause::Congestion),
            Reason::Script { as_congestion: false } => (DropReason::Script, Cause::Wireless),
            Reason::Script { as_congestion: true } => (DropReason::Script, Cause::Congestion),
        };
        Self { at, place, reason, cause }
    }
}
