//! Whose turn comes when at a transmitter.

use retx_units::Time;

/// A packet that waits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turn {
    /// When its transmission starts.
    pub start: Time,
    pub bytes: u32,
    /// How long it waits until then, in nanoseconds, if that was known before it came; else 0.
    pub early: u32,
}

impl Turn {
    /// When it came, or some time since when it has been here.
    pub const fn arrival(&self) -> Time {
        match self.early {
            0 => Time::ZERO,
            wait => Time::from_nanos(self.start.as_nanos() - wait as u64),
        }
    }
}
