//! What lies beyond the last turn of the wheel: hardly more than the end of the run.

use super::{MAX_TARGETS, TARGET_BITS, Target};
use retx_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NUMBER_BITS: u32 = 64 - TARGET_BITS;

/// Events by time, and at the same time by the order in which they came: a binary heap.
#[derive(Debug, Clone, Default)]
pub(super) struct Far {
    /// Time, number of entry and target, from the highest bit down.
    heap: BinaryHeap<Reverse<u128>>,
    /// Events ever put in here.
    entered: u64,
}

impl Far {
    /// Puts in an event.
    ///
    /// # Panics
    /// When the numbers run out that keep the order of entry: after 2^40 events.
    pub fn push(&mut self, time: Time, target: Target) {
        assert!(self.entered >> NUMBER_BITS == 0, "more than 2^40 events in the far future");
        let low = self.entered << TARGET_BITS | u64::from(target);
        self.entered += 1;
        self.heap.push(Reverse(u128::from(time.as_nanos()) << 64 | u128::from(low)));
    }

    /// The first event, which stays.
    pub fn first(&self) -> Option<(Time, Target)> {
        let Reverse(key) = *self.heap.peek()?;
        Some((Time::from_nanos((key >> 64) as u64), key as u32 & (MAX_TARGETS - 1)))
    }

    /// Takes out the first event if its time will do.
    pub fn pop_if(&mut self, will_do: impl Fn(Time) -> bool) -> Option<(Time, Target)> {
        let first = self.first().filter(|(time, _)| will_do(*time))?;
        self.heap.pop();
        Some(first)
    }
}
