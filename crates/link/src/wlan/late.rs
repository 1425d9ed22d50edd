//! Packets that have come to their station, and are handed on later, as a channel says.

use super::{Cell, Config, Departure};
use crate::channel::Model;
use crate::stage::later;
use retx_units::{Duration, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// When a packet is handed on; at the same instant, the one that came first; who has sent it, and
/// what the caller calls it.
type Entry = (Time, u64, u16, u32);

/// Those that wait.
#[derive(Debug, Clone)]
pub(super) struct Late {
    waiting: BinaryHeap<Reverse<Entry>>,
    /// How many there ever were.
    count: u64,
    stations: usize,
    /// When the last packet of each ordered pair of stations is handed on: none overtakes it.
    last: Vec<Time>,
}

impl Late {
    /// `None` for channels that never delay.
    pub fn new(config: &Config) -> Option<Box<Self>> {
        let stations = config.stations.len();
        let later = config.changes.iter().flat_map(|change| change.channel.iter().flatten());
        let delays = config.channel.iter().chain(later).any(|model| !model.only_loses());
        delays.then(|| {
            Box::new(Self {
                waiting: BinaryHeap::new(),
                count: 0,
                stations,
                last: vec![Time::ZERO; stations * stations],
            })
        })
    }

    /// When the next one is handed on.
    pub fn next(&self) -> Time {
        self.waiting.peek().map_or(Time::NEVER, |Reverse((time, ..))| *time)
    }

    fn add(&mut self, time: Time, (from, to): (u16, u16), id: u32) {
        let last = &mut self.last[usize::from(from) * self.stations + usize::from(to)];
        *last = time.max(*last);
        self.waiting.push(Reverse((*last, self.count, from, id)));
        self.count += 1;
    }

    fn pop(&mut self, now: Time) -> Option<(u16, u32)> {
        if self.next() > now {
            return None;
        }
        self.waiting.pop().map(|Reverse((_, _, from, id))| (from, id))
    }
}

impl Cell {
    /// A packet has come; it leaves the cell so much later.
    #[inline]
    pub(super) fn leave(&mut self, now: Time, ends: (u16, u16), (id, after): (u32, Duration)) {
        let sender = &mut self.senders[usize::from(ends.0)];
        if let Some(late) = &mut self.late {
            sender.late += 1;
            late.add(later(now, after), ends, id);
            self.hand_on(now);
            return;
        }
        sender.counters.packets_delivered += 1;
        self.depart(now, ends.0, Departure::Delivered { id });
    }

    /// Hands on what is due.
    #[inline]
    pub(super) fn hand_on(&mut self, now: Time) {
        while let Some((from, id)) = self.late.as_mut().and_then(|late| late.pop(now)) {
            let sender = &mut self.senders[usize::from(from)];
            sender.late -= 1;
            sender.counters.packets_delivered += 1;
            self.depart(now, from, Departure::Delivered { id });
        }
    }
}
