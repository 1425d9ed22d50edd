//! A funnel: packets on their way to a bottleneck, sorted by when they arrive there.
//!
//! Nearly all wait in few rows side by side: the first packets that the hosts send at a time come
//! in order, and so do their second ones, each behind the first in its host's link while those of
//! hundreds of other hosts go by. A packet takes the first row whose last arrives no later than
//! itself. (Then the last of each row arrives before that of the row before it: no choice keeps
//! more in rows.) One that would be too early in each waits in a calendar beside them.

use super::calendar::{Calendar, Days};
use retx_link::pipe::Parcel;
use retx_link::ring::Ring;
use retx_units::Time;

/// Rows side by side.
const ROWS: usize = 8;

/// A packet in a funnel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::engine) struct Coming {
    pub arrival: Time,
    pub parcel: Parcel,
    /// Where on its route the bottleneck is.
    pub hop: u32,
}

/// What has become of a packet that was to be put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Put {
    /// It arrives first.
    First,
    /// Others arrive before it, or at the same time.
    Behind,
    /// It is not in.
    Not,
}

/// Packets in the order in which they arrive; at the same time in that in which they were put in.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Funnel {
    /// When the first of all rows arrives; [`Time::NEVER`] without any. It is in this row.
    first: Time,
    next: usize,
    /// No row from this one on has any.
    used: usize,
    /// When the first of each row arrives; [`Time::NEVER`] without any.
    firsts: [Time; ROWS],
    /// The latest arrival in each row so far.
    lasts: [Time; ROWS],
    rows: [Ring<Coming>; ROWS],
    /// When the first of those beside arrives; [`Time::NEVER`] without any.
    first_beside: Time,
    days: Days,
    /// Made for the first that needs it.
    beside: Option<Box<Calendar>>,
}

impl Funnel {
    /// An empty one, whose calendar will have these days.
    pub fn new(days: Days) -> Self {
        Self {
            first: Time::NEVER,
            next: 0,
            used: 0,
            firsts: [Time::NEVER; ROWS],
            lasts: [Time::ZERO; ROWS],
            rows: Default::default(),
            first_beside: Time::NEVER,
            days,
            beside: None,
        }
    }

    // A packet is put together where it is written: what is handed on in memory has to be written
    // to memory first, behind all that is yet on its way there.
    #[inline(always)]
    pub fn put(&mut self, arrival: Time, parcel: Parcel, hop: u32) -> Put {
        if arrival >= self.lasts[0] {
            self.put_into(0, arrival, parcel, hop)
        } else {
            self.put_otherwise(arrival, parcel, hop)
        }
    }

    #[inline(always)]
    fn put_into(&mut self, row: usize, arrival: Time, parcel: Parcel, hop: u32) -> Put {
        self.lasts[row] = arrival;
        if self.rows[row].is_empty() {
            return self.put_first(row, arrival, parcel, hop);
        }
        self.rows[row].push_back(Coming { arrival, parcel, hop });
        Put::Behind
    }

    #[inline(never)]
    fn put_first(&mut self, row: usize, arrival: Time, parcel: Parcel, hop: u32) -> Put {
        let is_first = arrival < self.first();
        self.firsts[row] = arrival;
        self.rows[row].push_back(Coming { arrival, parcel, hop });
        self.used = self.used.max(row + 1);
        self.find_first();
        if is_first { Put::First } else { Put::Behind }
    }

    #[inline(never)]
    fn put_otherwise(&mut self, arrival: Time, parcel: Parcel, hop: u32) -> Put {
        match (1..ROWS).find(|row| self.lasts[*row] <= arrival) {
            Some(row) => self.put_into(row, arrival, parcel, hop),
            None => self.put_beside(arrival, parcel, hop),
        }
    }

    #[inline(never)]
    fn put_beside(&mut self, arrival: Time, parcel: Parcel, hop: u32) -> Put {
        let is_first = arrival < self.first();
        let beside = self.beside.get_or_insert_with(|| Box::new(Calendar::new(self.days)));
        if !beside.put(Coming { arrival, parcel, hop }) {
            return Put::Not;
        }
        self.first_beside = self.first_beside.min(arrival);
        if is_first { Put::First } else { Put::Behind }
    }

