//! Drops: where, when and why a packet left the network before its end.

use retx_link::channel::Reason;
use retx_record::capture::DropReason;
use retx_record::reason::Cause;
use retx_units::Time;

/// Why a packet left the network before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drop {
    /// When.
    pub at: Time,
    /// Index of the place: a pipe's, or behind them that of a place of another stage.
    pub place: u32,
    /// Why.
    pub reason: DropReason,
    /// What it makes of an episode.
    pub cause: Cause,
}

impl Drop {
    /// Turned away by a full queue.
    pub const fn by_queue(at: Time, place: u32) -> Self {
        Self { at, place, reason: DropReason::Queue, cause: Cause::Congestion }
    }

    /// An acknowledgment that a relay has absorbed.
    pub const fn by_relay(at: Time, place: u32) -> Self {
        Self { at, place, reason: DropReason::Suppressed, cause: Cause::Wireless }
    }

    /// Lost by a channel, or given up by a link.
    pub const fn by_channel(at: Time, place: u32, reason: Reason) -> Self {
        let (reason, cause) = match reason {
            Reason::RetryLimit => (DropReason::RetryLimit, Cause::Wireless),
            Reason::Channel => (DropReason::Channel, Cause::Wireless),
            Reason::Script { as_congestion: false } => (DropReason::Script, Cause::Wireless),
            Reason::Script { as_congestion: true } => (DropReason::Script, Cause::Congestion),
        };
        Self { at, place, reason, cause }
    }
}
