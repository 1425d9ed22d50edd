//! Queue disciplines, which decide which packets are admitted, dropped, marked, and sent next.
//!
//! A discipline holds the waiting packets. It is called when a packet arrives and when the
//! transmitter becomes idle. It reports through [`QueueActions`] which packets it marks, and which
//! it drops after it has admitted them. If ECN is configured, an ECN-capable packet (RFC 3168 §5)
//! is marked where another packet would be dropped early. A packet that finds the queue full is
//! dropped in any case.

retx_units::registry! { $
    /// Admits, orders, drops and marks packets.
    tag = "discipline", schema = "Queue", context = Environment;
    droptail, red, codel, fq_codel, pie
}

mod control;
mod fifo;

pub(crate) use fifo::Fifo;

use crate::frame::Frame;
use retx_units::{RandomStream, Rate, Time};
use std::collections::VecDeque;

/// Random stream and link parameters that a queue discipline gets when it is created.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Random stream of the queue.
    pub random_stream: RandomStream,
    /// Rate of the transmitter behind the queue; `None` if unlimited.
    pub rate: Option<Rate>,
    /// Link-layer overhead per packet, bytes.
    pub overhead: u32,
}

/// Contents of a queue, without the packet in transmission.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Packets waiting.
    pub packets: u64,
    /// Bytes of IP packets, without link overhead.
    pub bytes: u64,
}

/// Packet that waits in a queue.
#[derive(Debug, Clone, Copy, Default)]
pub struct Waiting {
    /// The caller's id of the packet.
    pub id: u32,
    /// Size and flow.
    pub frame: Frame,
    /// True if the packet can be marked (ECN-capable transport).
    pub ecn_capable: bool,
    /// Next hop, numbered by the caller; 0 if there is only one.
    pub to: u16,
    /// Arrival at the queue.
    pub since: Time,
}

/// Actions of a discipline on admitted packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueAction {
    /// The packet with this id is dropped after it has waited.
    Dropped(u32),
    /// The packet with this id is marked (congestion experienced); it stays in the queue or leaves
    /// as usual.
    Marked(u32),
}

/// Actions that the caller has not fetched yet, in order.
#[derive(Debug, Clone, Default)]
pub struct QueueActions {
    list: VecDeque<QueueAction>,
}

impl QueueActions {
    /// Appends the drop of a packet that has waited.
    pub fn drop(&mut self, id: u32) {
        self.list.push_back(QueueAction::Dropped(id));
    }

    /// Appends the marking of a packet.
    pub fn mark(&mut self, id: u32) {
        self.list.push_back(QueueAction::Marked(id));
    }

    /// Removes and returns the first action.
    pub fn pop(&mut self) -> Option<QueueAction> {
        self.list.pop_front()
    }
}

/// Queue discipline. Times never go backwards from call to call.
pub trait Queue {
    /// Handles an arrival; true if the packet is admitted.
    fn enqueue(&mut self, now: Time, packet: &Waiting, actions: &mut QueueActions) -> bool;

    /// Removes and returns the next packet to transmit; `None` if the queue is empty. Called at the
    /// end of each transmission, and after an arrival while the transmitter is idle.
    fn dequeue(&mut self, now: Time, actions: &mut QueueActions) -> Option<Waiting>;

    /// Contents of the queue.
    fn occupancy(&self) -> Occupancy;
}

impl Queue for State {
    forward! {
        fn enqueue(&mut self, now: Time, packet: &Waiting, actions: &mut QueueActions) -> bool;
        fn dequeue(&mut self, now: Time, actions: &mut QueueActions) -> Option<Waiting>;
        fn occupancy(&self) -> Occupancy;
    }
}
