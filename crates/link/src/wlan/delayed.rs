//! Packets that a channel model delays. The next station has received them, but they leave the cell
//! later.

use super::{Cell, Config, Departure};
use crate::channel::Model;
use crate::stage::later;
use retx_units::{Duration, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Time at which the packet leaves the cell, sequence number of its arrival (for packets with equal
/// times), sending station, and the caller's id of the packet.
type Entry = (Time, u64, u16, u32);

/// Packets that were received and wait to leave the cell.
#[derive(Debug, Clone)]
pub(super) struct DelayedPackets {
    waiting: BinaryHeap<Reverse<Entry>>,
    /// Number of packets delayed so far.
    count: u64,
    stations: usize,
    /// For each ordered pair of stations, the time at which the last packet leaves the cell. The
    /// next packet does not leave earlier.
    last: Vec<Time>,
}

impl DelayedPackets {
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

    /// Earliest time at which a delayed packet leaves the cell; [`Time::NEVER`] if no packet is
    /// delayed.
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
    /// Lets a received packet leave the cell when the time `after` has passed.
    #[inline]
    pub(super) fn schedule_departure(
        &mut self,
        now: Time,
        ends: (u16, u16),
        (id, after): (u32, Duration),
    ) {
        let sender = &mut self.senders[usize::from(ends.0)];
        if let Some(delayed) = &mut self.delayed {
            sender.delayed += 1;
            delayed.add(later(now, after), ends, id);
            self.forward_due(now);
            return;
        }
        sender.counters.packets_delivered += 1;
        self.depart(now, ends.0, Departure::Delivered { id });
    }

    /// Lets the packets that are due leave the cell.
    #[inline]
    pub(super) fn forward_due(&mut self, now: Time) {
        while let Some((from, id)) = self.delayed.as_mut().and_then(|delayed| delayed.pop(now)) {
            let sender = &mut self.senders[usize::from(from)];
            sender.delayed -= 1;
            sender.counters.packets_delivered += 1;
            self.depart(now, from, Departure::Delivered { id });
        }
    }
}
