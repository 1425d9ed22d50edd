//! Queues: who may wait for the transmitter, who is turned away, who goes next, and who is told of
//! congestion.
//!
//! A discipline holds the packets that wait. It is asked when a packet arrives and when the
//! transmitter is free. What it drops among those that wait, and what it marks, goes to
//! [`Exits`]. A packet that can carry a mark (RFC 3168 §5) is marked where another would be
//! dropped early, if the discipline is set to do so; one that finds no room is dropped in any case.

retx_units::registry! { $
    /// Who may wait for the transmitter?
    tag = "discipline", schema = "Queue", context = Surroundings;
    droptail, red, codel, fq_codel, pie
}

mod control;
mod fifo;

pub(crate) use fifo::Fifo;

use crate::frame::Frame;
use retx_units::{Rate, Stream, Time};
use std::collections::VecDeque;

/// What surrounds a queue.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Its own random draws.
    pub stream: Stream,
    /// The rate at which it is emptied, where there is one.
    pub rate: Option<Rate>,
    /// Bytes that a frame adds to a packet on the wire.
    pub overhead: u32,
}

/// What waits in a queue: the packet in transmission has left it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Packets waiting.
    pub packets: u64,
    /// Their bytes, without link overhead.
    pub bytes: u64,
}

/// A packet that waits.
#[derive(Debug, Clone, Copy, Default)]
pub struct Waiting {
    /// What the caller calls it.
    pub id: u32,
    /// Its size and flow.
    pub frame: Frame,
    /// It can be marked instead of dropped.
    pub ecn_capable: bool,
    /// Where it goes from here, by the caller's count; 0 where there is one way only.
    pub to: u16,
    /// When it came.
    pub since: Time,
}

/// What a discipline does to a packet besides letting it in and out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It has waited, and is dropped.
    Dropped(u32),
    /// It goes on, marked: congestion experienced.
    Marked(u32),
}

/// What disciplines have done and nobody has taken note of yet, in order.
#[derive(Debug, Clone, Default)]
pub struct Exits {
    list: VecDeque<Exit>,
}

impl Exits {
    /// A packet that has waited is dropped.
    pub fn drop(&mut self, id: u32) {
        self.list.push_back(Exit::Dropped(id));
    }

    /// A packet is marked.
    pub fn mark(&mut self, id: u32) {
        self.list.push_back(Exit::Marked(id));
    }

    /// The first that nobody has taken note of.
    pub fn pop(&mut self) -> Option<Exit> {
        self.list.pop_front()
    }
}

/// A queue discipline. Instants never go backwards from call to call.
pub trait Queue {
    /// A packet arrives: true when it joins those that wait.
    fn enqueue(&mut self, now: Time, packet: &Waiting, exits: &mut Exits) -> bool;

    /// The transmitter is free: the packet that goes next, and `None` when there is none left.
    /// Asked at the end of each transmission, and when a packet has come to an idle transmitter.
    fn dequeue(&mut self, now: Time, exits: &mut Exits) -> Option<Waiting>;

    /// Who waits.
    fn occupancy(&self) -> Occupancy;
}

impl Queue for State {
    fn enqueue(&mut self, now: Time, packet: &Waiting, exits: &mut Exits) -> bool {
        dispatch!(self, it => it.enqueue(now, packet, exits))
    }

    fn dequeue(&mut self, now: Time, exits: &mut Exits) -> Option<Waiting> {
        dispatch!(self, it => it.dequeue(now, exits))
    }

    fn occupancy(&self) -> Occupancy {
        dispatch!(self, it => it.occupancy())
    }
}
