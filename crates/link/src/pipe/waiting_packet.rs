//! Packets that wait for a transmitter.

use retx_units::Time;

/// Packet that waits for the transmitter.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WaitingPacket {
    /// Start of the packet's transmission.
    pub start: Time,
    pub bytes: u32,
    /// Waiting time in nanoseconds if the packet passed ahead of time; otherwise 0.
    pub ahead_wait_ns: u32,
}

impl WaitingPacket {
    /// True if the packet arrived before `now`; always true of a packet that did not pass ahead of
    /// time.
    pub fn arrived_before(&self, now: Time) -> bool {
        self.ahead_wait_ns == 0 || self.arrival() < now
    }

    /// Arrival of the packet if it passed ahead of time; otherwise a time at which it has arrived.
    pub const fn arrival(&self) -> Time {
        match self.ahead_wait_ns {
            0 => Time::ZERO,
            wait => Time::from_nanos(self.start.as_nanos() - wait as u64),
        }
    }
}
