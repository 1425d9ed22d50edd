//! Far end of a link that repairs losses: packets leave on arrival, or in the order of their first
//! transmission.

use super::super::delay_line::DelayLine;
use retx_units::Time;
use std::collections::VecDeque;

/// Packets between their first transmission and their delivery or loss.
#[derive(Debug, Clone)]
pub(super) struct Order {
    in_order: bool,
    /// Packets that may be waited for, by number from `first` on.
    slots: VecDeque<Slot>,
    first: u64,
    /// Number of the next packet.
    next: u64,
    /// Earliest departure of the next in-order packet.
    release: Time,
    pending: u64,
}

/// State of a packet.
#[derive(Debug, Clone, Copy)]
struct Slot {
    id: u32,
    /// Time at which it is at the far end (true) or known to be lost finally (false).
    done: Option<(Time, bool)>,
}

impl Order {
    pub const fn new(in_order: bool) -> Self {
        let release = Time::ZERO;
        Self { in_order, slots: VecDeque::new(), first: 0, next: 0, release, pending: 0 }
    }

    /// Number of packets that are neither in flight for the last time nor given up.
    pub const fn pending(&self) -> u64 {
        self.pending
    }

    /// Records the first transmission of a packet; returns its number.
    pub fn begin(&mut self, id: u32) -> u64 {
        self.pending += 1;
        if self.in_order {
            self.slots.push_back(Slot { id, done: None });
        }
        self.next += 1;
        self.next - 1
    }

    /// Records that a packet is at the far end at `arrival`.
    pub fn delivered(
        &mut self,
        (number, id): (u64, u32),
        arrival: Time,
        delay_line: &mut DelayLine,
    ) {
        if self.in_order {
            self.resolve(number, (arrival, true), delay_line);
        } else {
            self.pending -= 1;
            delay_line.stray(arrival, id);
        }
    }

    /// Records that a packet is lost for good, which the far end learns at `known`.
    pub fn given_up(&mut self, number: u64, known: Time, delay_line: &mut DelayLine) {
        self.pending -= 1;
        if self.in_order {
            self.resolve(number, (known, false), delay_line);
        }
    }

    fn resolve(&mut self, number: u64, done: (Time, bool), delay_line: &mut DelayLine) {
        // Fates become known out of order: a retransmitted frame arrives after frames that were
        // sent later.
        self.slots[(number - self.first) as usize].done = Some(done);
        while let Some(&Slot { id, done: Some((time, delivered)) }) = self.slots.front() {
            self.slots.pop_front();
            self.first += 1;
            // A packet leaves when all packets before it have arrived or are known to be lost.
            self.release = self.release.max(time);
            if delivered {
                self.pending -= 1;
                delay_line.send(self.release, id);
            }
        }
    }
}
