//! Clock of Linux: ticks of 4 ms (HZ = 250, as in the presets of Linux).

use retx_units::{Duration, Time};

/// Ticks per second.
pub(crate) const HZ: u64 = 250;
const TICK: Duration = Duration::from_millis(1000 / HZ);

/// Ticks since the start (`jiffies`).
pub(crate) fn from_time(time: Time) -> u64 {
    time.since(Time::ZERO).as_nanos() / TICK.as_nanos()
}

/// Length in ticks, rounded up (`usecs_to_jiffies`, `msecs_to_jiffies`).
pub(crate) fn from_duration(length: Duration) -> u64 {
    length.as_nanos().div_ceil(TICK.as_nanos())
}
