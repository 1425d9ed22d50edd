//! Sleep of the main loop, which leaves a share of the processor's time to other threads.

use retx_units::{Duration, Time};

/// The loop should sleep for a fraction 1/`REST` of the time. If a real-time thread never sleeps
/// while other threads wait for its processor, the kernel stops that thread for 50 ms in each
/// second (`sched_rt_runtime_us`; the fair server of `kernel/sched/deadline.c`).
const REST: u64 = 10;
/// Maximum credit that the loop can accumulate in idle times.
const REST_IN_HAND: Duration = Duration::from_millis(20);

/// Account of the loop's sleep. The credit is the excess of the time slept over the required share.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SleepBudget {
    /// End of the last sleep.
    woken: Time,
    in_hand: Duration,
}

impl SleepBudget {
    /// True if no sleep is required.
    pub fn may_stay_awake(&self, now: Time) -> bool {
        now.since(self.woken).as_nanos() / REST <= self.in_hand.as_nanos()
    }

    pub fn record_sleep(&mut self, from: Time, to: Time) {
        let due = Duration::from_nanos(from.since(self.woken).as_nanos() / REST);
        // A tenth of the time since the last sleep is subtracted from the credit, and this sleep is
        // added.
        let had = self.in_hand.saturating_sub(due) + to.since(from);
        *self = Self { woken: to, in_hand: had.min(REST_IN_HAND) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    #[test]
    fn a_tenth_of_the_time_is_slept() {
        let mut rest = SleepBudget::default();
        assert!(!rest.may_stay_awake(at(100)));
        rest.record_sleep(at(100), at(200));
        // The sleep of 100 µs gives credit for 1000 µs awake. The 100 µs awake before the sleep
        // reduce nothing, because there was no credit then.
        assert!(rest.may_stay_awake(at(1200)));
        assert!(!rest.may_stay_awake(at(1220)));
        rest.record_sleep(at(1200), at(1300));
        assert!(rest.may_stay_awake(at(2300)));
        // The credit of a long sleep is limited.
        rest.record_sleep(at(2300), at(10_000_000));
        assert!(rest.may_stay_awake(at(10_200_000)));
        assert!(!rest.may_stay_awake(at(10_200_020)));
    }
}
