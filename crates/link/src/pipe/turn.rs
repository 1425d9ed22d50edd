//! Packets that wait for a transmitter.

use retx_units::Time;

/// Packet that waits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turn {
    /// Start of its transmission.
    pub start: Time,
    pub bytes: u32,
    /// Waiting time in nanoseconds, if it was computed before the packet arrived; otherwise 0.
    pub early: u32,
}

impl Turn {
    /// Arrival of the packet, or a later time at which it had arrived.
    pub const fn arrival(&self) -> Time {
        match self.early {
            0 => Time::ZERO,
            wait => Time::from_nanos(self.start.as_nanos() - wait as u64),
        }
    }
}
