//! A funnel: packets on their way to a bottleneck, sorted by when they arrive there.

use retx_link::pipe::Parcel;
use retx_link::ring::Ring;
use retx_units::Time;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Packets that one may get in before: one that is earlier than more of them is set aside.
const REACH: usize = 8;

/// A packet in a funnel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Coming {
    pub arrival: Time,
    pub parcel: Parcel,
    /// Where on its route the bottleneck is.
    pub hop: u32,
    /// Those set aside before it came, modulo 2^32.
    turn: u32,
}

/// Packets in the order in which they arrive; at the same time in that in which they were put in.
#[derive(Debug, Clone, Default)]
pub(super) struct Funnel {
    coming: Ring<Coming>,
    /// The latest arrival of those that have been there.
    last: Time,
    /// Others, by arrival and by how many were set aside before.
    aside: BTreeMap<(Time, u64), Coming>,
    set_aside: u64,
}

impl Funnel {
    /// Returns true if it is the first that arrives.
    #[inline(always)]
    pub fn put(&mut self, arrival: Time, parcel: Parcel, hop: u32) -> bool {
        if arrival < self.last {
            return self.put_before(arrival, parcel, hop);
        }
        self.last = arrival;
        let is_first = self.coming.is_empty();
        self.coming.push_back(Coming { arrival, parcel, hop, turn: self.set_aside as u32 });
        is_first
    }

    #[inline(never)]
    fn put_before(&mut self, arrival: Time, parcel: Parcel, hop: u32) -> bool {
        let coming = Coming { arrival, parcel, hop, turn: self.set_aside as u32 };
        let is_later = |other: &Coming| other.arrival > arrival;
        let is_first = self.first().is_none_or(is_later);
        let reached = self.coming.len().checked_sub(REACH);
        if reached.and_then(|index| self.coming.get(index)).is_some_and(is_later) {
            self.aside.insert((arrival, self.set_aside), coming);
            self.set_aside += 1;
        } else {
            self.coming.insert_before(coming, is_later);
        }
        is_first
    }

    /// The first to arrive.
    #[inline(always)]
    pub fn first(&mut self) -> Option<&Coming> {
        if !self.aside.is_empty() {
            self.line_up();
        }
        self.coming.front()
    }

    /// Takes out the first if it has arrived by `now`.
    #[inline(always)]
    pub fn pop(&mut self, now: Time) -> Option<Coming> {
        if self.first()?.arrival > now { None } else { self.coming.pop_front() }
    }

    /// Those aside that are first get in line.
    #[inline(never)]
    fn line_up(&mut self) {
        let Some(first) = self.aside.first_entry() else { return };
        let Coming { arrival, turn, .. } = *first.get();
        let came_before = |front: &Coming| front.turn.wrapping_sub(turn) as i32 <= 0;
        let is_behind = |front: &Coming| match front.arrival.cmp(&arrival) {
            Ordering::Equal => !came_before(front),
            order => order.is_gt(),
        };
        if self.coming.front().is_none_or(is_behind) {
            self.coming.push_front(first.remove());
        }
    }

    /// All, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Coming> {
        self.coming.iter().chain(self.aside.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever comes after what, and however often somebody looks: packets leave by arrival,
        /// and at the same in the order in which they came, none before its time.
        #[test]
        fn packets_leave_in_order(steps in prop::collection::vec((0u64..9, 0u64..60), 0..300)) {
            let mut funnel = Funnel::default();
            let mut plain: Vec<(u64, u32)> = Vec::new();
            let mut now = 0;
            for (id, (step, value)) in (0..).zip(steps) {
                if step == 0 {
                    now += value / 8;
                    plain.sort_unstable();
                    let arrived = plain.partition_point(|(at, _)| *at <= now);
                    for (at, id) in plain.drain(..arrived) {
                        let found = funnel.pop(Time::from_nanos(now)).expect("it has arrived");
                        prop_assert_eq!((found.arrival.as_nanos(), found.parcel.id), (at, id));
                    }
                    prop_assert_eq!(funnel.pop(Time::from_nanos(now)), None);
                } else {
                    let arrival = now + value / 4;
                    let is_first = plain.iter().all(|(at, _)| *at > arrival);
                    let parcel = Parcel { id, bytes: 0 };
                    prop_assert_eq!(funnel.put(Time::from_nanos(arrival), parcel, 0), is_first);
                    plain.push((arrival, id));
                }
                prop_assert_eq!(funnel.iter().count(), plain.len());
                if value % 2 == 0 {
                    let first = plain.iter().map(|(at, _)| *at).min();
                    prop_assert_eq!(funnel.first().map(|first| first.arrival.as_nanos()), first);
                }
            }
        }
    }
}
