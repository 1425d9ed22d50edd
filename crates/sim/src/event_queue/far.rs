//! Events later than the last turn of the wheel: usually only the end of the run.

use retx_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events by time, ties by the rank of their targets: a binary heap.
#[derive(Debug, Clone, Default)]
pub(super) struct FarHeap {
    heap: BinaryHeap<Reverse<(Time, u32)>>,
}

impl FarHeap {
    /// Inserts an event of the target with this rank.
    pub fn push(&mut self, time: Time, rank: u32) {
        self.heap.push(Reverse((time, rank)));
    }

    /// First event, without removing it.
    pub fn first(&self) -> Option<(Time, u32)> {
        let Reverse(first) = *self.heap.peek()?;
        Some(first)
    }

    /// Removes and returns the first event if its time satisfies `will_do`.
    pub fn pop_if(&mut self, will_do: impl Fn(Time) -> bool) -> Option<(Time, u32)> {
        let first = self.first().filter(|(time, _)| will_do(*time))?;
        self.heap.pop();
        Some(first)
    }
}
