//! Calendar queue (R. Brown, *Calendar queues*, 1988): packets are inserted in any order and
//! removed in the order of arrival. Time is divided into days, which form a ring. Today's packets
//! are sorted; each other day has an unsorted list.

use super::funnel::Arrival;
use prefetch_index::prefetch_index;
use retx_units::Duration;
use std::cmp::Reverse;

/// Index that marks the end of a list of packets.
const NONE: u32 = u32::MAX;

/// Maximum number of days in a calendar; the heads of their lists then take 64 KiB.
const DAYS_MAX: u64 = 1 << 14;

/// Intended number of packets per day. The packets of a day are sorted when the day becomes today.
const PER_DAY: u64 = 8;

/// Number of packets assumed in the calendar if the time between arrivals is unknown.
const PACKETS_DEFAULT: u64 = 1 << 13;

/// Length of a day, and number of days in the ring.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct CalendarSize {
    /// Binary logarithm of the length in nanoseconds.
    length: u32,
    /// Number of days, a power of two of at least 64.
    count: u64,
}

impl CalendarSize {
    /// Chooses length and number of days so that the calendar spans at least `ahead`; days become
    /// longer if packets are further apart. `each` is the usual time between two arrivals, zero if
    /// unknown.
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

/// Packets in order of arrival; ties as in a [`Funnel`](super::funnel::Funnel).
#[derive(Debug, Clone)]
pub(in crate::engine) struct Calendar {
    size: CalendarSize,
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
    /// Latest day that may have packets.
    last: u64,
    /// Place in the list of the day after today that is prefetched next. It is only a hint.
    upcoming: u32,
}

impl Calendar {
    /// Creates an empty calendar.
    pub fn new(size: CalendarSize) -> Self {
        Self {
            size,
            lists: vec![NONE; size.count as usize].into(),
            bits: vec![0; size.count as usize / 64].into(),
            listed: Vec::new(),
            free: NONE,
            today: 0,
            packets_today: Vec::new(),
            last: 0,
            upcoming: NONE,
        }
    }

    /// Inserts a packet.
    pub fn enqueue(&mut self, packet: Arrival) {
        let mut day = packet.arrival.as_nanos() >> self.size.length;
        if self.packets_today.is_empty() {
            // Today is empty only if the whole calendar is, because `pop` advances to the next day
            // with packets. An empty calendar may start at any day.
            (self.today, self.last) = (day, day);
        }
        // Days form a ring, so two days that are a whole ring apart would share a list.
        while self.last.max(day) - self.today.min(day) >= self.size.count {
            self.lengthen_days();
            day = packet.arrival.as_nanos() >> self.size.length;
        }
        self.last = self.last.max(day);
        if day > self.today {
            return self.add_to_list(day, packet);
        }
        if day < self.today {
            self.leave_today(day);
        }
        // Today's packets are taken from the end of the vector, so this packet must be placed
        // before those with an equal arrival time to leave after them.
        let later =
            |other: &Arrival| other.arrival > packet.arrival || other.is_tied_behind(&packet);
        let place = self.packets_today.partition_point(later);
        self.packets_today.insert(place, packet);
    }

    /// Doubles the length of a day.
    #[cold]
    fn lengthen_days(&mut self) {
        let packets: Vec<Arrival> = std::iter::from_fn(|| self.pop()).collect();
        self.size.length += 1;
        packets.into_iter().for_each(|packet| self.enqueue(packet));
    }

    /// Makes `for_day` the new today, and moves the packets of the old today back to its list.
    #[cold]
    fn leave_today(&mut self, for_day: u64) {
        let mut packets = std::mem::take(&mut self.packets_today);
        // The earliest packet is added first, so that ties are added in the order of their
        // insertion: `advance_day` reads a list from the packet added last.
        packets.drain(..).rev().for_each(|packet| self.add_to_list(self.today, packet));
        (self.packets_today, self.today) = (packets, for_day);
    }

    /// Inserts a packet into the list of its day.
    fn add_to_list(&mut self, day: u64, packet: Arrival) {
        let place = (day % self.size.count) as usize;
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

    /// Packet with the earliest arrival.
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
        } else if let Some(listed) = self.listed.get(self.upcoming as usize) {
            // A list would have to be read place by place on the next day. Meanwhile, its places
            // are prefetched one at a time.
            self.prefetch_upcoming(listed.next);
        }
        first
    }

    #[inline(always)]
    fn prefetch_upcoming(&mut self, place: u32) {
        self.upcoming = place;
        prefetch_index(&self.listed, place as usize);
    }

    /// Makes the next day that has packets the new today.
    #[inline(never)]
    fn advance_day(&mut self) {
        let Some(day) = self.next_day() else { return };
        self.today = day;
        let place = (day % self.size.count) as usize;
        self.bits[place / 64] &= !(1 << (place % 64));
        let mut at = self.lists[place];
        while let Some(listed) = self.listed.get_mut(at as usize) {
            self.packets_today.push(listed.packet);
            let next = std::mem::replace(&mut listed.next, self.free);
            self.free = std::mem::replace(&mut at, next);
        }
        // A list yields its packets in reverse order of insertion. The sort is stable, so ties stay
        // in that order.
        self.packets_today.sort_by_key(|packet| Reverse(packet.arrival));
        for tied in self.packets_today.chunk_by_mut(Arrival::is_tied_with) {
            tied.sort_by_key(|packet| Reverse(packet.hop));
        }
        let next = self.next_day().map(|day| self.lists[(day % self.size.count) as usize]);
        self.prefetch_upcoming(next.unwrap_or(NONE));
    }

    fn next_day(&self) -> Option<u64> {
        let mut day = self.today + 1;
        while day <= self.last {
            let place = (day % self.size.count) as usize;
            let bits = self.bits[place / 64] >> (place % 64);
            if bits != 0 {
                return Some(day + u64::from(bits.trailing_zeros()));
            }
            // The rest of this word has no bit set: skip up to 64 days without packets at once.
            day = (day / 64 + 1) * 64;
        }
        None
    }

    /// All packets, day by day.
    pub fn iter(&self) -> impl Iterator<Item = &Arrival> {
        let days = (self.today + 1)..=self.last;
        let listed = days.flat_map(|day| {
            let place = (day % self.size.count) as usize;
            let has = self.bits[place / 64] >> (place % 64) & 1 != 0;
            let first = has.then(|| self.listed.get(self.lists[place] as usize)).flatten();
            std::iter::successors(first, |listed| self.listed.get(listed.next as usize))
        });
        self.packets_today.iter().rev().chain(listed.map(|listed| &listed.packet))
    }
}
