//! Merge queue (funnel): packets on their way to a bottleneck, sorted by arrival there.
//!
//! Hosts often send two packets in succession. The first packets of all hosts reach the bottleneck
//! roughly in the order in which they were sent, and so do the second packets. But a second packet
//! is delayed behind the first on its host's link, while packets of hundreds of other hosts pass.
//! Nearly all packets therefore fit into a few rows, each sorted by arrival. A packet takes the
//! first row whose last packet arrives no later than the packet itself. (The arrival times of the
//! last packets thus fall from row to row. No other rule keeps more packets in rows.) A packet that
//! fits into no row waits in a calendar queue.

use super::calendar::{Calendar, CalendarSize};
use retx_link::pipe::PlainPacket;
use retx_link::ring::Ring;
use retx_units::Time;

/// Number of parallel rows.
const ROWS: usize = 8;

/// Packet in the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::engine) struct Arrival {
    pub arrival: Time,
    pub packet: PlainPacket,
    /// Position of the bottleneck in the packet's route, an index into the engine's routes.
    pub hop: u32,
    /// Time at which the packet was sent: the low 32 bits of its nanoseconds.
    sent: u32,
}

impl Arrival {
    /// True if both packets arrive and were sent at the same time.
    #[inline]
    pub fn is_tied_with(&self, other: &Self) -> bool {
        self.arrival == other.arrival && self.sent == other.sent
    }

    /// True if this packet is tied with another one, which precedes it.
    #[inline]
    pub fn is_tied_behind(&self, other: &Self) -> bool {
        self.is_tied_with(other) && self.hop > other.hop
    }
}

/// Result of inserting a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Enqueued {
    /// The packet was inserted and arrives before all others.
    First,
    /// The packet was inserted; another one arrives before it or at the same time.
    Behind,
}

/// Packets in order of arrival; ties in order of insertion, which is that of sending, and packets
/// sent at the same time by their place in the file. No tie thus depends on the order of events.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Funnel {
    /// Earliest arrival in all rows, which is that in row `first_row`; [`Time::NEVER`] if all rows
    /// are empty.
    earliest_arrival: Time,
    first_row: usize,
    /// Number of rows that may have packets: the row with this index and all after it are empty.
    used: usize,
    /// Earliest arrival in each row; [`Time::NEVER`] if it is empty.
    firsts: [Time; ROWS],
    /// Arrival of the last packet appended to each row.
    lasts: [Time; ROWS],
    rows: [Ring<Arrival>; ROWS],
    /// Earliest arrival in the calendar; [`Time::NEVER`] if it is empty.
    first_in_calendar: Time,
    size: CalendarSize,
    /// Calendar queue; allocated for the first packet that needs it.
    calendar: Option<Box<Calendar>>,
}

impl Funnel {
    /// Creates an empty queue. `size` is for its calendar.
    pub fn new(size: CalendarSize) -> Self {
        Self {
            earliest_arrival: Time::NEVER,
            first_row: 0,
            used: 0,
            firsts: [Time::NEVER; ROWS],
            lasts: [Time::ZERO; ROWS],
            rows: Default::default(),
            first_in_calendar: Time::NEVER,
            size,
            calendar: None,
        }
    }

    // Separate parameters let the packet be assembled directly in its slot. A struct would be
    // passed through memory, where its stores would queue behind all earlier ones.
    #[inline(always)]
    pub fn enqueue(
        &mut self,
        (sent, arrival): (Time, Time),
        packet: PlainPacket,
        hop: u32,
    ) -> Enqueued {
        let sent = sent.as_nanos() as u32;
        if arrival > self.lasts[0] {
            self.enqueue_into(0, arrival, packet, (hop, sent))
        } else {
            self.enqueue_elsewhere(Arrival { arrival, packet, hop, sent })
        }
    }

