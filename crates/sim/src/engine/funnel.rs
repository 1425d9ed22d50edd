//! A funnel: packets on their way to a bottleneck, sorted by when they arrive there.
//!
//! Nearly all wait in one row. A packet that too many overtake, as one that has waited for others
//! of its host while those of many hosts went by, waits in a calendar beside it.

use super::calendar::{Calendar, Days};
use retx_link::pipe::Parcel;
use retx_link::ring::Ring;
use retx_units::Time;

/// Packets of the row that one may get in before. Each is a step of its search: where 100 flows
/// share a bottleneck, the row takes 91 instructions a segment.
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
    /// It is not in.
    Not,
}

/// Packets in the order in which they arrive; at the same time those of the row first, and each in
/// the order in which they were put in.
#[derive(Debug, Clone)]
pub(super) struct Funnel {
    row: Ring<Coming>,
    /// The latest arrival in the row so far.
    last: Time,
    /// When the first of those beside arrives; [`Time::NEVER`] without any.
    first_beside: Time,
    days: Days,
    /// Made for the first that needs it.
    beside: Option<Box<Calendar>>,
}

impl Funnel {
    /// An empty one, whose calendar will have these days.
    pub fn new(days: Days) -> Self {
        let (row, last) = Default::default();
        Self { row, last, first_beside: Time::NEVER, days, beside: None }
    }

    #[inline(always)]
    pub fn put(&mut self, arrival: Time, parcel: Parcel, hop: u32) -> Put {
        if arrival < self.last {
            return self.put_before(arrival, parcel, hop);
        }
        self.last = arrival;
        let is_first = self.row.is_empty() && arrival < self.first_beside;
        self.row.push_back(Coming { arrival, parcel, hop });
        if is_first { Put::First } else { Put::Behind }
    }

    // In registers, or all would be written to memory first.
    #[inline(never)]
    fn put_before(&mut self, arrival: Time, parcel: Parcel, hop: u32) -> Put {
        let coming = Coming { arrival, parcel, hop };
        let is_later = |other: &Coming| other.arrival > coming.arrival;
        let reached = self.row.len().checked_sub(REACH);
        if reached.and_then(|index| self.row.get(index)).is_some_and(is_later) {
            return self.put_beside(coming);
        }
        let is_first = self.row.front().is_none_or(is_later) && coming.arrival < self.first_beside;
        self.row.insert_before(coming, is_later);
        if is_first { Put::First } else { Put::Behind }
    }

    #[inline(never)]
    fn put_beside(&mut self, coming: Coming) -> Put {
        let is_first = coming.arrival < self.first();
        let beside = self.beside.get_or_insert_with(|| Box::new(Calendar::new(self.days)));
        if !beside.put(coming) {
            return Put::Not;
        }
        self.first_beside = self.first_beside.min(coming.arrival);
        if is_first { Put::First } else { Put::Behind }
    }

    /// When the first of the row arrives; [`Time::NEVER`] without any.
    #[inline(always)]
    fn first_in_row(&self) -> Time {
        self.row.front().map_or(Time::NEVER, |coming| coming.arrival)
    }

    /// When the first arrives; [`Time::NEVER`] without any.
    #[inline(always)]
    pub fn first(&self) -> Time {
        self.first_in_row().min(self.first_beside)
    }

    /// Takes out the first if it has arrived by `now`.
    pub fn pop(&mut self, now: Time) -> Option<Coming> {
        let first = *self.first_by(now)?;
        self.drop_first();
        Some(first)
    }

    /// The first if it has arrived by `now`.
    #[inline(always)]
    pub fn first_by(&mut self, now: Time) -> Option<&Coming> {
        let beside_first = self.row.front().is_none_or(|first| first.arrival > self.first_beside);
        if beside_first && self.first_beside <= now {
            self.bring();
        }
        self.row.front().filter(|first| first.arrival <= now)
    }

    /// Takes out what [`Self::first_by`] has shown.
    #[inline(always)]
    pub fn drop_first(&mut self) {
        self.row.drop_front();
    }

    /// The first of those beside comes first of all: into the row.
    // A packet that is taken from one place alone needs no copy.
    #[inline(never)]
    fn bring(&mut self) {
        let Some(beside) = &mut self.beside else { return };
        if let Some(coming) = beside.pop() {
            self.last = self.last.max(coming.arrival);
            self.row.push_front(coming);
        }
        self.first_beside = beside.first().map_or(Time::NEVER, |coming| coming.arrival);
    }

    /// The packets that so many others come before, of the row and of those beside.
    #[inline]
    pub fn ahead(&self, others: usize) -> impl Iterator<Item = &Coming> {
        let beside = self.beside.as_ref().and_then(|beside| beside.ahead(others / 2));
        self.row.get(others).into_iter().chain(beside)
    }

    /// All.
    pub fn iter(&self) -> impl Iterator<Item = &Coming> {
        self.row.iter().chain(self.beside.iter().flat_map(|beside| beside.iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use retx_units::Duration;

    proptest! {
        /// Whatever comes after what: those that get in leave by arrival, and at the same in the
        /// order in which they came, none before its time; who has to pass few gets in.
        #[test]
        fn packets_leave_in_order(
            steps in prop::collection::vec((0u64..9, 0u64..6000), 0..600),
            spread in 1u64..100,
            ahead in 1u64..10_000,
        ) {
            let days = Days::new(Duration::from_nanos(ahead), Duration::from_nanos(2));
            let mut funnel = Funnel::new(days);
            let mut plain: Vec<(u64, bool, u32)> = Vec::new();
            let mut now = 0;
            for (id, (step, value)) in (0..).zip(steps) {
                if step == 0 {
                    now += value / spread / 4;
                    plain.sort_unstable();
                    let arrived = plain.partition_point(|(at, ..)| *at <= now);
                    for (at, _, id) in plain.drain(..arrived) {
                        let found = funnel.pop(Time::from_nanos(now)).expect("it has arrived");
                        prop_assert_eq!((found.arrival.as_nanos(), found.parcel.id), (at, id));
                    }
                    prop_assert_eq!(funnel.pop(Time::from_nanos(now)), None);
                } else {
                    let arrival = now + value / spread;
                    let later = plain.iter().filter(|(at, ..)| *at > arrival).count();
                    let parcel = Parcel { id, bytes: 0 };
                    let in_row = funnel.row.len();
                    let put = funnel.put(Time::from_nanos(arrival), parcel, 0);
                    prop_assert_eq!(put == Put::First, put != Put::Not && later == plain.len());
                    prop_assert!(put != Put::Not || later >= REACH && ahead < 6100 / spread);
                    if put != Put::Not {
                        let is_beside = funnel.row.len() == in_row;
                        prop_assert!(!is_beside || later >= REACH);
                        plain.push((arrival, is_beside, id));
                    }
                }
                let first = plain.iter().map(|(at, ..)| *at).min();
                prop_assert_eq!(funnel.first(), first.map_or(Time::NEVER, Time::from_nanos));
                prop_assert_eq!(funnel.iter().count(), plain.len());
            }
        }
    }
}