    /// Finds the row whose first arrives first; of those that do at the same time the first.
    #[inline(always)]
    fn find_first(&mut self) {
        const { assert!(ROWS == 8, "they are compared two by two") };
        let firsts = &self.firsts;
        let of = |a: usize, b: usize| if firsts[b] < firsts[a] { b } else { a };
        self.next = if self.used <= 2 {
            of(0, 1)
        } else {
            of(of(of(0, 1), of(2, 3)), of(of(4, 5), of(6, 7)))
        };
        self.first = firsts[self.next];
    }

    /// When the first arrives; [`Time::NEVER`] without any.
    #[inline(always)]
    pub fn first(&self) -> Time {
        self.first.min(self.first_beside)
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
        if self.first_beside < self.first && self.first_beside <= now {
            self.bring();
        } else if self.first > now {
            return None;
        }
        self.rows[self.next].front()
    }

    /// Takes out what [`Self::first_by`] has shown.
    #[inline(always)]
    pub fn drop_first(&mut self) {
        let row = &mut self.rows[self.next];
        row.drop_front();
        self.firsts[self.next] = match row.front() {
            Some(first) => first.arrival,
            None => {
                self.used -= usize::from(self.used == self.next + 1);
                Time::NEVER
            }
        };
        self.find_first();
    }

    /// The first of those beside comes first of all: into a row.
    // A packet that is taken from one place alone needs no copy.
    #[inline(never)]
    fn bring(&mut self) {
        let Some(beside) = &mut self.beside else { return };
        if let Some(coming) = beside.pop() {
            self.firsts[self.next] = coming.arrival;
            self.first = coming.arrival;
            self.rows[self.next].push_front(coming);
            self.used = self.used.max(self.next + 1);
        }
        self.first_beside = beside.first().map_or(Time::NEVER, |coming| coming.arrival);
    }

    /// The packet that so many others of its row come before, of that in which
    /// [`Self::first_by`] has shown the first.
    #[inline]
    pub fn ahead(&self, others: usize) -> Option<&Coming> {
        self.rows[self.next].get(others)
    }

    /// All.
    pub fn iter(&self) -> impl Iterator<Item = &Coming> {
        let rows = self.rows.iter().flat_map(Ring::iter);
        rows.chain(self.beside.iter().flat_map(|beside| beside.iter()))
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
            let mut plain: Vec<(u64, u32)> = Vec::new();
            let mut now = 0;
            for (id, (step, value)) in (0..).zip(steps) {
                if step == 0 {
                    now += value / spread / 4;
                    plain.sort_unstable();
                    let arrived = plain.partition_point(|(at, ..)| *at <= now);
                    for (at, id) in plain.drain(..arrived) {
                        let found = funnel.pop(Time::from_nanos(now)).expect("it has arrived");
                        prop_assert_eq!((found.arrival.as_nanos(), found.parcel.id), (at, id));
                    }
                    prop_assert_eq!(funnel.pop(Time::from_nanos(now)), None);
                } else {
                    let arrival = now + value / spread;
                    let later = plain.iter().filter(|(at, ..)| *at > arrival).count();
                    let parcel = Parcel { id, bytes: 0 };
                    let put = funnel.put(Time::from_nanos(arrival), parcel, 0);
                    prop_assert_eq!(put == Put::First, put != Put::Not && later == plain.len());
                    prop_assert!(put != Put::Not || later >= ROWS && ahead < 6100 / spread);
                    if put != Put::Not {
                        plain.push((arrival, id));
                    }
                }
                let first = plain.iter().map(|(at, ..)| *at).min();
                prop_assert_eq!(funnel.first(), first.map_or(Time::NEVER, Time::from_nanos));
                prop_assert_eq!(funnel.iter().count(), plain.len());
            }
        }
    }
}
