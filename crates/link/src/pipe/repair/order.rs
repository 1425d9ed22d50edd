//! Far end of a link that repairs losses. Packets leave it when they arrive, or in the order of
//! their first transmissions.

use super::super::delay_line::DelayLine;
use retx_units::Time;
use std::collections::VecDeque;

/// Packets between their first transmission and their delivery or loss.
#[derive(Debug, Clone)]
pub(super) struct Order {
    in_order: bool,
    /// Packets that have not left in order yet, by number from `first` on.
    slots: VecDeque<Slot>,
    first: u64,
    /// Number of the next packet.
    next: u64,
    /// Time from which the next in-order packet may leave.
    release: Time,
    pending: u64,
}

/// State of a packet that is to leave in order.
#[derive(Debug, Clone, Copy)]
struct Slot {
    id: u32,
    /// Time at which the packet's fate is known at the far end, and true if the packet has arrived
    /// there; `None` while its fate is open.
    done: Option<(Time, bool)>,
}

impl Order {
    pub const fn new(in_order: bool) -> Self {
        let release = Time::ZERO;
        Self { in_order, slots: VecDeque::new(), first: 0, next: 0, release, pending: 0 }
    }

    /// Number of packets whose fate is still open, or that wait for earlier packets.
    pub const fn unfinished_packets(&self) -> u64 {
        self.pending
    }

    /// Records the first transmission of a packet; returns its number.
    pub fn assign_number(&mut self, id: u32) -> u64 {
        self.pending += 1;
        if self.in_order {
            self.slots.push_back(Slot { id, done: None });
        }
        self.next += 1;
        self.next - 1
    }

    /// Records that a packet arrives at the far end at `arrival`.
    pub fn on_delivered(
        &mut self,
        (number, id): (u64, u32),
        arrival: Time,
        delay_line: &mut DelayLine,
    ) {
        if self.in_order {
            self.resolve(number, (arrival, true), delay_line);
        } else {
            self.pending -= 1;
            delay_line.insert_out_of_order(arrival, id);
        }
    }

    /// Records that a packet is given up, which the far end learns at `known`.
    pub fn on_given_up(&mut self, number: u64, known: Time, delay_line: &mut DelayLine) {
        self.pending -= 1;
        if self.in_order {
            self.resolve(number, (known, false), delay_line);
        }
    }

    fn resolve(&mut self, number: u64, done: (Time, bool), delay_line: &mut DelayLine) {
        // Fates become known out of order: a retransmitted frame arrives after frames whose first
        // transmissions were later.
        self.slots[(number - self.first) as usize].done = Some(done);
        while let Some(&Slot { id, done: Some((time, delivered)) }) = self.slots.front() {
            self.slots.pop_front();
            self.first += 1;
            // A packet leaves when the fates of all packets before it are known.
            self.release = self.release.max(time);
            if delivered {
                self.pending -= 1;
                delay_line.insert_in_order(self.release, id);
            }
        }
    }
}
