//! Events later than the last turn of the wheel: usually only the end of the run.

use super::{MAX_TARGETS, TARGET_BITS, Target};
use retx_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NUMBER_BITS: u32 = 64 - TARGET_BITS;

/// Events by time, ties by insertion: a binary heap.
#[derive(Debug, Clone, Default)]
pub(super) struct FarHeap {
    /// Each key holds time, sequence number of insertion and target, from the highest bit down.
    heap: BinaryHeap<Reverse<u128>>,
    /// Number of events ever inserted here.
    entered: u64,
}

impl FarHeap {
    /// Inserts an event.
    ///
    /// # Panics
    /// The sequence numbers are exhausted after 2^40 insertions.
    pub fn push(&mut self, time: Time, target: Target) {
        assert!(self.entered >> NUMBER_BITS == 0, "more than 2^40 events in the far future");
        // One comparison of 128 bits orders events by time, and ties by insertion.
        let low = self.entered << TARGET_BITS | u64::from(target);
        self.entered += 1;
        self.heap.push(Reverse(u128::from(time.as_nanos()) << 64 | u128::from(low)));
    }

    /// First event, without removing it.
    pub fn first(&self) -> Option<(Time, Target)> {
        let Reverse(key) = *self.heap.peek()?;
        Some((Time::from_nanos((key >> 64) as u64), key as u32 & (MAX_TARGETS - 1)))
    }

    /// Removes and returns the first event if its time satisfies `will_do`.
    pub fn pop_if(&mut self, will_do: impl Fn(Time) -> bool) -> Option<(Time, Target)> {
        let first = self.first().filter(|(time, _)| will_do(*time))?;
        self.heap.pop();
        Some(first)
    }
}
