//! A funnel: packets on their way to a bottleneck, sorted by when they arrive there.

use retx_link::pipe::Parcel;
use retx_link::ring::Ring;
use retx_units::Time;

/// Packets that one may get in before. Each is a step of its search: where 100 flows share a
/// bottleneck, the row takes 91 instructions a segment.
const REACH: usize = 8;

/// A packet in a funnel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Coming {
    pub arrival: Time,
    pub parcel: Parcel,
    /// Where on its route the bottleneck is.
    pub hop: u32,
}

/// What has become of a packet that was to be put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    /// It arrives first.
    First,
    /// Others arrive before it, or at the same time.
    Behind,
    /// It is not in: too many are that arrive later.
    Not,
}

/// Packets in the order in which they arrive; at the same time in that in which they were put in.
#[derive(Debug, Clone, Default)]
pub(super) struct Funnel {
    coming: Ring<Coming>,
    /// The latest arrival so far.
    last: Time,
}

impl Funnel {
    #[inline(always)]
    pub fn put(&mut self, arrival: Time, parcel: Parcel, hop: u32) -> Put {
        if arrival < self.last {
            return self.put_before(arrival, parcel, hop);
        }
        self.last = arrival;
        let put = if self.coming.is_empty() { Put::First } else { Put::Behind };
        self.coming.push_back(Coming { arrival, parcel, hop });
        put
    }

    #[inline(never)]
    fn put_before(&mut self, arrival: Time, parcel: Parcel, hop: u32) -> Put {
        let is_later = |other: &Coming| other.arrival > arrival;
        let reached = self.coming.len().checked_sub(REACH);
        if reached.and_then(|index| self.coming.get(index)).is_some_and(is_later) {
            return Put::Not;
        }
        let put = if self.coming.front().is_none_or(is_later) { Put::First } else { Put::Behind };
        self.coming.insert_before(Coming { arrival, parcel, hop }, is_later);
        put
    }

    /// The first to arrive.
    #[inline(always)]
    pub fn first(&self) -> Option<&Coming> {
        self.coming.front()
    }

    /// Takes out the first if it has arrived by `now`.
    #[inline(always)]
    pub fn pop(&mut self, now: Time) -> Option<Coming> {
        if self.first()?.arrival > now { None } else { self.coming.pop_front() }
    }

    /// The packet that so many others come before.
    #[inline(always)]
    pub fn ahead(&self, others: usize) -> Option<&Coming> {
        self.coming.get(others)
    }

    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Coming> {
        self.coming.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever comes after what: those that get in leave by arrival, and at the same in the
        /// order in which they came, none before its time; who has to pass few gets in.
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
                    let later = plain.iter().filter(|(at, _)| *at > arrival).count();
                    let expected = match later {
                        REACH.. => Put::Not,
                        _ if later == plain.len() => Put::First,
                        _ => Put::Behind,
                    };
                    let parcel = Parcel { id, bytes: 0 };
                    prop_assert_eq!(funnel.put(Time::from_nanos(arrival), parcel, 0), expected);
                    if later < REACH {
                        plain.push((arrival, id));
                    }
                }
                prop_assert_eq!(funnel.iter().count(), plain.len());
            }
        }
    }
}
