//! Queue length over time: a step function, stored compactly.

use crate::Time;
use std::iter::{self, Peekable};

/// Arrivals at a queue and departures from it, both in order of time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueLengthHistory {
    came: Instants,
    left: Instants,
}

impl QueueLengthHistory {
    /// Records a packet that is in the queue from `came` to `left`; both times may lie in the
    /// future. Neither may be earlier than in the previous call.
    #[inline(always)]
    pub fn add_packet(&mut self, came: Time, left: Time) {
        self.came.push(came);
        self.left.push(left);
    }

    /// Records that the queue length changes from `from` to `to` at `at`, which must not be earlier
    /// than in the previous call.
    pub fn add_change(&mut self, at: Time, from: u64, to: u64) {
        (from..to).for_each(|_| self.came.push(at));
        (to..from).for_each(|_| self.left.push(at));
    }

    /// Queue length at time 0, and then after each change up to `end`. Arrivals and departures that
    /// cancel out at one instant are not a change.
    pub fn changes(&self, end: Time) -> impl Iterator<Item = (Time, u64)> {
        let (mut came, mut left) = (self.came.iter().peekable(), self.left.iter().peekable());
        let mut here = take(&mut came, Time::ZERO) - take(&mut left, Time::ZERO);
        let first = (Time::ZERO, here);
        let change = move || {
            loop {
                let at = [came.peek(), left.peek()].into_iter().flatten().min().copied()?;
                if at > end {
                    return None;
                }
                let before = here;
                here = here + take(&mut came, at) - take(&mut left, at);
                if here != before {
                    return Some((at, here));
                }
            }
        };
        iter::once(first).chain(iter::from_fn(change))
    }
}

/// Consumes the next instants that equal `at`; returns their number.
fn take(instants: &mut Peekable<Reader<'_>>, at: Time) -> u64 {
    iter::from_fn(|| instants.next_if_eq(&at)).count() as u64
}

/// Ascending instants, stored as 32-bit differences in nanoseconds. A larger difference is stored
/// as [`FAR`] and two further words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Instants {
    words: Vec<u32>,
    last: Time,
}

const FAR: u32 = u32::MAX;

impl Instants {
    #[inline(always)]
    fn push(&mut self, at: Time) {
        debug_assert!(at >= self.last, "{at:?} after {:?}", self.last);
        let after = at.since(self.last).as_nanos();
        self.last = at;
        if after < u64::from(FAR) {
            self.words.push(after as u32);
        } else {
            self.push_far(after);
        }
    }

    #[cold]
    #[inline(never)]
    fn push_far(&mut self, after: u64) {
        self.words.extend_from_slice(&[FAR, after as u32, (after >> 32) as u32]);
    }

    fn iter(&self) -> Reader<'_> {
        Reader { words: self.words.iter(), last: 0 }
    }
}

#[derive(Debug, Clone)]
struct Reader<'a> {
    words: std::slice::Iter<'a, u32>,
    last: u64,
}

impl Iterator for Reader<'_> {
    type Item = Time;

    fn next(&mut self) -> Option<Time> {
        let word = |of: &mut Self| of.words.next().copied().map(u64::from);
        let after = match word(self)? {
            short if short < u64::from(FAR) => short,
            _ => word(self)? | word(self)? << 32,
        };
        self.last += after;
        Some(Time::from_nanos(self.last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The step function equals the number of arrivals minus departures at every instant, for
        /// arbitrary times of arrival and departure, and the queue length differs between any two
        /// successive entries.
        #[test]
        fn each_change_is_reported(
            stays in prop::collection::vec((0u64..4, 0u64..6, 0u32..3), 0..60),
            end in 0u64..60,
        ) {
            let scales = [1, 7, 1 << 32];
            let mut history = QueueLengthHistory::default();
            let (mut came, mut left) = (0, 0);
            let mut all = Vec::new();
            for (after, takes, scale) in stays {
                came += after * scales[scale as usize];
                left = left.max(came) + takes;
                all.push((came, left));
                history.add_packet(Time::from_nanos(came), Time::from_nanos(left));
            }
            let end = if end == 59 { u64::MAX } else { end };
            let here = |at: u64| {
                all.iter().filter(|(came, left)| *came <= at && at < *left).count() as u64
            };
            let mut instants: Vec<u64> =
                all.iter().flat_map(|(came, left)| [*came, *left]).chain([0]).collect();
            instants.sort_unstable();
            let mut expected: Vec<(u64, u64)> =
                instants.into_iter().filter(|at| *at <= end).map(|at| (at, here(at))).collect();
            expected.dedup_by_key(|(_, here)| *here);
            let end = Time::from_nanos(end);
            let found = history.changes(end).map(|(at, here)| (at.as_nanos(), here));
            prop_assert_eq!(found.collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn lengths_are_changes() {
        let mut history = QueueLengthHistory::default();
        for (at, from, to) in [(0, 0, 2), (3, 2, 3), (3, 3, 1), (5, 1, 1), (9, 1, 0)] {
            history.add_change(Time::from_nanos(at), from, to);
        }
        let found: Vec<(u64, u64)> =
            history.changes(Time::NEVER).map(|(at, here)| (at.as_nanos(), here)).collect();
        assert_eq!(found, [(0, 2), (3, 1), (9, 0)]);
    }
}