    #[inline(always)]
    fn enqueue_into(
        &mut self,
        row: usize,
        arrival: Time,
        packet: PlainPacket,
        (hop, sent): (u32, u32),
    ) -> Enqueued {
        self.lasts[row] = arrival;
        if self.rows[row].is_empty() {
            return self.enqueue_first(row, Arrival { arrival, packet, hop, sent });
        }
        self.rows[row].push_back(Arrival { arrival, packet, hop, sent });
        Enqueued::Behind
    }

    #[inline(never)]
    fn enqueue_first(&mut self, row: usize, arriving: Arrival) -> Enqueued {
        let is_first = arriving.arrival < self.earliest_arrival();
        self.firsts[row] = arriving.arrival;
        self.rows[row].push_back(arriving);
        self.used = self.used.max(row + 1);
        self.find_first();
        if is_first { Enqueued::First } else { Enqueued::Behind }
    }

    #[inline(never)]
    fn enqueue_elsewhere(&mut self, arriving: Arrival) -> Enqueued {
        let Arrival { arrival, packet, hop, sent } = arriving;
        for row in 0..ROWS {
            let last = self.lasts[row];
            // A tied packet arrives at the same time, so no packet before that time is one.
            if last >= arrival && self.has_tied_behind(row, &arriving) {
                let is_later =
                    |other: &Arrival| other.arrival > arrival || other.is_tied_behind(&arriving);
                self.rows[row].insert_before(arriving, is_later);
                return Enqueued::Behind;
            }
            if last <= arrival {
                return self.enqueue_into(row, arrival, packet, (hop, sent));
            }
        }
        self.enqueue_in_calendar(arriving)
    }

    /// True if a packet in this row is tied behind `arriving`.
    #[inline(always)]
    fn has_tied_behind(&self, row: usize, arriving: &Arrival) -> bool {
        let row = &self.rows[row];
        let mut index = row.len();
        // Packets of one instant are the last ones of a row.
        while let Some(last) = row.get(index.wrapping_sub(1))
            && last.sent == arriving.sent
        {
            if last.is_tied_behind(arriving) {
                return true;
            }
            index -= 1;
        }
        false
    }

    #[inline(never)]
    fn enqueue_in_calendar(&mut self, arriving: Arrival) -> Enqueued {
        let is_first = arriving.arrival < self.earliest_arrival();
        let calendar = self.calendar.get_or_insert_with(|| Box::new(Calendar::new(self.size)));
        calendar.enqueue(arriving);
        self.first_in_calendar = self.first_in_calendar.min(arriving.arrival);
        if is_first { Enqueued::First } else { Enqueued::Behind }
    }

    /// Finds the row with the earliest arrival; the first such row in case of a tie.
    #[inline(always)]
    fn find_first(&mut self) {
        const { assert!(ROWS == 8, "they are compared two by two") };
        let firsts = &self.firsts;
        let of = |a: usize, b: usize| if firsts[b] < firsts[a] { b } else { a };
        // Most of the time at most two rows are in use. One comparison then suffices, instead of
        // seven.
        self.first_row = if self.used <= 2 {
            of(0, 1)
        } else {
            of(of(of(0, 1), of(2, 3)), of(of(4, 5), of(6, 7)))
        };
        self.earliest_arrival = firsts[self.first_row];
    }

    /// Earliest arrival; [`Time::NEVER`] if the queue is empty.
    #[inline(always)]
    pub fn earliest_arrival(&self) -> Time {
        self.earliest_arrival.min(self.first_in_calendar)
    }

    /// Removes and returns the first packet if it has arrived by `now`.
    pub fn pop(&mut self, now: Time) -> Option<Arrival> {
        let first = *self.first_arrived_by(now)?;
        self.remove_first();
        Some(first)
    }

    /// First packet if it has arrived by `now`.
    #[inline(always)]
    pub fn first_arrived_by(&mut self, now: Time) -> Option<&Arrival> {
        if self.first_in_calendar < self.earliest_arrival && self.first_in_calendar <= now {
            self.refill_from_calendar();
        } else if self.earliest_arrival > now {
            return None;
        }
        self.rows[self.first_row].front()
    }

