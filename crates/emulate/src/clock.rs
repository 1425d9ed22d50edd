//! The clock of a run: nanoseconds since its beginning, by a clock that all processes share.

use nix::time::{ClockId, clock_gettime};
use retx_units::Time;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Tells the time of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// The beginning of the run, in nanoseconds of `CLOCK_MONOTONIC`.
    epoch: u64,
}

impl Clock {
    /// A run that begins so much later than now.
    pub fn beginning_in(wait: Duration) -> Self {
        Self { epoch: monotonic() + wait.as_nanos() as u64 }
    }

    /// The time in the run; zero before its beginning.
    pub fn now(self) -> Time {
        Time::from_nanos(monotonic().saturating_sub(self.epoch))
    }

    /// The time in the run of an instant on the clock of the day.
    pub fn of_real_time(self, real: Duration) -> Time {
        // The difference of the two clocks, read as close together as can be.
        let before = monotonic();
        let difference = nanos(ClockId::CLOCK_REALTIME) - (before + monotonic()) / 2;
        let since_start = real.as_nanos() as u64 - difference;
        Time::from_nanos(since_start.saturating_sub(self.epoch))
    }

    /// Sleeps until `time`, or a little longer.
    pub fn sleep_until(self, time: Time) {
        loop {
            let left = (self.epoch + time.as_nanos()).saturating_sub(monotonic());
            if left == 0 {
                return;
            }
            std::thread::sleep(Duration::from_nanos(left));
        }
    }
}

fn monotonic() -> u64 {
    nanos(ClockId::CLOCK_MONOTONIC)
}

fn nanos(clock: ClockId) -> u64 {
    let now = clock_gettime(clock).expect("Linux has these clocks");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}
