//! FIFO queue of packets.

use super::{Occupancy, Waiting};
use crate::ring::Ring;

/// Packets in order of arrival.
#[derive(Debug, Clone, Default)]
pub struct Fifo {
    packets: Ring<Waiting>,
    bytes: u64,
}

impl Fifo {
    /// Appends a packet.
    pub fn push(&mut self, packet: &Waiting) {
        self.bytes += u64::from(packet.frame.bytes);
        self.packets.push_back(*packet);
    }

    /// Removes and returns the first packet.
    pub fn pop(&mut self) -> Option<Waiting> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.frame.bytes);
        Some(packet)
    }

    /// First packet.
    pub fn first(&self) -> Option<&Waiting> {
        self.packets.front()
    }

    /// Packets and bytes in the queue.
    pub const fn occupancy(&self) -> Occupancy {
        Occupancy { packets: self.packets.len() as u64, bytes: self.bytes }
    }
}