    /// Removes the packet returned by [`Self::first_arrived_by`].
    #[inline(always)]
    pub fn remove_first(&mut self) {
        let row = &mut self.rows[self.first_row];
        row.drop_front();
        self.firsts[self.first_row] = match row.front() {
            Some(first) => first.arrival,
            None => {
                // `used` shrinks only if this was the last row in use. Empty rows below it do no
                // harm, because `NEVER` loses every comparison.
                self.used -= usize::from(self.used == self.first_row + 1);
                Time::NEVER
            }
        };
        self.find_first();
    }

    /// Moves the first packet of the calendar, which arrives before all others, into a row. Packets
    /// are then always read in place in a row, so [`Self::first_arrived_by`] needs no copy.
    #[inline(never)]
    fn refill_from_calendar(&mut self) {
        let Some(calendar) = &mut self.calendar else { return };
        if let Some(next) = calendar.pop() {
            self.firsts[self.first_row] = next.arrival;
            self.earliest_arrival = next.arrival;
            // The packet arrives before all packets in rows, so it can go to the front of any row.
            self.rows[self.first_row].push_front(next);
            self.used = self.used.max(self.first_row + 1);
        }
        self.first_in_calendar = calendar.first().map_or(Time::NEVER, |next| next.arrival);
    }

    /// Packet `others` positions behind the first packet ([`Self::first_arrived_by`]) in the same
    /// row.
    #[inline]
    pub fn peek_ahead(&self, others: usize) -> Option<&Arrival> {
        self.rows[self.first_row].get(others)
    }

    /// All packets.
    pub fn iter(&self) -> impl Iterator<Item = &Arrival> {
        let rows = self.rows.iter().flat_map(Ring::iter);
        rows.chain(self.calendar.iter().flat_map(|calendar| calendar.iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use retx_units::Duration;

    proptest! {
        /// Packets leave in order of arrival, ties by the time of sending, then by hop, then in
        /// order of insertion, and none before its arrival.
        #[test]
        fn packets_leave_in_order(
            steps in prop::collection::vec((0u64..9, 0u64..6000), 0..600),
            spread in 1u64..100,
            ahead in 1u64..10_000,
        ) {
            let days = CalendarSize::new(Duration::from_nanos(ahead), Duration::from_nanos(2));
            let mut funnel = Funnel::new(days);
            let mut plain: Vec<(u64, u64, u32, u32)> = Vec::new();
            let mut now = 0;
            for (id, (step, value)) in (0..).zip(steps) {
                if step == 0 {
                    now += value / spread / 4;
                    plain.sort_unstable();
                    let arrived = plain.partition_point(|(at, ..)| *at <= now);
                    for (at, _, _, id) in plain.drain(..arrived) {
                        let found = funnel.pop(Time::from_nanos(now)).expect("it has arrived");
                        prop_assert_eq!((found.arrival.as_nanos(), found.packet.id), (at, id));
                    }
                    prop_assert_eq!(funnel.pop(Time::from_nanos(now)), None);
                } else {
                    let arrival = now + value / spread;
                    let packet = PlainPacket { id, bytes: 0 };
                    let times = (Time::from_nanos(now), Time::from_nanos(arrival));
                    let hop = (value % 7) as u32;
                    let enqueued = funnel.enqueue(times, packet, hop);
                    let is_first = plain.iter().all(|(at, ..)| *at > arrival);
                    prop_assert_eq!(enqueued == Enqueued::First, is_first);
                    plain.push((arrival, now, hop, id));
                }
                let first = plain.iter().map(|(at, ..)| *at).min();
                let first = first.map_or(Time::NEVER, Time::from_nanos);
                prop_assert_eq!(funnel.earliest_arrival(), first);
                prop_assert_eq!(funnel.iter().count(), plain.len());
            }
        }
    }
}
