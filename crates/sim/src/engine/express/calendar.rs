//! A calendar: packets by arrival, whatever the order in which they come (R. Brown, *Calendar
//! queues*, 1988). Days lie in a ring; today's packets are sorted, those of other days lie in a
//! list each until theirs has come.

use super::funnel::Coming;
use retx_units::Duration;
use std::cmp::Reverse;

/// Ends a list.
const NONE: u32 = u32::MAX;

/// Days of the longest calendar: 64 KiB of lists.
const MOST: u64 = 1 << 14;

/// Packets that a day is to have. They are sorted as it comes.
const BUSY: u64 = 8;

/// Packets on their way if nobody knows how many.
const UNKNOWN: u64 = 1 << 13;

/// How long days are, and how many there are.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct Days {
    /// Binary logarithm of their length in nanoseconds.
    length: u32,
    /// A power of two, at least 64.
    count: u64,
}

impl Days {
    /// Days for packets that arrive within `ahead` of the first, one in `each` as a rule; nobody
    /// knows how many in no time.
    pub fn new(ahead: Duration, each: Duration) -> Self {
        let ahead = ahead.as_nanos();
        let packets = ahead.checked_div(each.as_nanos()).unwrap_or(UNKNOWN);
        let count = (packets / BUSY).clamp(64, MOST).next_power_of_two();
        Self { length: ahead.div_ceil(count).max(1).next_power_of_two().ilog2(), count }
    }
}

/// A packet in a list.
#[derive(Debug, Clone, Copy)]
struct Noted {
    coming: Coming,
    next: u32,
}

/// Packets in the order in which they arrive; at the same time in that in which they were put in.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Calendar {
    days: Days,
    /// The last that was put into the list of each day.
    lists: Box<[u32]>,
    /// Which days have some.
    bits: Box<[u64]>,
    noted: Vec<Noted>,
    free: u32,
    /// The number of the first day that has packets, counted from time 0, …
    today: u64,
    /// … and they, the last first.
    coming: Vec<Coming>,
    /// No list belongs to a later day.
    last: u64,
}

impl Calendar {
    /// An empty one.
    pub fn new(days: Days) -> Self {
        Self {
            days,
            lists: vec![NONE; days.count as usize].into(),
            bits: vec![0; days.count as usize / 64].into(),
            noted: Vec::new(),
            free: NONE,
            today: 0,
            coming: Vec::new(),
            last: 0,
        }
    }

    /// False when it is not in: it arrives too long after the first, or before the last.
    pub fn put(&mut self, coming: Coming) -> bool {
        let day = coming.arrival.as_nanos() >> self.days.length;
        if self.coming.is_empty() {
            (self.today, self.last) = (day, day);
        }
        let (first, last) = (self.today.min(day), self.last.max(day));
        if last - first >= self.days.count {
            return false;
        }
        self.last = last;
        if day > self.today {
            self.note(day, coming);
            return true;
        }
        if day < self.today {
            self.leave_today(day);
        }
        let place = self.coming.partition_point(|other| other.arrival > coming.arrival);
        self.coming.insert(place, coming);
        true
    }

    /// Today becomes another day.
    #[cold]
    fn leave_today(&mut self, for_day: u64) {
        let mut coming = std::mem::take(&mut self.coming);
        coming.drain(..).rev().for_each(|coming| self.note(self.today, coming));
        (self.coming, self.today) = (coming, for_day);
    }

    /// Puts a packet into the list of its day.
    fn note(&mut self, day: u64, coming: Coming) {
        let place = (day % self.days.count) as usize;
        let bit = 1 << (place % 64);
        let next = if self.bits[place / 64] & bit == 0 { NONE } else { self.lists[place] };
        self.bits[place / 64] |= bit;
        let noted = Noted { coming, next };
        if let Some(free) = self.noted.get_mut(self.free as usize) {
            self.lists[place] = self.free;
            self.free = free.next;
            *free = noted;
        } else {
            self.lists[place] = self.noted.len() as u32;
            self.noted.push(noted);
        }
    }

    /// The first to arrive.
    #[inline]
    pub fn first(&self) -> Option<&Coming> {
        self.coming.last()
    }

    /// Takes out the first.
    #[inline]
    pub fn pop(&mut self) -> Option<Coming> {
        let first = self.coming.pop();
        if self.coming.is_empty() {
            self.go_on();
        }
        first
    }

    /// The next day that has some becomes today.
    #[inline(never)]
    fn go_on(&mut self) {
        let Some(day) = self.next_day() else { return };
        self.today = day;
        let place = (day % self.days.count) as usize;
        self.bits[place / 64] &= !(1 << (place % 64));
        let mut at = self.lists[place];
        while let Some(noted) = self.noted.get_mut(at as usize) {
            self.coming.push(noted.coming);
            let next = std::mem::replace(&mut noted.next, self.free);
            self.free = std::mem::replace(&mut at, next);
        }
        // Of those at the same time the last is yet before the others.
        self.coming.sort_by_key(|coming| Reverse(coming.arrival));
    }

    fn next_day(&self) -> Option<u64> {
        let mut day = self.today + 1;
        while day <= self.last {
            let place = (day % self.days.count) as usize;
            let bits = self.bits[place / 64] >> (place % 64);
            if bits != 0 {
                return Some(day + u64::from(bits.trailing_zeros()));
            }
            day = (day / 64 + 1) * 64;
        }
        None
    }

    /// All, day by day.
    pub fn iter(&self) -> impl Iterator<Item = &Coming> {
        let days = (self.today + 1)..=self.last;
        let listed = days.flat_map(|day| {
            let place = (day % self.days.count) as usize;
            let has = self.bits[place / 64] >> (place % 64) & 1 != 0;
            let first = has.then(|| self.noted.get(self.lists[place] as usize)).flatten();
            std::iter::successors(first, |noted| self.noted.get(noted.next as usize))
        });
        self.coming.iter().rev().chain(listed.map(|noted| &noted.coming))
    }
}
