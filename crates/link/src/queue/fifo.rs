//! A line of packets, first in, first out.

use super::{Occupancy, Waiting};
use crate::ring::Ring;

/// Packets in the order in which they came.
#[derive(Debug, Clone, Default)]
pub struct Fifo {
    packets: Ring<Waiting>,
    bytes: u64,
}

impl Fifo {
    /// Puts one in behind all others.
    pub fn push(&mut self, packet: &Waiting) {
        self.bytes += u64::from(packet.frame.bytes);
        self.packets.push_back(*packet);
    }

    /// Takes out the first.
    pub fn pop(&mut self) -> Option<Waiting> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.frame.bytes);
        Some(packet)
    }

    /// Who is in it.
    pub const fn occupancy(&self) -> Occupancy {
        Occupancy { packets: self.packets.len() as u64, bytes: self.bytes }
    }
}
