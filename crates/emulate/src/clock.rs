//! Clock of a run: nanoseconds since its start, on a system clock that all processes share.

use nix::time::{ClockId, clock_gettime};
use retx_units::Time;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Clock of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// Start of the run, in nanoseconds of `CLOCK_MONOTONIC`.
    epoch: u64,
}

impl Clock {
    /// Creates the clock of a run that starts after `wait`.
    pub fn starting_after(wait: Duration) -> Self {
        Self { epoch: monotonic() + wait.as_nanos() as u64 }
    }

    /// Time since the start of the run; zero before it.
    pub fn now(self) -> Time {
        Time::from_nanos(monotonic().saturating_sub(self.epoch))
    }

    /// Converts an instant of the real-time clock to time in the run.
    pub fn from_real_time(self, real: Duration) -> Time {
        // Difference of the two clocks. The real-time clock is read between two readings of the
        // monotonic clock, so it is compared with their mean.
        let before = monotonic();
        let difference = nanos(ClockId::CLOCK_REALTIME) - (before + monotonic()) / 2;
        let since_start = real.as_nanos() as u64 - difference;
        Time::from_nanos(since_start.saturating_sub(self.epoch))
    }

    /// Sleeps until `time`, or slightly longer.
    pub fn sleep_until(self, time: Time) {
        loop {
            let left = (self.epoch + time.as_nanos()).saturating_sub(monotonic());
            if left == 0 {
                return;
            }
            // A signal may end the sleep early, hence the loop.
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
