//! What a pipe tells about itself.

use retx_units::Duration;

/// Packets dropped, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drops {
    /// Turned away by a full queue.
    pub queue: u64,
    /// Lost to errors of the medium.
    pub channel: u64,
    /// Lost because a script said so.
    pub script: u64,
}

impl Drops {
    /// All of them.
    pub const fn total(&self) -> u64 {
        self.queue + self.channel + self.script
    }
}

/// A pipe's counters at some instant, all counted from the beginning of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets that arrived at the near end.
    pub packets_in: u64,
    /// Packets that left at the far end.
    pub packets_delivered: u64,
    /// Packets dropped.
    pub drops: Drops,
    /// Packets waiting for the transmitter.
    pub queued: u64,
    /// Packets in transmission or on their way.
    pub in_air: u64,
    /// Time that all packets together have waited, in nanoseconds. Over a time interval this gives
    /// the mean queue (Little's law).
    pub waited: u128,
    /// Time spent transmitting.
    pub busy: Duration,
    /// The longest queue, in packets.
    pub queue_max: u64,
}

impl Statistics {
    /// packets in = delivered + dropped + queued + in the air.
    pub const fn is_conserved(&self) -> bool {
        self.packets_in == self.packets_delivered + self.drops.total() + self.queued + self.in_air
    }
}
