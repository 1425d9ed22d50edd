//! Calendar queue: packets by arrival, in any order of insertion (R. Brown, *Calendar queues*,
//! 1988). Days form a ring; today's packets are sorted, those of other days are in one unsorted
//! list per day.

use super::funnel::Arrival;
use retx_units::Duration;
use std::cmp::Reverse;

/// End of a list.
const NONE: u32 = u32::MAX;

/// Number of days of the longest calendar: 64 KiB of lists.
const DAYS_MAX: u64 = 1 << 14;

/// Target number of packets per day; they are sorted when the day comes.
const PER_DAY: u64 = 8;

/// Assumed number of packets in flight if it is unknown.
const PACKETS_DEFAULT: u64 = 1 << 13;

/// Length and number of days.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct Days {
    /// Binary logarithm of the length in nanoseconds.
    length: u32,
    /// Number of days, a power of two of at least 64.
    count: u64,
}

impl Days {
    /// Chooses length and number of days for packets that arrive at most `ahead` after the first.
    /// `each` is the usual time between two arrivals, zero if unknown.
    pub fn new(ahead: Duration, each: Duration) -> Self {
        let ahead = ahead.as_nanos();
        let packets = ahead.checked_div(each.as_nanos()).unwrap_or(PACKETS_DEFAULT);
        let count = (packets / PER_DAY).clamp(64, DAYS_MAX).next_power_of_two();
        Self { length: ahead.div_ceil(count).max(1).next_power_of_two().ilog2(), count }
    }
}

/// Packet in the list of a day.
#[derive(Debug, Clone, Copy)]
struct Listed {
    packet: Arrival,
    next: u32,
}

/// Packets in order of arrival; ties in order of insertion.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Calendar {
    days: Days,
    /// Last packet inserted into the list of each day.
    lists: Box<[u32]>,
    /// Bitmap of the days with packets.
    bits: Box<[u64]>,
    listed: Vec<Listed>,
    free: u32,
    /// Number of the first day with packets, counted from time 0.
    today: u64,
    /// Packets of the day `today`, in reverse order of arrival.
    packets_today: Vec<Arrival>,
    /// No list belongs to a day after this one.
    last: u64,
}

impl Calendar {
    /// Creates an empty calendar.
    pub fn new(days: Days) -> Self {
        Self {
            days,
            lists: vec![NONE; days.count as usize].into(),
            bits: vec![0; days.count as usize / 64].into(),
            listed: Vec::new(),
            free: NONE,
            today: 0,
            packets_today: Vec::new(),
            last: 0,
        }
    }

    /// Inserts a packet; false if it arrives too long after the first, or before the last one
    /// taken.
    pub fn enqueue(&mut self, packet: Arrival) -> bool {
        let day = packet.arrival.as_nanos() >> self.days.length;
        if self.packets_today.is_empty() {
            // Today is empty only if the whole calendar is, since `pop` then makes the next day
            // with packets current; an empty calendar may begin anywhere.
            (self.today, self.last) = (day, day);
        }
        let (first, last) = (self.today.min(day), self.last.max(day));
        // Days form a ring: two days a whole ring apart would share a list.
        if last - first >= self.days.count {
            return false;
        }
        self.last = last;
        if day > self.today {
            self.add_to_list(day, packet);
            return true;
        }
        if day < self.today {
            self.leave_today(day);
        }
        // Inserted in front of packets with an equal arrival time, because the packets of today are
        // taken from the end of the vector.
        let place = self.packets_today.partition_point(|other| other.arrival > packet.arrival);
        self.packets_today.insert(place, packet);
        true
    }

    /// Makes another day current, and returns the packets of the previous one to its list.
    #[cold]
    fn leave_today(&mut self, for_day: u64) {
        let mut packets = std::mem::take(&mut self.packets_today);
        // The list is filled in order of insertion, because it is read from its last packet.
        packets.drain(..).rev().for_each(|packet| self.add_to_list(self.today, packet));
        (self.packets_today, self.today) = (packets, for_day);
    }

    /// Inserts a packet into the list of its day.
    fn add_to_list(&mut self, day: u64, packet: Arrival) {
        let place = (day % self.days.count) as usize;
        let bit = 1 << (place % 64);
        let next = if self.bits[place / 64] & bit == 0 { NONE } else { self.lists[place] };
        self.bits[place / 64] |= bit;
        let listed = Listed { packet, next };
        if let Some(free) = self.listed.get_mut(self.free as usize) {
            self.lists[place] = self.free;
            self.free = free.next;
            *free = listed;
        } else {
            self.lists[place] = self.listed.len() as u32;
            self.listed.push(listed);
        }
    }

    /// First packet to arrive.
    #[inline]
    pub fn first(&self) -> Option<&Arrival> {
        self.packets_today.last()
    }

    /// Removes and returns the first packet.
    #[inline]
    pub fn pop(&mut self) -> Option<Arrival> {
        let first = self.packets_today.pop();
        if self.packets_today.is_empty() {
            self.advance_day();
        }
        first
    }

    /// Makes the next day with packets current.
    #[inline(never)]
    fn advance_day(&mut self) {
        let Some(day) = self.next_day() else { return };
        self.today = day;
        let place = (day % self.days.count) as usize;
        self.bits[place / 64] &= !(1 << (place % 64));
        let mut at = self.lists[place];
        while let Some(listed) = self.listed.get_mut(at as usize) {
            self.packets_today.push(listed.packet);
            let next = std::mem::replace(&mut listed.next, self.free);
            self.free = std::mem::replace(&mut at, next);
        }
        // The stable sort keeps the reverse order of insertion among ties.
        self.packets_today.sort_by_key(|packet| Reverse(packet.arrival));
    }

    fn next_day(&self) -> Option<u64> {
        let mut day = self.today + 1;
        while day <= self.last {
            let place = (day % self.days.count) as usize;
            let bits = self.bits[place / 64] >> (place % 64);
            if bits != 0 {
                return Some(day + u64::from(bits.trailing_zeros()));
            }
            // Sixty-four days without packets are skipped at once.
            day = (day / 64 + 1) * 64;
        }
        None
    }

    /// All packets, day by day.
    pub fn iter(&self) -> impl Iterator<Item = &Arrival> {
        let days = (self.today + 1)..=self.last;
        let listed = days.flat_map(|day| {
            let place = (day % self.days.count) as usize;
            let has = self.bits[place / 64] >> (place % 64) & 1 != 0;
            let first = has.then(|| self.listed.get(self.lists[place] as usize)).flatten();
            std::iter::successors(first, |listed| self.listed.get(listed.next as usize))
        });
        self.packets_today.iter().rev().chain(listed.map(|listed| &listed.packet))
    }
}
