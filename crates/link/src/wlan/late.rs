//! Packets that a channel delays: they have reached the next station, but are forwarded later.

use super::{Cell, Config, Departure};
use crate::channel::Model;
use crate::stage::later;
use retx_units::{Duration, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Forwarding time, sequence number of the arrival (which breaks ties), sender, and the caller's id
/// of the packet.
type Entry = (Time, u64, u16, u32);

/// Delayed packets.
#[derive(Debug, Clone)]
pub(super) struct Late {
    waiting: BinaryHeap<Reverse<Entry>>,
    /// Number of packets delayed so far.
    count: u64,
    stations: usize,
    /// Forwarding time of the last packet of each ordered pair of stations. Later packets are not
    /// forwarded earlier.
    last: Vec<Time>,
}

impl Late {
    /// Creates the state; `None` if no channel model delays packets.
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

    /// Earliest forwarding time; [`Time::NEVER`] if no packet is delayed.
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
    /// Lets a received packet leave the cell `after` later than now.
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

    /// Forwards the packets that are due.
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
