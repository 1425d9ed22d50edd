//! The far end of a link that repairs: packets leave as they come, or in the order of their first
//! transmission.

use super::super::air::Air;
use retx_units::Time;
use std::collections::VecDeque;

/// Packets from their first transmission until they are done with.
#[derive(Debug, Clone)]
pub(super) struct Order {
    in_order: bool,
    /// Those that may be waited for, by their numbers from `first` on.
    slots: VecDeque<Slot>,
    first: u64,
    /// The next packet's number.
    next: u64,
    /// None in order leaves before this.
    release: Time,
    pending: u64,
}

/// A packet, and what is known of it.
#[derive(Debug, Clone, Copy)]
struct Slot {
    id: u32,
    /// When it is at the far end, or known to be lost for good.
    done: Option<(Time, bool)>,
}

impl Order {
    pub const fn new(in_order: bool) -> Self {
        let release = Time::ZERO;
        Self { in_order, slots: VecDeque::new(), first: 0, next: 0, release, pending: 0 }
    }

    /// Packets that have begun, and have neither been put on their last way nor given up.
    pub const fn pending(&self) -> u64 {
        self.pending
    }

    /// A packet is transmitted for the first time; returns its number.
    pub fn begin(&mut self, id: u32) -> u64 {
        self.pending += 1;
        if self.in_order {
            self.slots.push_back(Slot { id, done: None });
        }
        self.next += 1;
        self.next - 1
    }

    /// It is at the far end at `arrival`.
    pub fn delivered(&mut self, (number, id): (u64, u32), arrival: Time, air: &mut Air) {
        if self.in_order {
            self.settle(number, (arrival, true), air);
        } else {
            self.pending -= 1;
            air.stray(arrival, id);
        }
    }

    /// It is lost for good, which the far end knows from `known` on.
    pub fn given_up(&mut self, number: u64, known: Time, air: &mut Air) {
        self.pending -= 1;
        if self.in_order {
            self.settle(number, (known, false), air);
        }
    }

    fn settle(&mut self, number: u64, done: (Time, bool), air: &mut Air) {
        self.slots[(number - self.first) as usize].done = Some(done);
        while let Some(&Slot { id, done: Some((time, delivered)) }) = self.slots.front() {
            self.slots.pop_front();
            self.first += 1;
            self.release = self.release.max(time);
            if delivered {
                self.pending -= 1;
                air.send(self.release, id);
            }
        }
    }
}
